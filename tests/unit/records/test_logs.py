"""Projects and stores of Log Service as records."""

import json
from pathlib import Path

import pytest

from emulator import records
from emulator.http.message import Headers, Request
from emulator.kernel.clock import Millis
from emulator.kernel.errors import AuthFailure, Reason, ServiceError
from emulator.kernel.identity import AccountId, Principal, Region
from emulator.kernel.ids import CountingIds
from emulator.records.front import LogFront
from emulator.records.store import RecordStore
from emulator.storage.database import Database
from emulator.storage.migration import Schema, migrate
from emulator.wire.request import OperationRequest


class Logs:
    """The service behind its front: ``logs("GET", "/logstores", "p")`` returns the decoded answer."""

    def __init__(self, database, *, strict=False):
        self.front = LogFront(RecordStore(database), CountingIds(), strict=strict)

    def __call__(self, method, path, project="", body=None):
        text = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        host = f"{project}.cn-x.log.aliyuncs.com" if project else "cn-x.log.aliyuncs.com"
        call = OperationRequest(Request(method, path, Headers([("Host", host)]), text), Millis(5_000))
        call.host, call.region, call.request_id = host, Region("cn-x"), "r"
        call.principal = Principal(AccountId("1"), "key", "arn")
        try:
            answer = self.front.handle(call)
        except ServiceError as error:
            answer = self.front.render_error(error, call)
        assert dict(answer.headers)["x-log-requestid"] == "r"
        return answer.status, json.loads(answer.body) if answer.body else None


@pytest.fixture
def database():
    opened = Database(None)
    migrate(opened, [Schema("records", Path(records.__file__).parent / "schema")])
    yield opened
    opened.close()


@pytest.fixture
def logs(database):
    return Logs(database)


def test_a_project_is_made_changed_and_deleted_with_its_stores(logs):
    """A store is found in its own project only."""
    assert logs("POST", "/", body={"projectName": "p", "description": "d"}) == (200, None)
    assert logs("POST", "/", "q", {"projectName": "q"}) == (200, None)
    assert logs("POST", "/logstores", "p", {"logstoreName": "s", "ttl": 7, "shardCount": 3}) == (200, None)
    assert logs("PUT", "/", "p", {"description": "e"}) == (200, None)
    assert logs("PUT", "/logstores/s", "p", {"logstoreName": "s", "ttl": 9}) == (200, None)

    project, store = logs("GET", "/", "p")[1], logs("GET", "/logstores/s", "p")[1]
    assert (project["projectName"], project["description"], project["status"]) == ("p", "e", "Normal")
    assert (store["ttl"], store["shardCount"], store["mode"]) == (9, 3, "standard")
    assert logs("GET", "/logstores", "p")[1]["logstores"] == ["s"]
    assert [each["projectName"] for each in logs("GET", "/")[1]["projects"]] == ["p", "q"]
    assert len(logs("GET", "/logstores/s/shards", "p")[1]) == 3
    assert logs("GET", "/logstores/s/meteringmode", "p")[1] == {"meteringMode": "ChargeByFunction"}
    assert logs("GET", "/policy", "p") == (200, {})
    assert logs("GET", "/logstores/s", "q")[1]["errorCode"] == "LogStoreNotExist"

    assert logs("DELETE", "/", "p") == (200, None)
    logs("POST", "/", body={"projectName": "p"})
    assert logs("GET", "/logstores/s", "p")[0] == 404
    assert logs("DELETE", "/logstores/s", "p")[1]["errorCode"] == "LogStoreNotExist"


def test_a_store_may_be_called_like_its_project(logs):
    """Its neighbours stay when it goes."""
    logs("POST", "/", body={"projectName": "p"})
    for name in ("p", "other"):
        logs("POST", "/logstores", "p", {"logstoreName": name})

    logs("DELETE", "/logstores/p", "p")

    assert logs("GET", "/logstores", "p")[1]["logstores"] == ["other"]


def test_projects_have_tags(logs):
    """Some or all go."""
    logs("POST", "/", body={"projectName": "p"})
    names = {"resourceType": "PROJECT", "resourceId": ["p", "none"]}

    def tags():
        return [each["tagKey"] for each in logs("GET", '/tags?resourceId=["p"]', "p")[1]["tagResources"]]

    logs("POST", "/tag", body={**names, "tags": [{"key": "a", "value": "1"}, {"key": "b", "value": "2"}]})
    assert tags() == ["a", "b"]
    logs("POST", "/untag", body={**names, "tags": ["a"]})
    assert tags() == ["b"]
    logs("POST", "/untag", body={**names, "all": True})
    assert tags() == []


@pytest.mark.parametrize(
    ("request_", "status", "code"),
    [
        (("GET", "/", "none"), 404, "ProjectNotExist"),
        (("POST", "/", "", b"{"), 400, "PostBodyInvalid"),
        (("POST", "/", "", {}), 400, "ParameterInvalid"),
        (("POST", "/", "", {"projectName": "p"}), 400, "ProjectAlreadyExist"),
        (("POST", "/logstores", "p", {"logstoreName": "s"}), 400, "LogStoreAlreadyExist"),
        (("POST", "/logstores", "p", {"logstoreName": "t", "ttl": "week"}), 400, "ParameterInvalid"),
        (("POST", "/logstores", "none", {"logstoreName": "t"}), 404, "ProjectNotExist"),
        (("POST", "/tag", "p", {"tags": "a"}), 400, "ParameterInvalid"),
        (("POST", "/untag", "p", {"tags": "a"}), 400, "ParameterInvalid"),
        (("POST", "/logstores/s/shards/lb", "p"), 400, "OperationNotSupported"),
    ],
)
def test_errors_have_the_members_that_clients_read(logs, request_, status, code):
    """Those of the service, and those of the gateway, without which terraform-provider-alicloud fails itself."""
    logs("POST", "/", body={"projectName": "p"})
    logs("POST", "/logstores", "p", {"logstoreName": "s"})

    answered, content = logs(*request_)

    assert (answered, content["errorCode"], content["Code"]) == (status, code, code)
    assert content["errorMessage"] == content["Message"] != ""


def test_strict_refuses_everything(database):
    """In the service's form."""
    status, content = Logs(database, strict=True)("POST", "/", body={"projectName": "p"})

    assert (status, content["errorCode"]) == (400, "OperationNotSupported")
    assert "--strict" in content["errorMessage"]


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        (Reason.SKEWED_DATE, "RequestTimeExpired"),
        (Reason.UNKNOWN_KEY, "Unauthorized"),
        (Reason.SIGNATURE_DIFFERS, "SignatureNotMatch"),
    ],
)
def test_a_signature_is_refused_by_its_reason(logs, reason, code):
    """The code tells which."""
    call = OperationRequest(Request("GET", "/", Headers()), Millis(0))

    assert logs.front.auth_error(AuthFailure(reason, scheme="LOG"), call).code == code
    assert logs.front.too_large(5).code == "PostBodyTooLarge"
    assert not logs.front.allows_anonymous(call)
