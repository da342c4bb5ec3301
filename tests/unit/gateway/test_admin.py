"""Admin operations: who may call them, what they take, how they answer."""

import json
import sys
from typing import Any

import pytest

from emulator.gateway.admin import AdminFront
from emulator.gateway.errors import GatewayError
from emulator.http.message import Headers, Request, Response
from emulator.kernel.clock import Millis
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.kernel.ids import CountingIds
from emulator.wire.operation import ANYONE, ANYONE_LOCAL, operation
from emulator.wire.request import OperationRequest
from emulator.wire.schema.kinds import BINARY, FLAG, NUMBER, OBJECT, Whole, argument

TOKEN = {"X-Localyun-Token": "secret", "Content-Type": "application/json"}


@operation("open", "GET /open", right=ANYONE)
def open_page(service: str, call: OperationRequest) -> dict[str, Any]:
    """Anyone's page."""
    return {"service": service}


@operation("figures", "GET /figures", right=ANYONE_LOCAL)
def figures(service: str, call: OperationRequest) -> dict[str, Any]:
    """A page for this machine."""
    return {}


@operation("thing", "GET /things/{name}")
def thing(service: str, call: OperationRequest) -> dict[str, Any] | None:
    """A thing by name."""
    return {"name": call.path["name"]} if call.path["name"] != "missing" else None


@operation(
    "take",
    "POST /take",
    argument("text"),
    argument("number", Whole(0, 10), default=7),
    argument("flag", FLAG, default=False),
    argument("content", BINARY, default=b""),
)
async def take(service: str, call: OperationRequest) -> dict[str, Any]:
    """Answer the arguments.

    More text.
    """
    return {**call.arguments, "content": call.arguments["content"].decode()}


@operation("nest", "POST /nest", argument("part", NUMBER, default=0.0), argument("more", OBJECT, default={}))
def nest(service: str, call: OperationRequest) -> dict[str, Any]:
    """Answer the arguments."""
    return dict(call.arguments)


def a_front(*, is_local: bool = True) -> AdminFront:
    return AdminFront("secret", CountingIds(), [("service", sys.modules[__name__])], is_local=is_local)


async def ask(
    target: str, method: str = "GET", body: bytes = b"", headers: dict[str, str] | None = None, **front: bool
) -> Any:
    call = OperationRequest(Request(method, f"/_localyun/{target}", Headers((headers or {}).items()), body), Millis(0))
    answer = a_front(**front).handle(call)
    response = answer if isinstance(answer, Response) else await answer
    assert isinstance(response.body, bytes)
    return json.loads(response.body)


async def test_an_operation_gets_the_service_it_was_declared_for():
    assert await ask("open") == {"service": "service"}


async def test_the_token_is_asked_for():
    """In either header; local pages need none while only this machine reaches the emulator."""
    assert await ask("things/a%20b", headers=TOKEN) == {"name": "a b"}
    assert await ask("things/a", headers={"Authorization": "Bearer secret"}) == {"name": "a"}
    with pytest.raises(GatewayError, match=r"^Forbidden:"):
        await ask("things/a")
    with pytest.raises(GatewayError, match=r"^Forbidden:"):
        await ask("things/a", headers={"X-Localyun-Token": "sécret"})
    assert await ask("figures") == {}
    with pytest.raises(GatewayError, match=r"^Forbidden:"):
        await ask("figures", is_local=False)


async def test_what_does_not_exist_is_not_found():
    for target, method in (("nothing", "GET"), ("open", "POST"), ("things/missing", "GET")):
        with pytest.raises(GatewayError, match=r"^NotFound:"):
            await ask(target, method, headers=TOKEN)


async def test_arguments_come_from_body_or_query():
    body = json.dumps({"text": "a", "number": 3, "flag": True, "content": "eA=="}).encode()
    assert await ask("take", "POST", body, TOKEN) == {"text": "a", "number": 3, "flag": True, "content": "x"}
    assert await ask("take?text=b&flag=true", "POST", b"", TOKEN) == {
        "text": "b",
        "number": 7,
        "flag": True,
        "content": "",
    }


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("{}", "text is missing"),
        ("[]", "the body must be a JSON object"),
        ("{", "the body is not JSON"),
        ("[" * 100_000, "the body is not JSON"),
        ('{"text": 1}', "text must be a text"),
        ('{"text": "", "number": true}', "number must be a number"),
        ('{"text": "", "number": 11}', "number must be a number up to 10"),
        ('{"text": "", "flag": "x"}', "flag must be true or false"),
        ('{"text": "", "content": "?"}', "content is not valid base64"),
        ('{"text": "\\ud800"}', "text is not valid text: it contains half of a surrogate pair"),
    ],
)
async def test_bad_bodies_are_refused(document: str, message: str):
    with pytest.raises(GatewayError, match=message):
        await ask("take", "POST", document.encode(), TOKEN)


async def test_bad_numbers_in_a_query_are_refused():
    with pytest.raises(GatewayError, match="number must be a number up to 10, not '-1'"):
        await ask("take?text=a&number=-1", "POST", b"", TOKEN)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (f'{{"part": 1{"0" * 400}}}', "part is a number out of range"),
        ('{"part": NaN}', "part is a number out of range"),
        ('{"more": {"a": [1, {"b": 1e999}]}}', r"more\.a\[1\]\.b is a number out of range"),
        ('{"more": {"a": {"\\udfff": 1}}}', r"more\.a\.\\udfff has a name that is not valid text"),
        (f'{{"more": {{"a": {"[" * 900}"\\ud800"{"]" * 900}}}}}', r"more\.a[\[\]0]+ is"),
    ],
)
async def test_what_is_wrong_inside_is_named(document: str, message: str):
    """By its place."""
    with pytest.raises(GatewayError, match=message):
        await ask("nest", "POST", document.encode(), TOKEN)


async def test_bad_texts_in_a_query_or_path_are_refused():
    """Whoever has the token is told by name; the others learn nothing."""
    with pytest.raises(GatewayError, match="flag must be true or false, not 'maybe'"):
        await ask("take?text=a&flag=maybe", "POST", b"", TOKEN)
    with pytest.raises(GatewayError, match="text is not valid text"):
        await ask("take?text=%ED%A0%80", "POST", b"", TOKEN)
    with pytest.raises(GatewayError, match="name is not valid text"):
        await ask("things/%ED%A0%80", headers=TOKEN)
    with pytest.raises(GatewayError, match=r"^Forbidden:"):
        await ask("things/%ED%A0%80")


async def test_a_change_is_json():
    """A form could be sent by a web page."""
    with pytest.raises(GatewayError, match="Content-Type"):
        await ask("take", "POST", b"text=a", {"X-Localyun-Token": "secret"})


@pytest.mark.parametrize("kind", [{}, {"Content-Type": "application/x-www-form-urlencoded"}], ids=["none", "curl -X"])
async def test_a_change_without_a_body_needs_no_type(kind: dict[str, str]):
    """Calls such as saving a checkpoint take no members."""
    assert (await ask("nest", "POST", b"", {"X-Localyun-Token": "secret", **kind}))["more"] == {}
    with pytest.raises(GatewayError, match="text is missing"):
        await ask("take", "POST", b"", {"X-Localyun-Token": "secret", **kind})


def test_operations_describe_themselves():
    described = {each.name: each for each in a_front().operations}

    assert described["take"].summary == "Answer the arguments."
    assert [each.name for each in described["take"].parameters] == ["text", "number", "flag", "content"]


async def perform(front: AdminFront, method: str, path: str, **arguments: Any) -> Any:
    tenant = Tenant(AccountId("1234567890123456"), Region("cn-hangzhou"))
    return await front.perform(method, path, arguments, tenant, Millis(0))


async def test_the_emulators_own_pages_need_no_token() -> None:
    """Arguments are checked and have their defaults as in a request."""
    front = a_front()

    assert await perform(front, "GET", "/things/a") == {"name": "a"}
    assert (await perform(front, "POST", "/take", text="x"))["number"] == 7
    for path, arguments in (("/things/missing", {}), ("/nowhere", {}), ("/take", {})):
        with pytest.raises(GatewayError):
            await perform(front, "POST" if path == "/take" else "GET", path, **arguments)
