"""Sessions of functions that have more than one form: versions behind an alias, and a head that changes its runtime."""

import json

import pytest

from emulator.testing import Emulator
from tests.sdk.test_fc_sessions import PROGRAM, Site, refused, zipped

pytest.importorskip("alibabacloud_fc20230330")
pytestmark = pytest.mark.sdk

EVENTS = """
import json, os
def handler(event, context):
    asked = json.loads(event)
    answer = {"instance": os.environ["FC_INSTANCE_ID"], "event": True}
    return {"statusCode": 200, "body": json.dumps(answer)} if "rawPath" in asked else answer
"""
AS_EVENTS = {"runtime": "python3.12", "handler": "index.handler", "code": {"zipFile": zipped("index.py", EVENTS)}}


@pytest.fixture(scope="module")
def site():
    with Emulator() as localyun:
        localyun.clock.freeze()
        yield Site(localyun)


def published(site, name):
    body = site.models.PublishVersionInput()
    made = site.client.publish_function_version(name, site.models.PublishFunctionVersionRequest(body=body))
    return made.body.version_id


def point(site, name, version, weights=None, *, new=True):
    """Make the alias ``live``, or move it."""
    models = site.models
    if new:
        made = models.CreateAliasInput(alias_name="live", version_id=version, additional_version_weight=weights)
        site.client.create_alias(name, models.CreateAliasRequest(body=made))
    else:
        moved = models.UpdateAliasInput(version_id=version, additional_version_weight=weights)
        site.client.update_alias(name, "live", models.UpdateAliasRequest(body=moved))


def behind_the_alias(site, name):
    """Give the alias an HTTP trigger and return what asks it: status, instance, and whether that was asked by event.

    What an HTTP server answers has its cookie; the program would answer an event too, and without one.
    """
    trigger = site.models.CreateTriggerInput(
        trigger_name="live", trigger_type="http", qualifier="live",
        trigger_config=json.dumps({"authType": "anonymous", "methods": ["GET", "POST"]}),
    )  # fmt: skip
    site.client.create_trigger(name, site.models.CreateTriggerRequest(body=trigger))
    ask = site.asker(f"{name}.live")

    def told(session, method="GET"):
        status, fields, body = ask(method, "/below", "{}" if method == "POST" else None, my_session_id=session)
        answer = json.loads(body)
        assert answer.get("event", False) is (fields["Set-Cookie"] != "own=1")
        return status, answer["instance"], answer.get("event", False)

    return told


@pytest.fixture
def mixed(site):
    """A function whose version 1 serves HTTP and whose version 2 takes events."""
    name = site.function(custom=True)
    published(site, name)
    site.update(name, instanceConcurrency=1, **AS_EVENTS)
    published(site, name)
    return name


def test_alias_over_two_runtimes_decides_once_per_session(site, mixed):
    """Each call of a session is made in the form of the runtime that the session began with, through either way in."""
    point(site, mixed, "1", {"2": 0.5})
    told = behind_the_alias(site, mixed)

    seen = {f"s{number}": [told(f"s{number}", method) for method in ("GET", "POST") * 3] for number in range(16)}

    assert all(len(set(each)) == 1 and each[0][0] == 200 for each in seen.values()), seen
    assert {each[0][2] for each in seen.values()} == {True, False}
    versions = {each.session_id: each.container_id for each in site.sessions(mixed, qualifier="live").sessions}
    assert versions == {session: each[0][1] for session, each in seen.items()}
    by_events = next(session for session, each in seen.items() if each[0][2])
    by_http = next(session for session, each in seen.items() if not each[0][2])
    for session in (by_events, by_http):
        where = {site.invoke(mixed, session, qualifier="live")[0]["instance"] for _ in range(6)}
        assert where == {versions[session]}


def test_session_stays_with_its_version_when_the_alias_moves(site, mixed):
    """New ones get what it points to now; a version that only the alias's sessions know is looked up for them."""
    point(site, mixed, "1")
    told = behind_the_alias(site, mixed)
    before = told("old")

    point(site, mixed, "2", new=False)

    assert told("old") == before == (200, before[1], False)
    assert told("new")[2] is True


def test_session_keeps_its_version_beside_one_without_affinity(site):
    """A call that is drawn for the other version goes to the session's all the same."""
    name = site.function(custom=True)
    published(site, name)
    site.update(name, sessionAffinity="NONE")
    published(site, name)
    point(site, name, "1", {"2": 0.9})
    made = site.client.create_session(
        name, site.models.CreateSessionRequest(qualifier="1", body=site.models.CreateSessionInput(session_id="other"))
    )
    begun = None
    for _ in range(200):  # nine of ten calls begin none
        site.invoke(name, "mine", qualifier="live")
        if found := site.sessions(name, qualifier="live").sessions:
            begun = found[0]
            break

    where = {site.invoke(name, "mine", qualifier="live")[0]["instance"] for _ in range(10)}

    assert begun is not None
    assert where == {begun.container_id}
    assert refused(site.get, name, "other", "live")[0] == 404
    assert made.body.qualifier == "1"


def test_session_outlives_a_change_of_the_runtime(site):
    """Its instance goes on with the program it was started with; a new session gets the new code."""
    name = site.function(custom=True, code={"zipFile": zipped("bootstrap", PROGRAM)})
    ask = site.web(name)
    first = json.loads(ask("POST", "/below", "{}", my_session_id="old")[2])

    site.update(name, instanceConcurrency=1, **AS_EVENTS)
    _, fields, body = ask("POST", "/below", "{}", my_session_id="old")
    old, new = json.loads(body), json.loads(ask("POST", "/below", "{}", my_session_id="new")[2])

    assert (old["instance"], old["calls"], fields["Set-Cookie"]) == (first["instance"], 2, "own=1")
    assert new["event"] is True
