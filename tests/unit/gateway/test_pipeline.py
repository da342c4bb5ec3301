"""The pipeline: refusals in the right form, answers after the commit, failures told to nobody but the log."""

import asyncio
import concurrent.futures
import gc
import json
import weakref
from contextlib import ExitStack

import pytest

from emulator.auth.authenticator import Authenticator, Keyring, NonceMemory
from emulator.auth.signed_request import AccessKey
from emulator.gateway.entrance import LARGE_BODY, Entrance
from emulator.gateway.hosts import HostPolicy
from emulator.gateway.other_products import OrchestrationFront, UnknownVersionFront
from emulator.gateway.pipeline import Pipeline
from emulator.http.answer import Transaction
from emulator.http.message import Headers, Request
from emulator.kernel.clock import VirtualClock
from emulator.kernel.ids import CountingIds
from emulator.storage.database import Database
from emulator.wire.operation import Actions, Operation
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import PopError, RpcFront

KEY = AccessKey(
    key_id="test-key", secret="test-secret", account="1234567890123456", arn="acs:ram::1234567890123456:root"
)


def actions(operations):
    return Actions(Operation(name, perform) for name, perform in operations.items())


def pipeline_with(operations, *, lenient=True):
    ids, clock, database = CountingIds(), VirtualClock(), Database(None)
    fronts = {
        "fnf": RpcFront("fnf", "2019-03-15", actions(operations), None, ids),
        "rpc": UnknownVersionFront(ids),
        "ros": OrchestrationFront(ids),
    }
    loaded = concurrent.futures.Future()
    loaded.set_result(None)
    pipeline = Pipeline(
        Entrance(
            fronts=fronts,
            loaded=loaded,
            authenticator=Authenticator(Keyring(KEY), lenient=lenient, nonces=NonceMemory()),
            policy=HostPolicy({"container"}),
            clock=clock,
            account=KEY.account,
            region="cn-hangzhou",
        ),
        database=database,
        clock=clock,
        ids=ids,
    )
    return pipeline, database


SIGNED = (
    "&AccessKeyId=test-key&Signature=x&SignatureMethod=HMAC-SHA1&SignatureVersion=1.0&SignatureNonce=n"
    "&Timestamp=2023-11-14T22%3A13%3A20Z&Format=JSON"
)


async def call(pipeline, target, method="GET", body=b"", **headers):
    """Serve one request and return (status, decoded JSON)."""
    answers = []
    pairs = [("Host", headers.pop("host", "127.0.0.1")), *list(headers.items())]
    future = pipeline.serve(Request(method, target, Headers(pairs), body), answers.append)
    if future is not None:
        await asyncio.wait([future])
    for _ in range(3):
        await asyncio.sleep(0)
    assert len(answers) == 1
    return answers[0].status, json.loads(answers[0].body)


async def test_own_pages_at_an_allowed_name_are_refused_with_the_names_they_are_served_at():
    """A container beside the emulator's may call its services, and learns where the admin API is."""
    pipeline, _ = pipeline_with({})

    status, reply = await call(pipeline, "/_localyun/health", host="container:8868")
    elsewhere = await call(pipeline, "/health", host="container:8868")

    assert (status, reply["Code"]) == (404, "NotFound")
    assert reply["Message"].startswith("/_localyun/health is served at the names of the loopback address only")
    assert reply["Message"].endswith("not at 'container'.")
    assert elsewhere[1]["Message"].startswith("No service is named by this request: GET /health.")


async def test_an_operation_gets_its_parameters_and_a_request_id_is_added():
    """Query and form are merged; system parameters stay out."""
    pipeline, _ = pipeline_with({"Echo": lambda service, call: {"Given": call.parameters}})

    status, reply = await call(pipeline, f"/?Action=Echo&Version=2019-03-15&Name=a%20b{SIGNED}")

    assert status == 200
    assert reply["Given"] == {"Name": "a b"}
    assert reply["RequestId"].startswith("00000000-0000-4000")


@pytest.mark.parametrize("pair", ["Name=%ff", "%ff=x", "Name=%ED%A0%80", "Name=\udcff"])
async def test_parameters_that_are_no_text_are_refused(pair):
    """Bytes that are no UTF-8 cannot be looked up or kept by any operation."""
    pipeline, _ = pipeline_with({"Echo": lambda service, call: {"Given": call.parameters}})

    status, reply = await call(pipeline, f"/?Action=Echo&Version=2019-03-15&Other=%C3%A9&{pair}{SIGNED}")

    assert (status, reply["Code"]) == (400, "InvalidParameter")


async def test_the_answer_leaves_only_after_the_commit():
    """Acknowledged means durable."""
    order = []

    def write(service, call):
        database.write("CREATE TABLE made (n)")
        database.after_commit(lambda error: order.append("committed"))
        return {}

    pipeline, database = pipeline_with({"Write": write})

    request = Request("GET", f"/?Action=Write&Version=2019-03-15{SIGNED}", Headers([("Host", "127.0.0.1")]))
    pipeline.serve(request, lambda response: order.append(response.status))
    order.append("returned")
    await database.committed()

    assert order == ["returned", "committed", 200]


class Watched(Request):
    """A request that can be referred to weakly."""


async def test_a_large_body_is_free_once_its_request_has_been_answered():
    """No cycle keeps it until the next garbage collection, which may be minutes away."""
    pipeline, _ = pipeline_with({"Echo": lambda service, call: {}})
    gc.collect()
    gc.disable()

    try:
        headers = Headers([("Host", "127.0.0.1")])
        request = Watched("POST", f"/?Action=Echo&Version=2019-03-15{SIGNED}", headers)
        watched = weakref.ref(request)
        request.admitted = (
            RpcFront("fnf", "2019-03-15", actions({}), None, CountingIds()),
            OperationRequest(request, 0),
        )
        request.body = bytes(1 << 24)
        future = pipeline.serve(request, lambda response: None)
        del request
        if future is not None:
            await asyncio.wait([future])
            del future
        for _ in range(3):
            await asyncio.sleep(0)

        assert watched() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("way", ["admitted by its head", "made ready in a thread", "after files that were edited"])
async def test_a_call_waits_again_for_a_door_that_has_been_closed_meanwhile(way):
    """All stands still then: it is performed afterwards, at the time that it is by then."""
    seen = []
    pipeline, _ = pipeline_with({"Echo": lambda service, call: seen.append(call.now) or {}})
    entrance, answers = pipeline._entrance, []
    request = Request("POST", f"/?Action=Echo&Version=2019-03-15{SIGNED}", Headers([("Host", "127.0.0.1")]), b"")
    edits, made_ready = asyncio.get_running_loop().create_future(), asyncio.Event()
    pipeline._open.watchers.add(made_ready.set)
    with ExitStack() as closed:
        if way == "admitted by its head":
            request.admitted = (entrance.fronts["fnf"], OperationRequest(request, 0))
            closed.enter_context(entrance.closed())
            serving = pipeline.serve(request, answers.append)
        else:
            if way == "made ready in a thread":
                request.body = bytes(LARGE_BODY + 1)
            else:
                entrance.edits = lambda _: edits
            serving = pipeline.serve(request, answers.append)
            closed.enter_context(entrance.closed())
            edits.set_result(None)
            await made_ready.wait()
        for _ in range(10):
            await asyncio.sleep(0)
        assert seen == []
        pipeline._clock.move_to(pipeline._clock.now() + 5000)

    await asyncio.wait([serving])
    assert seen == [pipeline._clock.now()]
    assert [answer.status for answer in answers] == [200]


class Wire:
    """A connection's side of an exchange that keeps what it is told."""

    def __init__(self):
        self.answers = []
        self.failures = 0

    def answer(self, exchange, response):
        self.answers.append(response.status)

    def fail(self, exchange):
        self.failures += 1

    def drop(self, response):
        raise AssertionError(response)


async def test_a_refusal_that_waits_for_a_commit_is_the_only_answer():
    """Somebody else's write is not on disk yet when an operation that had to wait is refused."""

    async def later():
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_soon(database.write, "CREATE TABLE made (n)")  # before anybody hears of this
        raise PopError("InvalidVersion")

    pipeline, database = pipeline_with({"Refuse": lambda service, call: later()})
    wire = Wire()

    exchange = Transaction(wire, method="GET")
    request = Request("GET", f"/?Action=Refuse&Version=2019-03-15{SIGNED}", Headers([("Host", "127.0.0.1")]))
    call = pipeline.serve(request, exchange.respond)
    exchange.attend(call)
    await asyncio.wait([call])
    await asyncio.sleep(0)
    await database.committed()

    assert (wire.answers, wire.failures) == ([404], 0)


async def test_a_request_whose_client_went_away_is_logged_like_any_other(caplog):
    """Whoever reads the access log finds the same members in each line."""
    waiting = asyncio.get_running_loop().create_future()
    pipeline, _ = pipeline_with({"Wait": lambda service, call: waiting})
    caplog.set_level("INFO", logger="emulator.access")
    target = f"/?Action=Wait&Version=2019-03-15{SIGNED}"
    answer = pipeline.serve(Request("GET", target, Headers([("Host", "127.0.0.1")])), lambda response: None)
    await asyncio.sleep(0)

    answer.cancel()
    await asyncio.wait([answer])

    (line,) = [record.args for record in caplog.records if record.name == "emulator.access"]
    assert answer.cancelled()
    assert (line["service"], line["operation"], line["status"]) == ("fnf", "Wait", 499)
    assert line["request"]


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("/?Action=Wait&Version=2019-03-15", "127.0.0.1 Wait"),
        ("/?Action=Wa%0Ait&Version=2019-03-15", r"127.0.0.1 Wa\nit"),
        ("/a%0Apath?x=secret", "GET /a%0Apath"),
    ],
)
async def test_refused_call_is_logged_with_what_it_asked_for(caplog, target, told):
    """Host and action of an RPC call, method and path of another; no query, and no second line."""
    pipeline, _ = pipeline_with({"Wait": lambda service, call: {}})
    caplog.set_level("INFO", logger="emulator.access")

    status, _ = await call(pipeline, target)

    (line,) = [record.args for record in caplog.records if record.name == "emulator.access"]
    assert status >= 400
    assert line["operation"] == told


@pytest.mark.parametrize("awaited", [False, True], ids=["inline", "awaited"])
async def test_a_bug_of_ours_is_logged_whole_and_told_as_internal_error(awaited, caplog):
    """The caller learns nothing of the inside."""

    async def later():
        raise RuntimeError("secret detail")

    def now(service, call):
        if awaited:
            return later()
        raise RuntimeError("secret detail")

    pipeline, _ = pipeline_with({"Break": now})

    status, reply = await call(pipeline, f"/?Action=Break&Version=2019-03-15{SIGNED}")

    assert status == 500
    assert reply["Code"] == "InternalServerError"
    assert "secret detail" not in json.dumps(reply)
    assert "secret detail" in caplog.text


@pytest.mark.parametrize(
    ("target", "headers", "status", "code"),
    [
        ("/_localyun/health", {"host": "evil.com"}, 403, "ForbiddenHost"),
        ("/anything", {"Origin": "http://evil.com"}, 403, "ForbiddenOrigin"),
        (f"/?Action=Echo&Version=2019-03-15{SIGNED}", {"Origin": "http://127.0.0.1"}, 403, "ForbiddenOrigin"),
        ("/favicon.ico", {}, 404, "NotFound"),
        (f"/?Action=Nothing&Version=2019-03-15{SIGNED}", {}, 404, "InvalidAction.NotFound"),
        (f"/?Action=Nothing&Version=1999-01-01{SIGNED}", {}, 404, "InvalidVersion"),
        (f"/?Action=ListStacks&Version=2019-09-10{SIGNED}", {}, 404, "InvalidAction.NotFound"),
        (f"/?Version=2019-03-15{SIGNED}", {}, 400, "MissingAction"),
        (f"/?{SIGNED[1:]}", {}, 400, "MissingAction"),
        (f"/?Action=Echo{SIGNED}", {}, 400, "MissingParameter"),
    ],
)
async def test_refusals_come_in_the_form_the_caller_reads(target, headers, status, code):
    """Every path ends in a JSON answer with a code."""
    pipeline, _ = pipeline_with({"Echo": lambda service, call: {}})

    answer = await call(pipeline, target, **headers)

    assert answer[0] == status
    assert answer[1]["Code"] == code
    assert answer[1]["RequestId"]


async def test_an_unsigned_call_is_refused_with_the_gateways_code():
    """No key, no service."""
    pipeline, _ = pipeline_with({"Echo": lambda service, call: {}}, lenient=False)

    status, reply = await call(pipeline, "/?Action=Echo&Version=2019-03-15")

    assert status == 400
    assert reply["Code"] == "MissingAccessKeyId"


@pytest.mark.parametrize("asked", ["&Format=XML", "&Format=xml", ""], ids=["XML", "xml", "no format"])
async def test_xml_is_written_when_the_caller_asks_for_it_or_for_nothing(asked):
    """The gateway's default format of signed parameters, with the one content type every client parses."""
    pipeline, _ = pipeline_with({"Echo": lambda service, call: {"Names": ["a", "b&c"], "Ok": True}})

    answers = []
    target = f"/?Action=Echo&Version=2019-03-15{SIGNED.replace('&Format=JSON', asked)}"
    pipeline.serve(Request("GET", target, Headers([("Host", "127.0.0.1")])), answers.append)
    answer = answers[0]

    assert answer.header("content-type") == "text/xml;charset=utf-8"
    assert b"<EchoResponse><RequestId>" in answer.body
    assert b"<Names>a</Names><Names>b&amp;c</Names><Ok>true</Ok>" in answer.body


async def test_json_is_written_when_only_the_accepted_kind_says_so():
    """What a caller accepts decides where no format is named."""
    pipeline, _ = pipeline_with({"Echo": lambda service, call: {"Ok": True}})
    target = f"/?Action=Echo&Version=2019-03-15{SIGNED.replace('&Format=JSON', '')}"

    status, reply = await call(pipeline, target, accept="application/json")

    assert (status, reply["Ok"]) == (200, True)


class OpenFront(RpcFront):
    """A front that serves web pages which say ``Open``."""

    def open_to_web(self, context):
        return "Open=1" in (context.http.query or "")


@pytest.mark.parametrize(
    ("target", "code"),
    [("/?Action=Echo&Version=2019-03-15&Open=1", None), ("/?Action=Echo&Version=2019-03-15", "ForbiddenOrigin")],
)
async def test_web_pages_get_through_only_where_the_front_is_open_to_them(target, code):
    """The front is asked once the service is known; what it does not open is refused as before."""
    ids, clock, database = CountingIds(), VirtualClock(), Database(None)
    loaded = concurrent.futures.Future()
    pipeline = Pipeline(
        Entrance(
            fronts={"fnf": OpenFront("fnf", "2019-03-15", actions({"Echo": lambda service, call: {}}), None, ids)},
            loaded=loaded,
            authenticator=Authenticator(Keyring(KEY), lenient=True, nonces=NonceMemory()),
            policy=HostPolicy(),
            clock=clock,
            account=KEY.account,
            region="cn-hangzhou",
        ),
        database=database,
        clock=clock,
        ids=ids,
    )
    loaded.set_result(None)

    status, reply = await call(pipeline, target + SIGNED, Origin="https://page.example")

    assert reply.get("Code") == code
    assert status == (200 if code is None else 403)


async def test_an_endpoint_of_another_account_is_refused_with_what_to_set():
    """The dialect's own words first, then which account was asked for and which the emulator is."""
    pipeline, _ = pipeline_with({"Echo": lambda service, call: {}})

    target = f"/?Action=Echo&Version=2019-03-15{SIGNED}"
    status, reply = await call(pipeline, target, host="2222222222222222.cn-hangzhou.fnf.aliyuncs.com")

    assert (status, reply["Code"]) == (403, "NoPermission")
    assert reply["Message"].endswith(
        " Account 2222222222222222 was asked for, the emulator's account is 1234567890123456: set account_id in "
        "localyun.yaml or LOCALYUN_ACCOUNT_ID to 2222222222222222 and restart it, or put 1234567890123456 into the "
        "endpoint."
    )
