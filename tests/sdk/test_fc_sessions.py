"""Sessions of functions through the official client: the platform's own checklist, with the emulator's clock.

The clock stands still but for what a test moves, so no test waits for a session to expire.
"""

import base64
import http.client
import io
import json
import re
import sys
import threading
import uuid
import zipfile

import pytest

from emulator.testing import Emulator, TestingError
from tests.waiting import eventually

pytest.importorskip("alibabacloud_fc20230330")
pytestmark = pytest.mark.sdk

HANDLER = """
import json, os, time
state = {"calls": 0}
print("loaded")
def prepare(context):
    print("prepared")
def handler(event, context):
    state["calls"] += 1
    asked = json.loads(event or b"{}")
    if "body" in asked:
        asked = json.loads(asked["body"] or "{}")
    if asked.get("wait"):
        open(asked["wait"], "w").close()
        while os.path.exists(asked["wait"]):
            time.sleep(0.01)
    return json.dumps({"instance": os.environ["FC_INSTANCE_ID"], "calls": state["calls"]})
"""
PROGRAM = f"""#!/bin/sh
'''exec' "{sys.executable}" "$0" "$@"
' '''
import json, os, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
state = {{"calls": 0}}
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *parts):
        pass
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked = json.loads(body or b"{{}}")
        state["calls"] += 1
        if asked.get("wait"):
            open(asked["wait"], "w").close()
            while os.path.exists(asked["wait"]):
                time.sleep(0.01)
        answer = {{"instance": os.environ["FC_INSTANCE_ID"], "calls": state["calls"]}}
        answer["header"] = self.headers.get("my-session-id")
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Set-Cookie", "own=1")
        self.end_headers()
        self.wfile.write(content)
    def do_GET(self):
        if self.path != "/stream":
            self.do_POST()
            return
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(os.environ["FC_INSTANCE_ID"].encode() + b"\\n")
        self.connection.recv(1)
        self.close_connection = True
ThreadingHTTPServer(("127.0.0.1", int(os.environ["FC_SERVER_PORT"])), Handler).serve_forever()
"""
BY_HEADER = {"affinityHeaderFieldName": "My-Session-Id"}
COOKIE = "x-fc-cookie-session-id"


def zipped(name, content):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        entry = zipfile.ZipInfo(name)
        entry.external_attr = 0o100755 << 16
        archive.writestr(entry, content)
    return base64.b64encode(sink.getvalue()).decode()


class Site:
    """One emulator and its 3.0 client; functions of tests have names of their own."""

    def __init__(self, localyun):
        from alibabacloud_fc20230330 import models

        self.localyun = localyun
        self.models = models
        self.client = localyun.fc3

    def function(self, kind="HEADER_FIELD", config=None, *, custom=False, **more):
        """Make a function with affinity and return its name."""
        name = f"s{uuid.uuid4().hex[:12]}"
        code = zipped("bootstrap", PROGRAM) if custom else zipped("index.py", HANDLER)
        body = {
            "functionName": name,
            "runtime": "custom.debian10" if custom else "python3.12",
            "handler": "index.handler",
            "timeout": 60,
            "code": {"zipFile": code},
            "sessionAffinity": kind,
        }
        config = dict(BY_HEADER if kind == "HEADER_FIELD" else {}) | (config or {})
        if config:
            body["sessionAffinityConfig"] = json.dumps(config)
        made = self.models.CreateFunctionInput().from_map(body | more)
        self.client.create_function(self.models.CreateFunctionRequest(body=made))
        return name

    def shown(self, name):
        return self.client.get_function(name, self.models.GetFunctionRequest()).body

    def update(self, name, **members):
        body = self.models.UpdateFunctionInput().from_map(members)
        return self.client.update_function(name, self.models.UpdateFunctionRequest(body=body)).body

    def invoke(self, name, session=None, asked=None, qualifier=None, **headers):
        """Call a function through the API; return what it says and the header fields of the answer."""
        from darabonba.runtime import RuntimeOptions

        if session is not None:
            headers["my-session-id"] = session
        request = self.models.InvokeFunctionRequest(
            body=io.BytesIO(json.dumps(asked or {}).encode()), qualifier=qualifier
        )
        fields = self.models.InvokeFunctionHeaders(common_headers=headers)
        answer = self.client.invoke_function_with_options(name, request, fields, RuntimeOptions())
        return json.loads(answer.body.read()), answer.headers

    def invoke_raw(self, name, session):
        """Call a function that may fail; return its body and the header fields of the answer."""
        from darabonba.runtime import RuntimeOptions

        fields = self.models.InvokeFunctionHeaders(common_headers={"my-session-id": session})
        request = self.models.InvokeFunctionRequest(body=io.BytesIO(b"{}"))
        answer = self.client.invoke_function_with_options(name, request, fields, RuntimeOptions())
        return answer.body.read(), answer.headers

    def web(self, name, **config):
        """Give a function an HTTP trigger and return what asks it."""
        config = {"authType": "anonymous", "methods": ["GET", "POST", "DELETE"]} | config
        body = self.models.CreateTriggerInput(
            trigger_name="web", trigger_type="http", trigger_config=json.dumps(config)
        )
        self.client.create_trigger(name, self.models.CreateTriggerRequest(body=body))
        return self.asker(name)

    def asker(self, name):
        """Return what asks the HTTP trigger of ``function`` or ``function.qualifier``."""

        def ask(method="GET", path="/", body=None, **headers):
            address = self.localyun.endpoint.removeprefix("http://")
            connection = http.client.HTTPConnection(address, timeout=60)
            try:
                fields = {key.replace("_", "-"): value for key, value in headers.items()}
                connection.request(method, f"/2023-03-30/proxy/{name}{path}", body, fields)
                answer = connection.getresponse()
                return answer.status, answer.headers, answer.read()
            finally:
                connection.close()

        return ask

    def create(self, name, qualifier=None, **members):
        body = self.models.CreateSessionInput().from_map(members) if members else None
        return self.client.create_session(name, self.models.CreateSessionRequest(body=body, qualifier=qualifier)).body

    def get(self, name, session, qualifier=None):
        return self.client.get_session(name, session, self.models.GetSessionRequest(qualifier=qualifier)).body

    def change(self, name, session, **members):
        body = self.models.UpdateSessionInput().from_map(members)
        return self.client.update_session(name, session, self.models.UpdateSessionRequest(body=body)).body

    def delete(self, name, session):
        return self.client.delete_session(name, session, self.models.DeleteSessionRequest())

    def sessions(self, name, **query):
        return self.client.list_sessions(name, self.models.ListSessionsRequest(**query)).body

    def instances(self, name):
        listed = self.client.list_instances(name, self.models.ListInstancesRequest(with_all_active=True)).body.instances
        return {each.instance_id for each in listed or ()}

    def later(self, seconds):
        self.localyun.clock.advance(f"{seconds}s")


def refused(call, *arguments, **named):
    """Return status, code and text of a refusal."""
    with pytest.raises(Exception) as caught:
        call(*arguments, **named)
    error = caught.value
    return getattr(error, "status_code", None) or error.statusCode, error.code, str(error.message)


@pytest.fixture(scope="module")
def site():
    """One emulator whose time stands still unless a test moves it."""
    with Emulator() as localyun:
        localyun.clock.freeze()
        yield Site(localyun)


def test_name_of_the_header_is_kept_in_lower_case(site):
    """Check 1: the configuration comes back as JSON text."""
    name = site.function(config={"sessionTTLInSeconds": 60, "sessionIdleTimeoutInSeconds": 10})

    shown = site.shown(name)

    assert shown.session_affinity == "HEADER_FIELD"
    assert json.loads(shown.session_affinity_config) == {
        "affinityHeaderFieldName": "my-session-id",
        "sessionTTLInSeconds": 60,
        "sessionIdleTimeoutInSeconds": 10,
    }


def test_concurrency_of_a_custom_runtime_is_200(site):
    """Check 2: what Serverless Devs sends by default is refused in the service's words."""
    status, code, text = refused(site.function, custom=True, instanceConcurrency=1)

    assert (status, code) == (400, "InvalidArgument")
    assert "ConcurrencyLimit is invalid for session function, allowed: 200" in text
    assert site.shown(site.function(custom=True)).instance_concurrency == 200
    assert site.shown(site.function(custom=False)).instance_concurrency == 1
    isolated = {"instanceIsolationMode": "SESSION_EXCLUSIVE", "cpu": 2, "memorySize": 4096}
    alone = site.function(custom=True, instanceConcurrency=1, **isolated)
    assert site.shown(alone).instance_concurrency == 1
    assert site.update(alone, description="another").instance_concurrency == 1
    assert site.update(alone, instanceIsolationMode="SHARE").instance_concurrency == 200


def test_configuration_without_affinity_is_dropped(site):
    """Check 4."""
    shown = site.shown(site.function(None, {"sessionTTLInSeconds": 5}))

    assert (shown.session_affinity, shown.session_affinity_config) == ("NONE", None)


@pytest.mark.parametrize(
    ("kind", "config", "more"),
    [
        ("cookie", {}, {}),
        ("HEADER_FIELD", {"affinityHeaderFieldName": "x-fc-foo"}, {}),
        ("HEADER_FIELD", {"affinityHeaderFieldName": "abc"}, {}),
        ("HEADER_FIELD", {"affinityHeaderFieldName": "a" * 41}, {}),
        ("HEADER_FIELD", {"affinityHeaderFieldName": None}, {}),
        ("HEADER_FIELD", {"sessionTTLInSeconds": 0}, {}),
        ("HEADER_FIELD", {"sessionTTLInSeconds": 21601}, {}),
        ("HEADER_FIELD", {"sessionTTLInSeconds": 10, "sessionIdleTimeoutInSeconds": 11}, {}),
        ("GENERATED_COOKIE", {"sessionConcurrencyPerInstance": 201}, {}),
        ("MCP_SSE", {"sessionConcurrencyPerInstance": 0}, {}),
        ("NONE", {}, {"instanceIsolationMode": "SESSION_EXCLUSIVE"}),
        ("GENERATED_COOKIE", {}, {"instanceIsolationMode": "REQUEST_EXCLUSIVE"}),
        ("GENERATED_COOKIE", {}, {"instanceIsolationMode": "mine"}),
        ("GENERATED_COOKIE", {}, {"instanceIsolationMode": "SESSION_EXCLUSIVE", "cpu": 1, "memorySize": 2048}),
    ],
)
def test_members_that_do_not_fit_are_refused(site, kind, config, more):
    """Checks 3, 5 and 6."""
    assert refused(site.function, kind, config, **more)[:2] == (400, "InvalidArgument")


def test_calls_with_one_header_value_reach_one_instance(site):
    """Checks 7 and 10: the module's variable counts on, for each session its own."""
    name = site.function()

    one, other = [site.invoke(name, "one")[0] for _ in range(2)], site.invoke(name, "other")[0]

    assert [answer["calls"] for answer in one] == [1, 2]
    assert len({answer["instance"] for answer in one}) == 1
    assert other["instance"] != one[0]["instance"]


def test_call_without_a_header_is_told_its_session(site):
    """Check 8, through the API and through a trigger; the function sees the header too."""
    name = site.function(custom=True)
    ask = site.web(name)

    first, headers = site.invoke(name)
    session = headers["my-session-id"]
    again, told = site.invoke(name, session)
    status, fields, body = ask("POST")

    assert re.fullmatch(r"[0-9a-f]{32}", session)
    assert (again["instance"], again["calls"]) == (first["instance"], 2)
    assert "my-session-id" not in told
    assert (status, json.loads(body)["header"]) == (200, fields["my-session-id"])


@pytest.mark.parametrize("session", ["abc_1", None])
def test_custom_runtime_reads_its_session_in_a_call_through_the_api(site, session):
    """The field is in the request that brings the event, also where the call has named no session."""
    name = site.function(custom=True)

    told, headers = site.invoke(name, session)
    again, _ = site.invoke(name, told["header"])

    assert told["header"] == (session or headers["my-session-id"])
    assert (again["instance"], again["calls"]) == (told["instance"], 2)


def test_sessions_of_an_instance_are_counted(site):
    """Check 9: the third of three sessions goes to the second of two instances."""
    name = site.function(config={"sessionConcurrencyPerInstance": 2}, custom=True)

    where = [site.invoke(name, session)[0]["instance"] for session in ("a", "b", "c", "a", "b", "c")]

    assert where[0] == where[1] == where[3] == where[4]
    assert where[2] == where[5] != where[0]


def test_cookie_is_set_once(site):
    """Checks 11 to 13: beside the function's own cookie, with the time to live as its age."""
    ask = site.web(name := site.function("GENERATED_COOKIE", custom=True))
    short = site.web(site.function("GENERATED_COOKIE", {"sessionTTLInSeconds": 5}, custom=True))

    _, fields, body = ask()
    own, ours = sorted(fields.get_all("Set-Cookie"))
    session = re.fullmatch(rf"{COOKIE}=([0-9a-f-]{{36}}); Max-Age=21600", ours)
    assert session is not None
    _, later, again = ask(Cookie=f"other=2; {COOKIE}={session[1]}")
    _, short_fields, _ = short()

    assert own == "own=1"
    assert later.get_all("Set-Cookie") == ["own=1"]
    assert json.loads(again)["instance"] == json.loads(body)["instance"]
    assert site.get(name, session[1]).session_affinity_type == "GENERATED_COOKIE"
    assert any(value.endswith("; Max-Age=5") for value in short_fields.get_all("Set-Cookie"))


def test_created_session_has_an_instance_that_is_initialized(site):
    """Checks 14 and 15."""
    hook = {"initializer": {"handler": "index.prepare", "timeout": 5}}
    name = site.function(instanceLifecycleConfig=hook)

    made = site.create(name)

    assert (made.session_status, made.qualifier, made.function_name) == ("Active", "LATEST", name)
    assert (made.session_ttlin_seconds, made.session_idle_timeout_in_seconds) == (21600, 1800)
    assert re.fullmatch(r"[0-9a-f]{32}", made.session_id)
    assert made.container_id in site.instances(name)
    assert "prepared" in site.localyun.logs(name)
    own = site.create(name, sessionId="mine", sessionTTLInSeconds=100, sessionIdleTimeoutInSeconds=50)
    assert site.invoke(name, "mine")[0]["instance"] == own.container_id != made.container_id
    assert refused(site.create, name, sessionId="mine")[:2] == (409, "SessionAlreadyExists")
    assert refused(site.create, name, sessionId="-mine")[0] == 400
    assert refused(site.create, site.function("MCP_SSE"))[0] == 400
    assert refused(site.create, site.function("GENERATED_COOKIE"), sessionId="mine")[0] == 400


def test_call_whose_instance_does_not_initialize_begins_no_session(site):
    """Neither does CreateSession; the next call tries anew."""
    hook = {"initializer": {"handler": "index.missing", "timeout": 5}}
    name = site.function(instanceLifecycleConfig=hook)

    answers = [site.invoke(name, each) for each in ("failed", "failed", None)]
    created = refused(site.create, name, sessionId="failed")

    assert [headers["x-fc-error-type"] for _, headers in answers] == ["InitializationError"] * 3
    assert created[0] == 412
    assert not site.sessions(name).sessions


def test_session_of_a_plain_call_is_shown(site):
    """Check 16."""
    name = site.function()
    instance = site.invoke(name, "plain")[0]["instance"]

    assert site.get(name, "plain").container_id == instance
    assert [each.session_id for each in site.sessions(name).sessions] == ["plain"]


def test_idle_session_expires_and_may_begin_again(site):
    """Check 17."""
    name = site.function(config={"sessionIdleTimeoutInSeconds": 2})
    site.invoke(name, "short")

    site.later(3)

    assert [each.session_id for each in site.sessions(name, session_status="Expired").sessions] == ["short"]
    assert refused(site.get, name, "short")[:2] == (404, "SessionNotFound")
    site.invoke(name, "short")
    assert site.get(name, "short").session_status == "Active"
    assert [each.session_status for each in site.sessions(name).sessions] == ["Active", "Expired"]


def test_calls_hold_up_the_idle_time_and_not_the_time_to_live(site):
    """Check 19."""
    name = site.function(config={"sessionIdleTimeoutInSeconds": 2, "sessionTTLInSeconds": 5})
    for _ in range(4):
        site.invoke(name, "busy")
        site.later(1)
    assert site.get(name, "busy").session_status == "Active"

    site.invoke(name, "busy")
    site.later(2)

    assert refused(site.get, name, "busy")[0] == 404


def test_update_keeps_the_instance(site):
    """Check 20; a time to live that is over already ends the session."""
    name = site.function()
    made = site.create(name, sessionId="changing")
    site.later(10)

    changed = site.change(name, "changing", sessionTTLInSeconds=2000, enableAutoResume=True)

    assert (changed.session_ttlin_seconds, changed.container_id) == (2000, made.container_id)
    assert changed.last_modified_time > made.last_modified_time == changed.created_time
    assert changed.enable_auto_resume
    assert (
        site.change(name, "changing", sessionTTLInSeconds=5, sessionIdleTimeoutInSeconds=0).session_status == "Expired"
    )
    assert refused(site.change, name, "changing", sessionTTLInSeconds=9)[0] == 404


def test_update_of_the_time_to_live_alone_shortens_the_idle_time(site):
    """It never lengthens it; an idle time that is given must fit. One that is over already ends the session."""
    name = site.function()
    site.create(name, sessionId="shorter")
    site.later(10)

    changes = [{"sessionTTLInSeconds": 100}, {"sessionTTLInSeconds": 200}]
    times = [site.change(name, "shorter", **change) for change in changes]
    above = refused(site.change, name, "shorter", sessionIdleTimeoutInSeconds=201)
    both = refused(site.change, name, "shorter", sessionTTLInSeconds=60, sessionIdleTimeoutInSeconds=61)
    over = site.change(name, "shorter", sessionTTLInSeconds=5)

    shown = [(each.session_ttlin_seconds, each.session_idle_timeout_in_seconds) for each in times]
    assert shown == [(100, 100), (200, 100)]
    assert [each[:2] for each in (above, both)] == [(400, "InvalidArgument")] * 2
    assert over.session_status == "Expired"


@pytest.mark.parametrize("isolated", [True, False])
def test_deleting_a_session_during_a_call(site, tmp_path, isolated):
    """Check 21: an isolated one breaks its call, a shared one lets it end; the id is unknown afterwards."""
    alone = {"instanceIsolationMode": "SESSION_EXCLUSIVE", "cpu": 2, "memorySize": 4096} if isolated else {}
    name = site.function(custom=True, **alone)
    waits, answers = tmp_path / "waits", []
    ask = site.web(name)

    def call():
        answers.append(ask("POST", "/", json.dumps({"wait": str(waits)}), my_session_id="going"))

    thread = threading.Thread(target=call)
    thread.start()
    eventually(waits.exists, 30, lambda: "the call does not run")
    site.delete(name, "going")
    if isolated:
        thread.join(30)
        eventually(lambda: not site.instances(name), 30, lambda: "the instance is not released")
        assert answers[0][0] >= 500
    waits.unlink()
    thread.join(30)

    assert isolated or answers[0][0] == 200
    assert refused(site.get, name, "going")[:2] == (404, "SessionNotFound")
    assert not site.sessions(name).sessions


def test_second_call_at_once_of_a_session_is_refused_where_one_fits(site, tmp_path):
    """Check 22: another session gets an instance of its own meanwhile."""
    name, waits = site.function(), tmp_path / "waits"
    thread = threading.Thread(target=site.invoke, args=(name, "full", {"wait": str(waits)}))
    thread.start()
    eventually(waits.exists, 30, lambda: "the call does not run")

    status = refused(site.invoke, name, "full")[:2]
    other = site.invoke(name, "other")[0]
    waits.unlink()
    thread.join(30)

    assert status == (429, "ResourceExhausted")
    assert other["calls"] == 1
    assert site.invoke(name, "full")[0]["calls"] == 2


def test_list_goes_on_from_its_token(site):
    """Check 23."""
    name = site.function()
    for number in range(5):
        site.create(name, sessionId=f"s{number}")
    pages, token = [], None
    for _ in range(4):
        page = site.sessions(name, limit=2, next_token=token)
        pages.append([each.session_id for each in page.sessions])
        token = page.next_token
        if not token:
            break

    assert pages == [["s4", "s3"], ["s2", "s1"], ["s0"]]
    assert len(site.sessions(name, qualifier="LATEST").sessions) == 5
    assert [each.session_id for each in site.sessions(name, session_id="s3").sessions] == ["s3"]
    assert refused(site.sessions, name, limit=101)[0] == 400
    assert refused(site.sessions, name, session_status="Gone")[0] == 400
    assert not any(site.sessions(name, session_status=each).sessions for each in ("Pausing", "Paused", "Resuming"))


def test_pause_resume_and_snapshots_of_what_cannot_have_them(site):
    """Check 25."""
    models, client = site.models, site.client
    name = site.function()
    site.create(name, sessionId="here")
    snapshot = models.CreateSnapshotInput(session_id="here")

    assert refused(client.resume_session, name, "here", models.ResumeSessionRequest(file_system_only=True))[0] == 409
    assert refused(client.pause_session, name, "here", models.PauseSessionRequest())[0] == 400
    assert refused(client.create_snapshot, name, models.CreateSnapshotRequest(body=snapshot))[0] == 400
    assert refused(client.get_snapshot, name, "none", models.GetSnapshotRequest())[:2] == (404, "SnapshotNotFound")
    assert not client.list_snapshots(models.ListSnapshotsRequest()).body.snapshots
    assert refused(client.list_snapshots, models.ListSnapshotsRequest(session_id="here"))[0] == 400
    assert client.delete_snapshot(name, "none", models.DeleteSnapshotRequest()).status_code == 204


def test_isolated_instance_serves_one_session_and_ends_with_it(site, tmp_path):
    """The instance goes when its session expires."""
    alone = {"instanceIsolationMode": "SESSION_EXCLUSIVE", "cpu": 2, "memorySize": 4096}
    name = site.function(config={"sessionIdleTimeoutInSeconds": 2}, custom=True, **alone)

    first, second = site.invoke(name, "a")[0]["instance"], site.invoke(name, "b")[0]["instance"]
    site.later(1)
    again = site.invoke(name, "a")[0]
    site.later(1)

    assert first != second
    assert (again["instance"], again["calls"]) == (first, 2)
    eventually(lambda: site.instances(name) == {first}, 30, lambda: "the second session's instance stays")


def test_isolated_requests_have_an_instance_each(site):
    """A concurrency that was given is ignored."""
    alone = {"instanceIsolationMode": "REQUEST_EXCLUSIVE", "cpu": 2, "memorySize": 4096}
    name = site.function(None, custom=True, instanceConcurrency=20, **alone)

    answers = [site.invoke(name)[0] for _ in range(2)]

    assert (site.shown(name).instance_concurrency, site.shown(name).instance_isolation_mode) == (1, "REQUEST_EXCLUSIVE")
    assert [each["calls"] for each in answers] == [1, 1]
    assert answers[0]["instance"] != answers[1]["instance"]
    eventually(lambda: not site.instances(name), 30, lambda: "an instance outlives its request")


def test_alias_decides_once_per_session(site):
    """Of an alias with two versions each session stays with one, while new ones are shared out."""
    models, client = site.models, site.client
    name = site.function()
    for _ in range(2):
        site.update(name, description=uuid.uuid4().hex)
        client.publish_function_version(name, models.PublishFunctionVersionRequest(body=models.PublishVersionInput()))
    alias = models.CreateAliasInput(alias_name="live", version_id="1", additional_version_weight={"2": 0.5})
    client.create_alias(name, models.CreateAliasRequest(body=alias))

    sessions = [f"s{number}" for number in range(20)]  # that all take one version happens once in half a million runs
    seen = [[site.invoke(name, each, qualifier="live")[0]["instance"] for _ in range(2)] for each in sessions]

    assert all(len(set(each)) == 1 for each in seen)
    listed = client.list_instances(name, models.ListInstancesRequest(with_all_active=True)).body.instances
    assert {each.version_id for each in listed} == {"1", "2"}
    assert len(site.sessions(name, qualifier="live").sessions) == 20
    assert refused(site.get, name, "s1")[0] == 404


def test_reserved_concurrency_bounds_the_instances_of_sessions(site):
    """A session that would need one more is refused, those that are there go on."""
    models, name = site.models, site.function()
    reserved = models.PutConcurrencyInput(reserved_concurrency=2)
    site.client.put_concurrency_config(name, models.PutConcurrencyConfigRequest(body=reserved))
    site.invoke(name, "a")
    site.invoke(name, "b")

    assert refused(site.invoke, name, "c")[:2] == (429, "ResourceExhausted")
    assert refused(site.create, name)[:2] == (429, "ResourceExhausted")
    assert site.invoke(name, "a")[0]["calls"] == 2
    assert {each.session_id for each in site.sessions(name).sessions} == {"a", "b"}


def test_session_keeps_its_instance_when_the_function_changes(site):
    """New sessions get the new one; deleting the function ends all."""
    name = site.function(environmentVariables={"OWN": "1"})
    before = site.invoke(name, "old")[0]["instance"]

    site.update(name, environmentVariables={"OWN": "2"})
    site.later(3600 // 4)
    old, new = site.invoke(name, "old")[0], site.invoke(name, "new")[0]

    assert (old["instance"], old["calls"]) == (before, 2)
    assert new["instance"] != before
    site.client.delete_function(name)
    assert refused(site.get, name, "old")[:2] == (404, "FunctionNotFound")


def test_asynchronous_calls_know_no_sessions(site):
    """A queued call with the header leaves none behind."""
    name = site.function()

    _, headers = _queued(site, name)
    site.localyun.settle()

    assert "my-session-id" not in headers
    assert not site.sessions(name).sessions


def _queued(site, name):
    from darabonba.runtime import RuntimeOptions

    fields = site.models.InvokeFunctionHeaders(x_fc_invocation_type="Async", common_headers={"my-session-id": "queued"})
    request = site.models.InvokeFunctionRequest(body=io.BytesIO(b"{}"))
    answer = site.client.invoke_function_with_options(name, request, fields, RuntimeOptions())
    return answer.body, answer.headers


def test_what_a_session_mounts_and_may_reach_is_kept_and_shown(site):
    """An update of the network changes the members that it names; this client names the rules always."""
    name = site.function()
    rule = [{"transform": {"headers": {"x-a": "1"}, "headerValueReplacements": []}}]
    network = {"allowOut": ["example.com"], "allowPublicTraffic": False, "rules": {"example.com": rule}}
    juice = {"mountPoints": [{"volumeName": "v", "mountDir": "/mnt/v"}]}

    made = site.create(name, sessionId="kept", network=network, juiceFsConfig=juice, allowInternetAccess=True)
    changed = site.change(name, "kept", network={"denyOut": ["10.0.0.0/8"]})

    assert made.network.to_map() == network
    assert made.juice_fs_config.mount_points[0].volume_name == "v"
    assert made.allow_internet_access
    assert changed.network.to_map() == {**network, "denyOut": ["10.0.0.0/8"], "rules": {}}


@pytest.mark.parametrize("missing", ["volumeName", "mountDir"])
def test_volume_of_juicefs_needs_a_name_and_a_folder(site, missing):
    """On a function, in a session and in a change of one."""
    name = site.function()
    site.create(name, sessionId="kept")
    mount = {"volumeName": "v", "mountDir": "/mnt/v"}
    del mount[missing]
    juice = {"mountPoints": [mount]}

    calls = [
        refused(site.update, name, juiceFsConfig=juice),
        refused(site.create, name, juiceFsConfig=juice),
        refused(site.change, name, "kept", juiceFsConfig=juice),
    ]

    text = f"juiceFsConfig.mountPoints[0].{missing} is required"
    assert [call[:2] for call in calls] == [(400, "InvalidArgument")] * 3
    assert all(text in message for _, _, message in calls)


def test_stream_that_runs_out_of_time_does_not_end_the_others(site):
    """It breaks off at the function's time-out; the other session's instance goes on."""
    name = site.function(custom=True, timeout=1)
    ask = site.web(name)
    first = site.invoke(name, "stays")[0]

    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        ask("GET", "/stream", my_session_id="streams")

    assert site.get(name, "streams").container_id == first["instance"]
    again = site.invoke(name, "stays")[0]
    assert (again["instance"], again["calls"]) == (first["instance"], 2)


def test_session_takes_an_instance_that_is_kept_ready(site):
    """One that comes later gets another."""
    models, name = site.models, site.function()
    wanted = models.PutProvisionConfigInput(default_target=1)
    site.client.publish_function_version(name, models.PublishFunctionVersionRequest(body=models.PublishVersionInput()))
    site.client.put_provision_config(name, models.PutProvisionConfigRequest(body=wanted, qualifier="1"))
    asked = models.GetProvisionConfigRequest(qualifier="1")
    eventually(lambda: site.client.get_provision_config(name, asked).body.current == 1, 30, lambda: "nothing is ready")
    (ready,) = site.instances(name)

    def takes_it():  # it counts as ready while it is still being prepared
        return site.create(name, qualifier="1").container_id == ready

    eventually(takes_it, 30, lambda: "no session takes the instance that is kept ready")
    assert site.invoke(name, "other", qualifier="1")[0]["instance"] != ready
    site.client.delete_provision_config(name, models.DeleteProvisionConfigRequest(qualifier="1"))


def test_deployed_and_exported_functions_keep_their_affinity(site, tmp_path):
    """A file of Serverless Devs in; the same, a stack's template and Terraform out; the template in again."""
    name, config = f"s{uuid.uuid4().hex[:12]}", '{"affinityHeaderFieldName": "x-words-session"}'
    members = {"sessionAffinity": "HEADER_FIELD", "instanceIsolationMode": "SESSION_EXCLUSIVE"}
    props = {
        "region": "cn-hangzhou", "functionName": name, "runtime": "custom.debian12", "code": "./code", "cpu": 2,
        "memorySize": 4096, "sessionAffinityConfig": config, **members,
    }  # fmt: skip
    file = {"edition": "3.0.0", "name": "words", "resources": {"words": {"component": "fc3", "props": props}}}
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "bootstrap").write_text(PROGRAM)
    (tmp_path / "s.yaml").write_text(json.dumps(file))

    site.localyun.deploy(tmp_path / "s.yaml")
    for form in ("s.yaml", "template.yml", "terraform"):
        site.localyun.command("export", "--format", form, "--output", str(tmp_path / "out" / form))

    first = site.shown(name)
    site.client.delete_function(name)
    site.localyun.deploy(tmp_path / "out" / "template.yml" / "template.yml")
    again = site.shown(name)

    for shown in (first, again):
        assert (shown.session_affinity, json.loads(shown.session_affinity_config)) == (
            "HEADER_FIELD",
            json.loads(config),
        )
        assert (shown.instance_isolation_mode, shown.instance_concurrency) == ("SESSION_EXCLUSIVE", 200)
    assert first.session_affinity_config == config
    for path in ("s.yaml/s.yaml", "template.yml/template.yml", "terraform/main.tf"):
        text = (tmp_path / "out" / path).read_text()
        assert all(word in text for word in ("HEADER_FIELD", "SESSION_EXCLUSIVE", "x-words-session")), path
    site.client.delete_function(name)


def test_checkpoint_carries_sessions(site):
    """What is restored is the row; its next call is bound anew."""
    name = site.function()
    first = site.invoke(name, "kept")[0]["instance"]
    checkpoint = site.localyun.checkpoint("sessions")
    site.delete(name, "kept")

    checkpoint.restore()

    assert site.get(name, "kept").container_id == ""
    again = site.invoke(name, "kept")[0]
    assert (again["calls"], again["instance"] != first) == (1, True)
    assert site.get(name, "kept").container_id == again["instance"]


def test_skip_knows_when_sessions_end(site):
    """The end of a session is among what comes next."""
    name = site.function(config={"sessionIdleTimeoutInSeconds": 7})
    site.invoke(name, "ending")

    assert any(name in str(event) and "session" in str(event) for event in site.localyun.clock.upcoming)


def test_time_is_moved_to_the_end_of_a_session(site):
    """The next event of the clock is its end, and what is idle does not wait for it."""
    name = site.function(config={"sessionIdleTimeoutInSeconds": 9})
    site.invoke(name, "ending")
    site.localyun.settle()
    assert site.get(name, "ending").session_status == "Active"

    for _ in range(200):  # sessions of other tests may end first
        if not site.sessions(name, session_status="Active").sessions:
            break
        site.localyun.clock.next()

    assert [each.session_status for each in site.sessions(name).sessions] == ["Expired"]


def test_faults_reach_calls_of_sessions_and_operations_on_them(site):
    """A function that crashes loses its instance and not its session; a refused operation leaves none behind."""
    name, faults = site.function(), site.localyun.faults
    first = site.invoke(name, "broken")[0]

    faults.add(service="fc", resource=name, function="crash", times=1)
    _, headers = site.invoke_raw(name, "broken")
    again = site.invoke(name, "broken")[0]
    faults.add(service="fc", operation="CreateSession", error="SessionAlreadyExists", times=1)
    refusal = refused(site.create, name, sessionId="never")[:2]

    assert headers["x-fc-error-type"] == "UnhandledInvocationError"
    assert (again["calls"], again["instance"] != first["instance"]) == (1, True)
    assert refusal == (409, "SessionAlreadyExists")
    assert [each.session_id for each in site.sessions(name).sessions] == ["broken"]
    faults.remove()


def test_sessions_are_listed_by_the_command(site):
    """Of one function or of all: id, kind, state and the instance it is bound to; a function has to exist."""
    name = site.function()
    instance = site.invoke(name, "listed")[0]["instance"]

    one, every = (site.localyun.command("function", "sessions", *which) for which in ([name], []))

    assert all(word in one for word in ("listed", "HEADER_FIELD", instance))
    assert "listed" in every
    site.delete(name, "listed")
    assert "listed" not in site.localyun.command("function", "sessions", name)
    with pytest.raises(TestingError, match="FunctionNotFound"):
        site.localyun.command("function", "sessions", "NOPE")


def test_mocked_function_begins_no_session(site):
    """A mock answers in its place."""
    name = site.function()
    mock = site.localyun.mock(name, returns={"instance": "none", "calls": 0})
    answer, headers = site.invoke(name)
    mock.remove()

    assert answer["calls"] == 0
    assert "my-session-id" not in headers
    assert not site.sessions(name).sessions


SCRIPT = f"""#!/bin/sh
'''exec' "{sys.executable}" "$0" "$@"
' '''"""
"""The first lines of a Python program that is a command, wherever the interpreter is: its path may have spaces."""

DOCKER = f"""{SCRIPT}
import json, os, sys
arguments = sys.argv[1:]
with open(os.environ["DOCKER_RECORD"], "a") as record:
    print(json.dumps(arguments), file=record)
if arguments[0] == "version":
    print("27.0")
if arguments[0] == "run":
    os.environ["FC_SERVER_PORT"] = arguments[arguments.index("--publish") + 1].split(":")[1]
    os.execv("/bin/sh", ["/bin/sh", os.environ["DOCKER_PROGRAM"]])
"""
"""The docker command from outside: what it runs is the program of a custom runtime, on this machine."""


@pytest.mark.skipif(sys.platform == "win32", reason="the docker command of this test is a script")
def test_paused_container_is_gone_and_comes_back_as_another(tmp_path):
    """Paused it is shown, refuses calls and has no container; resumed it has a new one and the id that it had."""
    docker, program, record = tmp_path / "docker", tmp_path / "program", tmp_path / "record"
    docker.write_text(DOCKER, encoding="utf-8")
    docker.chmod(0o755)
    program.write_text(PROGRAM, encoding="utf-8")
    config = tmp_path / "localyun.yaml"
    config.write_text(json.dumps({"runtimes": {"custom-container": str(docker)}}), encoding="utf-8")
    environment = {"DOCKER_RECORD": str(record), "DOCKER_PROGRAM": str(program)}

    def removed():
        commands = map(json.loads, record.read_text(encoding="utf-8").splitlines())
        return [command[-1] for command in commands if command[0] == "rm"]

    with Emulator(config=config, environment=environment) as localyun:
        localyun.clock.freeze()
        site, models = Site(localyun), Site(localyun).models
        name = site.function(
            custom=True, runtime="custom-container", customContainerConfig={"image": "example/image", "port": 9000},
            instanceIsolationMode="SESSION_EXCLUSIVE", cpu=2, memorySize=4096,
        )  # fmt: skip
        made = site.create(name, sessionId="mine", sessionTTLInSeconds=100, sessionIdleTimeoutInSeconds=100)
        assert site.invoke(name, "mine")[0] == {"instance": made.container_id, "calls": 1, "header": "mine"}

        paused = site.client.pause_session(name, "mine", models.PauseSessionRequest(file_system_only="true")).body
        assert (paused.session_status, site.get(name, "mine").session_status) == ("Paused", "Paused")
        eventually(lambda: not site.instances(name), 20, lambda: f"{site.instances(name)} are still there")
        eventually(lambda: removed() == [f"localyun-{made.container_id}"], 20, lambda: f"removed: {removed()}")
        assert refused(site.invoke, name, "mine")[:2] == (409, "SessionNotActive")
        assert refused(site.change, name, "mine", sessionTTLInSeconds=200)[0] == 409

        resumed = site.client.resume_session(name, "mine", models.ResumeSessionRequest()).body
        assert (resumed.session_status, resumed.session_id) == ("Active", "mine")
        assert resumed.container_id not in {"", made.container_id}
        assert site.instances(name) == {resumed.container_id}
        assert site.invoke(name, "mine")[0] == {"instance": resumed.container_id, "calls": 1, "header": "mine"}
        site.later(101)
        assert refused(site.get, name, "mine")[0] == 404


def test_many_sessions_need_no_more_than_their_instances(site):
    """Two hundred fit into one instance of a custom runtime, so one more needs a second and no other process."""
    name = site.function(config={"sessionConcurrencyPerInstance": 200}, custom=True)

    for number in range(200):
        site.create(name, sessionId=f"s{number}")
    alone = site.instances(name)
    site.create(name, sessionId="one-more")

    assert (len(alone), len(site.instances(name))) == (1, 2)


def test_restart_keeps_sessions_and_the_refusal_of_their_ids(tmp_path):
    """Check 18: also when the emulator is killed; what lives is bound anew, what has expired stays refused."""
    emulator = Emulator(state=tmp_path / "state").start()
    try:
        site = Site(emulator.localyun)
        once = site.function(config={"sessionIdleTimeoutInSeconds": 2, "disableSessionIdReuse": True})
        name = site.function()
        site.invoke(once, "used")
        site.invoke(name, "stays")
        site.later(60)
        assert refused(site.invoke, once, "used")[:2] == (400, "InvalidArgument")
        emulator._process.kill()
        emulator.stop()
        emulator.start()
        site = Site(emulator.localyun)

        assert refused(site.invoke, once, "used")[:2] == (400, "InvalidArgument")
        assert site.get(name, "stays").session_status == "Active"
        assert site.invoke(name, "stays")[0]["calls"] == 1
        site.later(3 * 86400 + 1)
        assert site.invoke(once, "used")[0]["calls"] == 1
        assert not [each for each in site.sessions(once).sessions if each.session_status == "Expired"]
    finally:
        emulator.stop()
