"""Which rights requests need, and how callers are judged."""

import json
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest

from emulator.auth.policy import facts_of
from emulator.http.message import Headers, Request
from emulator.kernel.clock import Millis
from emulator.kernel.identity import AccountId, Principal, Region, Tenant
from emulator.kernel.ids import RandomIds
from emulator.oss import front as oss_rights
from emulator.services import ram
from emulator.services.fc import front as fc_rights
from emulator.services.fc.front import ROUTES
from emulator.services.mns.front import MnsFront
from emulator.services.ram import front as ram_rights
from emulator.services.ram.model import Holder, HolderKind, PolicyType, User
from emulator.services.ram.service import AccessManagement, Authorizer
from emulator.services.workflow import ports as fnf_rights
from emulator.storage.database import Database
from emulator.storage.migration import Schema, migrate
from emulator.wire.request import OperationRequest

ACCOUNT = AccountId("123")
WORLD = Tenant(ACCOUNT, Region("r"))
TABLES = {"2016": ROUTES["2016-08-15"], "2021": ROUTES["2021-04-06"], "2023": ROUTES["2023-03-30"]}


def context(method, target, body=b"", **headers):
    pairs = [(name.replace("_", "-"), value) for name, value in headers.items()]
    made = OperationRequest(Request(method, target, Headers(pairs), body), Millis(0))
    made.principal = Principal(ACCOUNT, "key", "acs:ram::123:user/alice")
    made.region = WORLD.region
    return made


def mns_demand(method, target):
    [demand] = MnsFront(_mns(), RandomIds()).demands(context(method, target, x_mns_version="2015-06-06"))
    return demand


def _mns():
    return SimpleNamespace(serves_topics=True)


def of_fc(version, method, target, **body):
    made = context(method, target, json.dumps(body).encode())
    operation, made.path = TABLES[version].find(method, made.http.path, {})
    return list(fc_rights.demands_of(operation, made))


@pytest.mark.parametrize(
    ("version", "method", "target", "body", "action", "resource"),
    [
        ("2016", "POST", "/services", {"serviceName": "s"}, "CreateService", "services/*"),
        ("2016", "GET", "/services", {}, "ListServices", "services/*"),
        ("2016", "GET", "/services/s", {}, "GetService", "services/s"),
        ("2016", "GET", "/services/s/functions", {}, "ListFunctions", "services/s/functions/*"),
        (
            "2016",
            "POST",
            "/services/s.online/functions/f/invocations",
            {},
            "InvokeFunction",
            "services/s.online/functions/f",
        ),
        (
            "2021",
            "POST",
            "/services/s/functions/f/invocations?qualifier=1",
            {},
            "InvokeFunction",
            "services/s.1/functions/f",
        ),
        ("2016", "GET", "/services/s/functions/f/triggers/t", {}, "GetTrigger", "services/s/functions/f/triggers/t"),
        ("2016", "GET", "/services/s/versions", {}, "ListServiceVersions", "services/s/versions/*"),
        ("2016", "DELETE", "/services/s/aliases/a", {}, "DeleteAlias", "services/s/aliases/a"),
        ("2016", "GET", "/account-settings", {}, "GetAccountSettings", "*"),
        ("2023", "POST", "/functions", {"functionName": "f"}, "CreateFunction", "functions/f"),
        ("2023", "POST", "/functions", {}, "CreateFunction", "functions/*"),
        ("2023", "POST", "/functions/f/invocations", {}, "InvokeFunction", "functions/f"),
        ("2023", "POST", "/functions/f/invocations?qualifier=LATEST", {}, "InvokeFunction", "functions/f"),
        ("2023", "POST", "/functions/f/invocations?qualifier=7", {}, "InvokeFunction", "functions/f/7"),
        ("2023", "PUT", "/functions/f/async-invoke-config", {}, "PutFunctionAsyncInvokeConfig", "functions/f"),
        ("2023", "GET", "/functions/f/async-tasks/t", {}, "GetAsyncTask", "functions/f/async-tasks/t"),
        ("2023", "GET", "/provision-configs", {}, "ListProvisionConfigs", "provision-configs/*"),
        ("2023", "GET", "/custom-domains/d.com", {}, "GetCustomDomain", "custom-domains/d.com"),
        ("2023", "GET", "/layers/l/versions", {}, "ListLayerVersions", "layers/l/versions/*"),
        ("2023", "POST", "/functions/f/sessions?qualifier=7", {}, "CreateSession", "*"),
        ("2023", "GET", "/functions/f/sessions", {}, "ListSessions", "*"),
        ("2023", "GET", "/functions/f/sessions/s", {}, "GetSession", "*"),
        ("2023", "PUT", "/functions/f/sessions/s", {}, "UpdateSession", "*"),
        ("2023", "DELETE", "/functions/f/sessions/s", {}, "DeleteSession", "*"),
        ("2023", "PUT", "/functions/f/sessions/s/pause", {}, "PauseSession", "*"),
        ("2023", "PUT", "/functions/f/sessions/s/resume", {}, "ResumeSession", "*"),
    ],
)
def test_rights_of_function_compute(version, method, target, body, action, resource):
    """The action is the operation, the resource follows the path."""
    demand = of_fc(version, method, target, **body)[0]

    assert (demand.action, demand.resource) == (f"fc:{action}", f"acs:fc:r:123:{resource}")


@pytest.mark.parametrize("version", TABLES)
def test_every_operation_of_function_compute_needs_a_right(version):
    """None is forgotten: the tables of operations are what the rights are made from."""
    routes = TABLES[version]

    for each in routes:
        method, _, path = each.route.partition(" ")
        demands = list(fc_rights.demands_of(each, context(method, path)))
        assert demands[0].action.startswith("fc:")
        assert demands[0].resource.startswith("acs:fc:r:123:")


def test_giving_a_role_needs_the_right_to_pass_it():
    """In services, functions, triggers and flows."""
    role = "acs:ram::123:role/x"
    givers = [
        *of_fc("2016", "POST", "/services", serviceName="s", role=role)[1:],
        *of_fc("2023", "PUT", "/functions/f", role=role)[1:],
        *of_fc("2023", "POST", "/functions/f/triggers", triggerName="t", invocationRole=role)[1:],
        *list(fnf_rights.demands(WORLD, "CreateFlow", {"Name": "f", "RoleArn": role}))[1:],
    ]

    assert [(each.action, each.resource) for each in givers] == [("ram:PassRole", role)] * 4
    assert [dict(each.facts)["acs:Service"] for each in givers] == ["fc.aliyuncs.com"] * 3 + ["fnf.aliyuncs.com"]


@pytest.mark.parametrize("written", ["acs:ram::123:role/x", "acs:ram:::role/x", "acs:ram::999:role/x", "role/x", "x"])
def test_role_is_the_same_however_it_is_written(written):
    """A denial to pass a role cannot be gone round by spelling its name in another way."""
    (given,) = of_fc("2016", "POST", "/services", serviceName="s", role=written)[1:]

    assert given.resource == "acs:ram::123:role/x"


def test_broken_body_is_left_to_the_operation():
    """What cannot be read gives no further right, and no error of its own."""
    made = context("POST", "/functions", b"{")

    operation, made.path = TABLES["2023"].find("POST", "/functions", {})

    assert len(list(fc_rights.demands_of(operation, made))) == 1


@pytest.mark.parametrize(
    ("method", "path", "query", "action", "resource"),
    [
        ("GET", "/queues", {}, "ListQueue", "/queues"),
        ("PUT", "/queues/q", {}, "CreateQueue", "/queues/q"),
        ("PUT", "/queues/q", {"metaoverride": "true"}, "SetQueueAttributes", "/queues/q"),
        ("POST", "/queues/q/messages", {}, "SendMessage", "/queues/q/messages"),
        ("GET", "/queues/q/messages", {}, "ReceiveMessage", "/queues/q/messages"),
        ("POST", "/topics/t/messages", {}, "PublishMessage", "/topics/t/messages"),
        ("PUT", "/topics/t/subscriptions/s", {}, "Subscribe", "/topics/t/subscriptions/s"),
        ("GET", "/topics/t/subscriptions", {}, "ListSubscriptionByTopic", "/topics/t/subscriptions"),
        ("GET", "/", {"accountmeta": "true"}, "GetAccountAttributes", "/*"),
    ],
)
def test_rights_of_the_message_service(method, path, query, action, resource):
    """As in the vendor's table."""
    target = f"{path}?{urlencode(query)}" if query else path
    demand = mns_demand(method, target)

    assert (demand.action, demand.resource) == (f"mns:{action}", f"acs:mns:r:123:{resource}")


@pytest.mark.parametrize(
    ("operation", "parameters", "names"),
    [
        ("CreateFlow", {"Name": "f"}, {"flow/f", "flows/f"}),
        ("ListFlows", {}, {"flow/*", "flows/*"}),
        (
            "StartExecution",
            {"FlowName": "f", "ExecutionName": "e"},
            {"flow/f", "flows/f", "flow/f/execution/e", "flows/f/executions/e"},
        ),
        (
            "DescribeSchedule",
            {"FlowName": "f", "ScheduleName": "s"},
            {"flow/f", "flows/f", "flow/f/schedule/s", "flows/f/schedules/s"},
        ),
        ("ReportTaskSucceeded", {"TaskToken": "t"}, {"*"}),
    ],
)
def test_rights_of_the_workflow_service(operation, parameters, names):
    """Every way to write the name of a flow and of what belongs to it."""
    (demand,) = fnf_rights.demands(WORLD, operation, parameters)

    assert demand.action == f"fnf:{operation}"
    assert {demand.resource, *demand.aliases} == {f"acs:fnf:r:123:{name}" for name in names}


@pytest.mark.parametrize(
    ("operation", "parameters", "resources"),
    [
        ("CreateRole", {"RoleName": "x"}, ["role/x"]),
        ("ListRoles", {}, ["role/*"]),
        ("ListAccessKeys", {}, ["user/alice"]),
        ("CreateAccessKey", {"UserName": "bob"}, ["user/bob"]),
        ("AddUserToGroup", {"UserName": "bob", "GroupName": "g"}, ["user/bob", "group/g"]),
        ("TagResources", {"ResourceType": "role", "ResourceNames": '["x", "y"]'}, ["role/x", "role/y"]),
        ("ListTagResources", {"ResourceType": "policy"}, ["policy/*"]),
        ("AttachPolicyToRole", {"RoleName": "x", "PolicyType": "Custom", "PolicyName": "p"}, ["role/x", "policy/p"]),
    ],
)
def test_rights_of_access_management(operation, parameters, resources):
    """On everything that is concerned."""
    demands = list(ram_rights.demands(ACCOUNT, operation, parameters, "alice"))

    assert [demand.resource for demand in demands] == [f"acs:ram:*:123:{name}" for name in resources]
    assert {demand.action for demand in demands} == {f"ram:{operation}"}


@pytest.mark.parametrize(
    ("method", "target", "headers", "expected"),
    [
        ("GET", "/", {}, [("ListBuckets", "*")]),
        ("PUT", "/b", {}, [("PutBucket", "b")]),
        ("GET", "/b?prefix=x", {}, [("ListObjects", "b")]),
        ("GET", "/b?acl", {}, [("GetBucketAcl", "b")]),
        ("POST", "/b?delete", {}, [("DeleteObject", "b/*")]),
        ("POST", "/b", {}, [("PutObject", "b/*")]),
        ("GET", "/b/k", {}, [("GetObject", "b/k")]),
        ("HEAD", "/b/k", {}, [("GetObject", "b/k")]),
        ("PUT", "/b/k", {}, [("PutObject", "b/k")]),
        ("PUT", "/b/k?partNumber=1&uploadId=u", {}, [("PutObject", "b/k")]),
        ("DELETE", "/b/k?uploadId=u", {}, [("AbortMultipartUpload", "b/k")]),
        ("PUT", "/b/k", {"x_oss_copy_source": "/other/a%20b"}, [("PutObject", "b/k"), ("GetObject", "other/a b")]),
    ],
)
def test_rights_of_the_object_store(method, target, headers, expected):
    """By method, bucket, object and subresource; copying reads as well."""
    demands = list(oss_rights.demands(context(method, target, Host="127.0.0.1", **headers)))

    assert [(each.action, each.resource) for each in demands] == [
        (f"oss:{action}", f"acs:oss:oss-r:123:{name}") for action, name in expected
    ]


@pytest.fixture
def access():
    database = Database(None)
    migrate(database, [Schema("ram", Path(ram.__file__).parent / "schema")])
    yield AccessManagement(database, RandomIds())
    database.close()


def test_change_of_a_policy_is_seen_by_the_next_call(access):
    """What has been read is kept only until something changes."""
    now = Millis(0)
    alice = User(
        name="alice", display_name="", mobile_phone="", email="", comments="", created_at=now, updated_at=now,
        user_id="3",
    )  # fmt: skip
    access.store.put(ACCOUNT, alice)
    holder = Holder(account=ACCOUNT, kind=HolderKind.USER, name="alice")
    authorizer = Authorizer(access)
    made = context("GET", "/queues")
    demand = mns_demand("GET", "/queues")

    def allowed():
        return authorizer.allows(made.principal, demand, facts_of(made))

    before = allowed()
    access.store.attach(holder, PolicyType.SYSTEM, "AliyunMNSReadOnlyAccess", now)
    attached = allowed()
    access.store.detach(holder, PolicyType.SYSTEM, "AliyunMNSReadOnlyAccess")

    assert (before, attached, allowed()) == (False, True, False)


@pytest.mark.parametrize(
    "arn", ["acs:ram::123:user/nobody", "acs:ram::123:assumed-role/none/s", "acs:ram::123:anonymous"]
)
def test_who_is_not_known_has_no_right(access, arn):
    """A deleted user, a session of a role that is not there, nobody at all."""
    made = context("GET", "/queues")
    demand = mns_demand("GET", "/queues")

    assert not Authorizer(access).allows(Principal(ACCOUNT, "key", arn), demand, facts_of(made))
