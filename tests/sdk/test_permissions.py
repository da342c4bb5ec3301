"""`--enforce-ram`: what users, sessions of roles, functions and flows may do, through the official clients."""

import json

import fc2
import pytest
from alibabacloud_ram20150501 import models
from alibabacloud_ram20150501.client import Client as RamClient
from alibabacloud_sts20150401.client import Client as StsClient
from alibabacloud_sts20150401.models import AssumeRoleRequest
from alibabacloud_tea_openapi.exceptions import ClientException
from aliyunsdkcore.acs_exception.exceptions import ServerException
from mns.account import Account
from mns.mns_exception import MNSServerException
from mns.queue import Message, QueueMeta
from mns.subscription import SubscriptionMeta
from mns.topic import TopicMessage, TopicMeta

from tests.waiting import eventually

pytestmark = pytest.mark.sdk

ECHO = "def handler(event, context):\n    return event\n"
CALLER = """
import os
import urllib.error
from mns.account import Account
from mns.mns_exception import MNSServerException
from mns.queue import Message

def handler(event, context):
    keys = context.credentials
    account = Account(os.environ["LOCALYUN_ENDPOINT"], keys.access_key_id, keys.access_key_secret, keys.security_token)
    try:
        account.get_queue("orders").send_message(Message("from the function"))
    except MNSServerException as error:
        return error.type
    return "sent"
"""


class Tenant:
    """An emulator that enforces permissions, and its owner's clients."""

    def __init__(self, running):
        self.running = running
        self.account = running.keys["accountId"]
        self.owner = (running.keys["accessKeyId"], running.keys["accessKeySecret"], None)
        self.ram = RamClient(self.config(self.owner))
        self._policies = 0
        self._accounts = []

    def close(self):
        for account in self._accounts:
            account.get_client().close_connection()

    def config(self, key):
        return self.running.tea_config(*key)

    def user(self, name, *statements, system=()):
        """Make a user with a policy of *statements*, and those of the *system*; return its key."""
        self.ram.create_user(models.CreateUserRequest(user_name=name))
        for kind, policy in self._named(statements, system):
            self.ram.attach_policy_to_user(
                models.AttachPolicyToUserRequest(user_name=name, policy_type=kind, policy_name=policy)
            )
        key = self.ram.create_access_key(models.CreateAccessKeyRequest(user_name=name)).body.access_key
        return key.access_key_id, key.access_key_secret, None

    def role(self, name, *statements, system=(), trusts=None):
        """Make a role that *trusts* principals (default: the account); return its resource name."""
        trusted = trusts or {"RAM": f"acs:ram::{self.account}:root"}
        trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": trusted}
        self.ram.create_role(
            models.CreateRoleRequest(
                role_name=name, assume_role_policy_document=json.dumps({"Version": "1", "Statement": [trust]})
            )
        )
        for kind, policy in self._named(statements, system):
            self.ram.attach_policy_to_role(
                models.AttachPolicyToRoleRequest(role_name=name, policy_type=kind, policy_name=policy)
            )
        return f"acs:ram::{self.account}:role/{name}"

    def _named(self, statements, system):
        for policy in system:
            yield "System", policy
        if statements:
            self._policies += 1
            name = f"policy-{self._policies}"
            document = json.dumps({"Version": "1", "Statement": list(statements)})
            self.ram.create_policy(models.CreatePolicyRequest(policy_name=name, policy_document=document))
            yield "Custom", name

    def session(self, key, role, policy=None):
        """Assume a role with *key*; return the session's key."""
        request = AssumeRoleRequest(role_arn=role, role_session_name="test", policy=policy and json.dumps(policy))
        found = StsClient(self.config(key)).assume_role(request).body.credentials
        return found.access_key_id, found.access_key_secret, found.security_token

    def mns(self, key):
        made = Account(self.running.url, key[0], key[1], key[2] or "")
        self._accounts.append(made)
        return made

    def fc(self, key):
        return fc2.Client(
            endpoint=self.running.url, accessKeyID=key[0], accessKeySecret=key[1], securityToken=key[2] or ""
        )

    def fnf(self, key):
        return self.running.fnf(key=key[0], secret=key[1])


@pytest.fixture
def new_world(new_emulator):
    """Make tenants whose clients are closed with the test."""
    made = []

    def make(functions=None, *options):
        made.append(Tenant(new_emulator(functions, "--ephemeral", *(options or ["--enforce-ram"])).start()))
        return made[-1]

    yield make
    for tenant in made:
        tenant.close()


@pytest.fixture
def tenant(new_world):
    return new_world()


@pytest.fixture
def functions(tmp_path):
    """A folder with a function that echoes and one that sends to the queue ``orders``."""
    folder = tmp_path / "functions"
    for name, code in (("echo", ECHO), ("caller", CALLER)):
        (folder / "shop" / name).mkdir(parents=True)
        (folder / "shop" / name / "index.py").write_text(code)
    return folder


def allow(action, resource="*", **condition):
    statement = {"Effect": "Allow", "Action": action, "Resource": resource}
    return {**statement, "Condition": condition} if condition else statement


def deny(action, resource="*"):
    return {"Effect": "Deny", "Action": action, "Resource": resource}


def queue(tenant, name="orders"):
    made = tenant.mns(tenant.owner).get_queue(name)
    made.create(QueueMeta())
    return made


def test_user_with_the_fine_grained_policy_may_send_and_nothing_else(tenant):
    """`mns:SendMessage` on one queue; the denial names the action and the resource that are missing."""
    queue(tenant)
    queue(tenant, "others")
    sender = tenant.mns(tenant.user("sender", allow("mns:SendMessage", "acs:mns:*:*:/queues/orders/messages")))

    sent = sender.get_queue("orders").send_message(Message("hello"))
    with pytest.raises(MNSServerException) as receiving:
        sender.get_queue("orders").receive_message()
    with pytest.raises(MNSServerException) as elsewhere:
        sender.get_queue("others").send_message(Message("hello"))

    assert sent.message_id
    assert receiving.value.type == elsewhere.value.type == "AccessDenied"
    assert "mns:ReceiveMessage" in receiving.value.message
    assert f"acs:mns:cn-hangzhou:{tenant.account}:/queues/others/messages" in elsewhere.value.message


def test_reading_policy_lets_peek_but_not_receive(tenant):
    """Peeking is an action of its own."""
    queue(tenant).send_message(Message("hello"))
    account = tenant.mns(tenant.user("reader", system=["AliyunMNSReadOnlyAccess"]))
    reader = account.get_queue("orders")

    assert reader.peek_message().message_body == b"hello"
    assert len(account.list_queue()[0]) == 1
    with pytest.raises(MNSServerException) as refused:
        reader.receive_message()
    assert refused.value.type == "AccessDenied"


def test_publishing_and_subscribing_are_different_rights(tenant):
    """Each on its own resource below the topic."""
    topic = tenant.mns(tenant.owner).get_topic("news")
    topic.create(TopicMeta())
    publisher = tenant.mns(tenant.user("publisher", allow("mns:PublishMessage", "acs:mns:*:*:/topics/news/messages")))

    assert publisher.get_topic("news").publish_message(TopicMessage("hello")).message_id
    with pytest.raises(MNSServerException) as refused:
        publisher.get_subscription("news", "mine").subscribe(SubscriptionMeta("http://127.0.0.1:1/"))
    assert "/topics/news/subscriptions/mine" in refused.value.message


def test_condition_decides(tenant):
    """A statement counts only while its condition holds."""
    queue(tenant)
    now = allow("mns:*", IpAddress={"acs:SourceIp": "127.0.0.0/8"}, Bool={"acs:SecureTransport": "false"})
    past = allow("mns:*", DateLessThan={"acs:CurrentTime": "2020-01-01T00:00:00Z"})
    present, late = tenant.mns(tenant.user("present", now)), tenant.mns(tenant.user("late", past))

    assert present.get_queue("orders").send_message(Message("hello")).message_id
    with pytest.raises(MNSServerException):
        late.get_queue("orders").send_message(Message("hello"))


def test_user_reads_its_folder_and_writes_nothing(tenant):
    """Actions on buckets and objects are told apart; listing may be bound to a prefix."""
    oss2 = pytest.importorskip("oss2")
    pytest.importorskip("moto")

    def bucket(key):
        return oss2.Bucket(oss2.Auth(key[0], key[1]), tenant.running.url, "photos", is_path_style=True)

    owner = bucket(tenant.owner)
    owner.create_bucket()
    owner.put_object("mine/a.txt", b"hello")
    listing = allow("oss:ListObjects", "acs:oss:*:*:photos", StringLike={"oss:Prefix": "mine/*"})
    reader = bucket(tenant.user("reader", allow("oss:GetObject", "acs:oss:*:*:photos/mine/*"), listing))

    assert reader.get_object("mine/a.txt").read() == b"hello"
    assert [each.key for each in reader.list_objects(prefix="mine/").object_list] == ["mine/a.txt"]
    with pytest.raises(oss2.exceptions.AccessDenied):
        reader.list_objects()
    with pytest.raises(oss2.exceptions.AccessDenied) as writing:
        reader.put_object("mine/b.txt", b"no")
    named = f"oss:PutObject Resource: acs:oss:oss-cn-hangzhou:{tenant.account}:photos/mine/b.txt"
    assert named in writing.value.details["Message"]


def test_user_may_invoke_only_the_function_it_has_the_right_for(new_world, functions):
    """The denial is Function Compute's own."""
    tenant = new_world(functions)
    invoker = tenant.fc(tenant.user("invoker", allow("fc:InvokeFunction", "acs:fc:*:*:services/shop/functions/echo")))

    assert invoker.invoke_function("shop", "echo", payload=b"hi").data == b"hi"
    with pytest.raises(fc2.FcError) as other:
        invoker.invoke_function("shop", "caller")
    with pytest.raises(fc2.FcError) as creating:
        invoker.create_service("new")
    assert (other.value.status_code, other.value.err_code) == (403, "AccessDenied")
    told = f"'fc:InvokeFunction' on resource 'acs:fc:cn-hangzhou:{tenant.account}:services/shop/functions/caller'"
    assert told in other.value.message
    assert f"'fc:CreateService' on resource 'acs:fc:cn-hangzhou:{tenant.account}:services/*'" in creating.value.message


def test_giving_a_function_a_role_needs_the_right_to_pass_it(tenant):
    """Else whoever creates functions could do whatever any role may do."""
    role = tenant.role("strong", system=["AdministratorAccess"], trusts={"Service": "fc.aliyuncs.com"})
    maker = tenant.fc(tenant.user("maker", allow("fc:*")))
    trusted = tenant.fc(tenant.user("trusted", system=["AliyunFCFullAccess"]))

    with pytest.raises(fc2.FcError) as refused:
        maker.create_service("own", role=role)
    assert f"'ram:PassRole' on resource '{role}'" in refused.value.message
    assert maker.create_service("own").data["serviceName"] == "own"
    assert trusted.create_service("other", role=role).data["role"] == role


def test_function_acts_with_the_rights_of_its_role(new_world, functions):
    """The same function sends when its role may, and is refused when it may not."""
    (functions / "shop" / "service.yml").write_text("role: acs:ram:::role/sender\n")
    tenant = new_world(functions)
    queue(tenant)

    before = tenant.fc(tenant.owner).invoke_function("shop", "caller").data
    tenant.role("sender", allow("mns:SendMessage", "acs:mns:*:*:/queues/orders/messages"))
    after = tenant.fc(tenant.owner).invoke_function("shop", "caller").data

    assert (before, after) == (b"AccessDenied", b"sent")


def test_session_has_the_rights_of_its_role_within_its_own_policy(tenant):
    """Role and session policy must both allow."""
    queue(tenant)
    role = tenant.role("worker", allow("mns:*"))
    alice = tenant.user("alice", system=["AliyunSTSAssumeRoleAccess"])
    narrow = {"Version": "1", "Statement": [allow("mns:SendMessage"), allow("fc:*")]}

    whole = tenant.mns(tenant.session(alice, role)).get_queue("orders")
    narrowed = tenant.mns(tenant.session(alice, role, narrow)).get_queue("orders")

    narrowed.send_message(Message("hello"))
    with pytest.raises(MNSServerException):
        narrowed.receive_message()
    assert whole.receive_message().message_body == b"hello"
    with pytest.raises(fc2.FcError):
        tenant.fc(tenant.session(alice, role, narrow)).list_services()


def test_role_is_assumed_only_by_whom_it_trusts_and_who_has_the_right(tenant):
    """Two policies decide: the caller's and the role's; a role that is not there is told as such."""
    alice = tenant.user("alice", system=["AliyunSTSAssumeRoleAccess"])
    bob = tenant.user("bob")
    open_to_all = tenant.role("open")
    for_bob = tenant.role("for-bob", trusts={"RAM": f"acs:ram::{tenant.account}:user/bob"})

    def code(key, role):
        with pytest.raises(ClientException) as refused:
            tenant.session(key, role)
        return refused.value.code, refused.value.status_code

    assert tenant.session(alice, open_to_all)[0].startswith("STS.")
    assert code(alice, for_bob) == ("NoPermission", 403)
    assert code(bob, for_bob) == ("NoPermission", 403)
    assert code(alice, f"acs:ram::{tenant.account}:role/nobody") == ("EntityNotExist.Role", 404)


def test_ram_itself_is_guarded(tenant):
    """A user who reads may not write, so nobody gives rights to itself."""
    reader = RamClient(tenant.config(tenant.user("reader", system=["AliyunRAMReadOnlyAccess"])))
    request = models.AttachPolicyToUserRequest(
        user_name="reader", policy_type="System", policy_name="AdministratorAccess"
    )

    assert reader.list_users(models.ListUsersRequest()).body.users.user[0].user_name == "reader"
    with pytest.raises(ClientException) as refused:
        reader.attach_policy_to_user(request)

    assert (refused.value.code, refused.value.status_code) == ("NoPermission", 403)
    assert f"Resource: acs:ram:*:{tenant.account}:user/reader Action: ram:AttachPolicyToUser" in refused.value.message


def test_rights_of_groups_are_their_members(tenant):
    """And a denial wins over them."""
    queue(tenant)
    key = tenant.user("alice")
    tenant.user("holder", allow("mns:*"))
    tenant.ram.create_group(models.CreateGroupRequest(group_name="team"))
    team = models.AttachPolicyToGroupRequest(group_name="team", policy_type="System", policy_name="AliyunMNSFullAccess")
    tenant.ram.attach_policy_to_group(team)
    orders = tenant.mns(key).get_queue("orders")

    with pytest.raises(MNSServerException):
        orders.send_message(Message("no"))
    tenant.ram.add_user_to_group(models.AddUserToGroupRequest(user_name="alice", group_name="team"))
    assert orders.send_message(Message("yes")).message_id
    document = json.dumps({"Version": "1", "Statement": [deny("mns:SendMessage")]})
    tenant.ram.create_policy(models.CreatePolicyRequest(policy_name="never", policy_document=document))
    tenant.ram.attach_policy_to_user(
        models.AttachPolicyToUserRequest(user_name="alice", policy_type="Custom", policy_name="never")
    )
    with pytest.raises(MNSServerException):
        orders.send_message(Message("no"))


def test_user_may_start_only_its_flow(tenant):
    """The resource may be written as the flow or as its executions."""
    owner = tenant.fnf(tenant.owner)
    definition = "version: v1\ntype: flow\nsteps:\n- type: pass\n  name: p\n"
    for name in ("mine", "other"):
        owner.send("CreateFlow", Name=name, Definition=definition, Description="", Type="FDL")
    user = tenant.fnf(
        tenant.user(
            "starter", allow(["fnf:StartExecution", "fnf:DescribeExecution"], "acs:fnf:::flows/mine/executions/*")
        )
    )

    started = user.send("StartExecution", FlowName="mine", ExecutionName="first")
    with pytest.raises(ServerException) as refused:
        user.send("StartExecution", FlowName="other")

    assert user.send("DescribeExecution", FlowName="mine", ExecutionName=started["Name"])["FlowName"] == "mine"
    assert (refused.value.get_error_code(), refused.value.get_http_status()) == ("AccessDenied", 403)
    assert f"'fnf:StartExecution' on resource 'acs:fnf:cn-hangzhou:{tenant.account}:flow/other'" in str(refused.value)


FLOW = """version: v1
type: flow
steps:
- type: task
  name: work
  resourceArn: {arn}
"""


def run(tenant, arn, role):
    """Run a flow with one task as *role*; return its last events, newest first."""
    owner = tenant.fnf(tenant.owner)
    owner.send("CreateFlow", Name="f", Definition=FLOW.format(arn=arn), Description="", Type="FDL", RoleArn=role)
    owner.send("StartExecution", FlowName="f", ExecutionName="e", Input="{}")
    owner.send("DescribeExecution", FlowName="f", ExecutionName="e", WaitTimeSeconds=30)
    events = owner.send("GetExecutionHistory", FlowName="f", ExecutionName="e", Limit=100)["Events"]
    return {event["Type"]: json.loads(event["EventDetail"]) for event in events}


FNF = {"Service": "fnf.aliyuncs.com"}


@pytest.mark.parametrize(
    ("arn", "code", "action", "resource"),
    [
        (
            "acs:fc:::services/shop/functions/echo",
            "FC.AccessDenied",
            "fc:InvokeFunction",
            "services/shop/functions/echo",
        ),
        ("acs:mns:::/queues/orders/messages", "MNS.AccessDenied", "mns:SendMessage", "/queues/orders/messages"),
        ("acs:mns:::/topics/news/messages", "MNS.AccessDenied", "mns:PublishMessage", "/topics/news/messages"),
        ("acs:fnf:::flow/child", "FnF.AccessDenied", "fnf:StartExecution", "flow/child"),
    ],
    ids=["function", "queue", "topic", "flow"],
)
def test_flow_whose_role_lacks_a_right_fails_with_the_services_denial(
    new_world, functions, arn, code, action, resource
):
    """The history names the error, the action and the resource."""
    tenant = new_world(functions)
    queue(tenant)
    role = tenant.role("idle", allow("log:*"), trusts=FNF)

    events = run(tenant, arn, role)

    failed = events["TaskSubmissionFailed" if "TaskSubmissionFailed" in events else "TaskFailed"]
    assert failed["error"] == code
    assert action in failed["cause"]
    assert resource in failed["cause"]
    assert events["ExecutionFailed"]["error"] == code


def test_flow_without_a_role_fails_and_says_that_it_has_none(tenant):
    """What is refused is a role that has no name."""
    queue(tenant)

    events = run(tenant, "acs:mns:::/queues/orders/messages", "")

    assert events["ExecutionFailed"]["cause"].endswith(" (the flow has no role)")


def test_flow_with_the_guides_fine_grained_policy_sends(tenant):
    """`mns:SendMessage` on the queue, and trust in the workflow service, are enough."""
    orders = queue(tenant)
    role = tenant.role("sender", allow("mns:SendMessage", "acs:mns:*:*:/queues/orders/messages"), trusts=FNF)

    events = run(tenant, "acs:mns:::/queues/orders/messages", role)

    assert "ExecutionSucceeded" in events
    orders.set_encoding(False)
    assert orders.receive_message().message_body == "{}"


def test_flow_calls_functions_with_the_policy_of_the_system(new_world, functions):
    """As the workflow guide sets its role up."""
    tenant = new_world(functions)
    role = tenant.role("caller", system=["AliyunFCInvocationAccess"], trusts=FNF)

    assert "ExecutionSucceeded" in run(tenant, "acs:fc:::services/shop/functions/echo", role)


@pytest.mark.parametrize("trusts", [None, {"Service": "fc.aliyuncs.com"}], ids=["the account", "another service"])
def test_role_that_does_not_trust_the_workflow_service_is_no_use(new_world, functions, trusts):
    """The denial names the assumption of the role."""
    tenant = new_world(functions)
    role = tenant.role("strong", system=["AdministratorAccess"], trusts=trusts)

    events = run(tenant, "acs:fc:::services/shop/functions/echo", role)

    assert events["ExecutionFailed"]["error"] == "FC.AccessDenied"
    assert f"'sts:AssumeRole' on resource '{role}'" in events["ExecutionFailed"]["cause"]


FC = {"Service": "fc.aliyuncs.com"}


def log_says(tenant, text):
    """Wait until the emulator's log has *text*."""
    eventually(lambda: text in tenant.running.output(), otherwise=tenant.running.output)


def test_result_reaches_a_destination_only_with_the_functions_right(new_world, functions):
    """A function without the right to send runs, and its result is not sent; the log names what is missing."""
    (functions / "shop" / "service.yml").write_text("role: acs:ram:::role/worker\n")
    tenant = new_world(functions)
    owner = tenant.fc(tenant.owner)
    orders, others = queue(tenant), queue(tenant, "others")
    orders.set_encoding(False)
    tenant.role("worker", allow("mns:SendMessage", "acs:mns:*:*:/queues/orders/messages"), trusts=FC)

    def call(name):
        destination = {"onSuccess": {"destination": f"acs:mns:::/queues/{name}/messages"}}
        owner.put_function_async_invoke_config("shop", "LATEST", "echo", {"destinationConfig": destination})
        owner.invoke_function("shop", "echo", payload=b"hi", headers={"x-fc-invocation-type": "Async"})

    call("others")
    log_says(tenant, "has not the right mns:SendMessage")
    call("orders")

    assert orders.receive_message(20).message_id
    with pytest.raises(MNSServerException) as empty:
        others.receive_message()
    assert empty.value.type == "MessageNotExist"


def test_topic_calls_a_function_only_with_the_right_of_the_triggers_role(new_world, functions):
    """The invocation role trusts the message service and may call the function."""
    (functions / "shop" / "service.yml").write_text("role: acs:ram:::role/sender\n")
    tenant = new_world(functions)
    owner, orders = tenant.fc(tenant.owner), queue(tenant)
    tenant.role("sender", allow("mns:SendMessage"), trusts=FC)
    topic = tenant.mns(tenant.owner).get_topic("news")
    topic.create(TopicMeta())
    role = tenant.role("notifier", trusts={"Service": "mns.aliyuncs.com"})
    config = {"NotifyContentFormat": "STREAM", "NotifyStrategy": "BACKOFF_RETRY"}
    arn = f"acs:mns:cn-hangzhou:{tenant.account}:/topics/news"
    owner.create_trigger("shop", "caller", "news", "mns_topic", config, arn, role)

    topic.publish_message(TopicMessage("first"))
    log_says(tenant, "may not fire")
    tenant.ram.attach_policy_to_role(
        models.AttachPolicyToRoleRequest(
            role_name="notifier", policy_type="System", policy_name="AliyunFCInvocationAccess"
        )
    )
    topic.publish_message(TopicMessage("second"))

    assert orders.receive_message(20).message_body


def fc3(config):
    from alibabacloud_fc20230330.client import Client
    from alibabacloud_fc20230330.models import ListFunctionsRequest

    return lambda: Client(config).list_functions(ListFunctionsRequest())


def mns_open(config):
    from alibabacloud_mns_open20220119.client import Client
    from alibabacloud_mns_open20220119.models import GetQueueAttributesRequest

    return lambda: Client(config).get_queue_attributes(GetQueueAttributesRequest(queue_name="orders"))


def fnf_tea(config):
    from alibabacloud_fnf20190315.client import Client
    from alibabacloud_fnf20190315.models import ListFlowsRequest

    return lambda: Client(config).list_flows(ListFlowsRequest())


@pytest.mark.parametrize(
    ("client", "code", "action", "resource"),
    [
        (fc3, "AccessDenied", "fc:ListFunctions", "acs:fc:cn-hangzhou:{}:functions/*"),
        (mns_open, "AccessDenied", "mns:GetQueueAttributes", "acs:mns:cn-hangzhou:{}:/queues/orders"),
        (fnf_tea, "AccessDenied", "fnf:ListFlows", "acs:fnf:cn-hangzhou:{}:flow/*"),
    ],
)
def test_user_without_rights_is_refused_by_every_newer_client_and_let_in_with_the_right(
    tenant, client, code, action, resource
):
    """The client raises the service's own error, which names what to add to a policy; that is then enough."""
    named = resource.format(tenant.account)
    queue(tenant)
    nobody, somebody = tenant.user("nobody"), tenant.user("somebody", allow(action, named))

    with pytest.raises(Exception) as refused:
        client(tenant.config(nobody))()
    allowed = client(tenant.config(somebody))()

    assert refused.value.code == code
    assert action in refused.value.message
    assert named in refused.value.message
    assert allowed.status_code == 200


def test_signed_call_of_an_http_trigger_needs_the_right_to_invoke(new_world, tmp_path):
    """A trigger that asks for a signature lets in whoever may call its function."""
    folder = tmp_path / "web" / "site" / "page"
    folder.mkdir(parents=True)
    (folder / "index.py").write_text(
        "def handler(environ, start_response):\n    start_response('200 OK', [])\n    return [b'hello']\n"
    )
    triggers = (
        "triggers:\n- {triggerName: http, triggerType: http, triggerConfig: {authType: function, methods: [GET]}}\n"
    )
    (folder / "function.yml").write_text(triggers)
    tenant = new_world(tmp_path / "web")

    def status(key):
        return tenant.fc(key).do_http_request("GET", "site", "page", "/").status_code

    allowed = tenant.user("allowed", allow("fc:InvokeFunction", "acs:fc:*:*:services/site/functions/page"))
    refused = tenant.user("refused", allow("fc:Get*"))

    assert (status(allowed), status(refused), status(tenant.owner)) == (200, 403, 200)


def test_without_the_option_nobody_is_refused(new_world):
    """Users may do everything, and roles that were never made can be assumed."""
    tenant = new_world(None, "--no-enforce-ram")
    key = tenant.user("alice")
    queue(tenant)

    session = tenant.session(key, f"acs:ram::{tenant.account}:role/never-made")

    assert tenant.mns(session).get_queue("orders").send_message(Message("hello")).message_id
