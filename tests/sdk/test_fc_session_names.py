"""What names a session: ids and header names at their limits, wrong types, and what the function sees of them."""

import json
import string
import sys

import pytest

from emulator.testing import Emulator
from tests.sdk.test_fc_sessions import COOKIE, Site, refused, zipped

pytest.importorskip("alibabacloud_fc20230330")
pytestmark = pytest.mark.sdk

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
LONGEST = (string.ascii_letters + string.digits + "_-")[:64]
SHOWS_HEADERS = """
import json
def handler(event, context):
    seen = json.loads(event)["headers"]
    return {"seen": [value for name, value in seen.items() if name.lower() == "my-session-id"]}
"""
PROGRAM = """#!/bin/sh
'''exec' "PYTHON" "$0" "$@"
' '''
import json, os
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def log_message(self, *parts):
        pass
    def do_GET(self):
        content = json.dumps({"seen": self.headers.get_all("my-session-id")}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
HTTPServer(("127.0.0.1", int(os.environ["FC_SERVER_PORT"])), Handler).serve_forever()
""".replace("PYTHON", sys.executable)


@pytest.fixture(scope="module")
def site():
    with Emulator() as localyun:
        localyun.clock.freeze()
        yield Site(localyun)


@pytest.fixture(scope="module")
def plain(site):
    """A function by header that tests of ids share."""
    return site.function()


@pytest.mark.parametrize("session", ["a", "_", "9-", LONGEST, "0b53e2a4-7d0c-4a4e-9d3f-1f0d7a8a3c11"])
def test_id_of_any_allowed_form_names_a_session(site, plain, session):
    """Up to 64 letters, digits, '_' and '-', whether a call begins it or an operation."""
    first = site.invoke(plain, session)[0]

    assert site.get(plain, session).container_id == first["instance"]
    assert site.invoke(plain, session)[0]["calls"] == first["calls"] + 1
    site.delete(plain, session)
    assert site.create(plain, sessionId=session).session_id == session
    site.delete(plain, session)


@pytest.mark.parametrize("session", ["-a", LONGEST + "x", "a b", "a/b", "a.b", "a=b", "a:b", "%41", JWT])
def test_other_ids_are_refused_before_the_function_is_called(site, plain, session):
    """By the API, by an HTTP trigger and by CreateSession, in the service's form; no session is there afterwards."""
    ask = site.web(name := site.function())

    by_call, by_operation = refused(site.invoke, plain, session), refused(site.create, plain, sessionId=session)
    status, fields, body = ask("GET", my_session_id=session)

    assert by_call[:2] == by_operation[:2] == (400, "InvalidArgument")
    assert "my-session-id" in by_call[2]
    assert "sessionId" in by_operation[2]
    assert (status, fields["Content-Type"], json.loads(body)["Code"]) == (400, "application/json", "InvalidArgument")
    assert not site.sessions(name).sessions
    assert refused(site.get, plain, session)[:2] == (404, "SessionNotFound")


def test_cookie_that_is_no_session_id_counts_as_none(site):
    """A token under the cookie's name begins a session of a generated id, which the answer sets."""
    ask = site.web(name := site.function("GENERATED_COOKIE"))

    status, fields, _ = ask("GET", Cookie=f"{COOKIE}={JWT}")
    (session,) = site.sessions(name).sessions

    assert status == 200
    assert fields["Set-Cookie"] == f"{COOKIE}={session.session_id}; Max-Age=21600"
    assert len(session.session_id) == 36


@pytest.mark.parametrize("name", ["abcde", "A" * 40, "Z9_-z"])
def test_name_of_a_header_at_its_limits_is_taken(site, name):
    """5 to 40 characters, a letter first; calls use it in any case of letters."""
    function = site.function(config={"affinityHeaderFieldName": name})

    site.invoke(function, **{name.upper(): "mine"})

    assert json.loads(site.shown(function).session_affinity_config) == {"affinityHeaderFieldName": name.lower()}
    assert site.get(function, "mine").session_status == "Active"


@pytest.mark.parametrize(
    "name",
    ["abcd", "a" * 41, "1abcd", "-abcd", "ab cd", "ab:cd", "abcd\n", "äbcde", "X-Fc-Mine", "", 5, True, [], {"a": "b"}],
    ids=repr,
)
def test_name_of_a_header_beyond_them_is_refused(site, plain, name):
    """On creation and on update, which leaves the function as it was."""
    config = {"affinityHeaderFieldName": name}

    made = refused(site.function, config=config)
    updated = refused(site.update, plain, sessionAffinityConfig=json.dumps(config))

    assert made[:2] == updated[:2] == (400, "InvalidArgument")
    assert "affinityHeaderFieldName" in made[2]
    assert json.loads(site.shown(plain).session_affinity_config) == {"affinityHeaderFieldName": "my-session-id"}


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '"a"', "5", "null", '{"affinityHeaderFieldName": "my-session-id", "sessionTTLInSeconds": "5"}',
     '{"affinityHeaderFieldName": "my-session-id", "sessionTTLInSeconds": true}',
     '{"affinityHeaderFieldName": "my-session-id", "sessionIdleTimeoutInSeconds": 1.5}',
     '{"affinityHeaderFieldName": "my-session-id", "sessionConcurrencyPerInstance": 1e40}',
     '{"affinityHeaderFieldName": "my-session-id", "disableSessionIdReuse": "yes"}'],
)  # fmt: skip
def test_configuration_of_another_type_is_refused(site, plain, text):
    """Text that holds no JSON object, and members that are no whole numbers or flags."""
    assert refused(site.update, plain, sessionAffinityConfig=text)[:2] == (400, "InvalidArgument")


@pytest.mark.parametrize(
    "body",
    [{"sessionId": 0}, {"sessionId": False}, {"sessionId": []}, {"sessionId": {}}, {"sessionId": 5}, {"snapshotId": 0},
     {"snapshotId": ["a"]}, {"sessionTTLInSeconds": "5"}, {"sessionTTLInSeconds": 0}, {"sessionTTLInSeconds": 21601},
     {"sessionTTLInSeconds": 1.5}, {"sessionIdleTimeoutInSeconds": -1}, {"disableSessionIdReuse": "x"},
     {"enableAutoPause": 1}, {"network": []}, {"network": {"allowOut": "a"}}, {"network": {"rules": []}},
     {"nasConfig": 5}, {"sessionTTLInSeconds": 10, "sessionIdleTimeoutInSeconds": 11}],
    ids=json.dumps,
)  # fmt: skip
def test_session_is_not_made_of_members_of_another_type(site, body):
    """Every value that is none is refused, an empty one too; nothing is left behind."""
    name = site.function()

    assert signed(site, f"/2023-03-30/functions/{name}/sessions", body)[:2] == (400, "InvalidArgument")
    assert not site.sessions(name).sessions


@pytest.mark.parametrize(
    "body",
    [{}, {"sessionId": None}, {"sessionId": 0}, {"sessionId": ""}, {"sessionId": "a", "description": 5}],
    ids=json.dumps,
)
def test_snapshot_is_not_made_of_members_of_another_type(site, plain, body):
    """Its session has to be named."""
    assert signed(site, f"/2023-03-30/functions/{plain}/snapshots", body)[:2] == (400, "InvalidArgument")


def signed(site, path, body):
    """Return status, code and text of the refusal of a body that the client's models cannot hold."""
    from alibabacloud_tea_openapi import models
    from darabonba.runtime import RuntimeOptions

    asked = models.Params(
        action="Any", version="2023-03-30", protocol="HTTP", method="POST", auth_type="AK", style="FC", pathname=path,
        req_body_type="json", body_type="json",
    )  # fmt: skip
    return refused(site.client.call_api, asked, models.OpenApiRequest(body=body), RuntimeOptions())


@pytest.mark.parametrize("fields", [{}, {"my_session_id": ""}], ids=["none", "empty"])
@pytest.mark.parametrize("custom", [True, False])
def test_function_sees_the_header_of_the_session_that_its_call_begins(site, custom, fields):
    """In the event of a built-in runtime and in the request of a custom one, once, as the answer has it."""
    code = ("bootstrap", PROGRAM) if custom else ("index.py", SHOWS_HEADERS)
    ask = site.web(name := site.function(custom=custom, code={"zipFile": zipped(*code)}))

    status, answered, body = ask("GET", **fields)
    (session,) = site.sessions(name).sessions

    assert (status, answered.get_all("my-session-id")) == (200, [session.session_id])
    assert json.loads(body) == {"seen": [session.session_id]}
