"""Functions on Java's built-in runtimes, written against the platform's own interfaces."""

import json
import shutil

import pytest

from emulator.services.fc.runtime.model import Credentials, HttpAnswer, HttpCall, RuntimeUnavailable


@pytest.fixture
def java(functions, java_package):
    """Make a function of the package of ``java/Handlers.java``."""

    def image(handler="example.Handlers::handleRequest", **changes):
        fields = {"runtime": "java11", "handler": handler, "timeout_s": 30, "memory_mb": 512}
        made = functions.image("", **(fields | changes))
        shutil.copy(java_package, made.code_dir)
        return made

    return image


async def test_streams_and_context_are_those_of_the_platform(functions, java):
    """One process serves both calls; the initializer ran once; the logger's lines carry the request."""
    made = java(initializer="example.Handlers::initialize", log_project="project", memory_mb=512)
    keys = Credentials(access_key_id="STS.a", access_key_secret="b", security_token="c")
    tracing = {"x-fc-tracing-opentracing-span-context": "span"}

    async with functions.pool() as pool:
        first = await pool.invoke(
            made, functions.invocation(b"one", credentials=keys, retry_count=2, qualifier="alias", tracing=tracing)
        )
        second = await pool.invoke(made, functions.invocation(b"two", credentials=keys))

    assert first.body.decode() == (
        "one prepared request-1 STS.a c function example.Handlers::handleRequest 30000 512 service project alias span 2"
    )
    assert (first.error_type, first.cold, second.cold) == (None, True, False)
    assert second.body.startswith(b"two prepared request-2 ")
    assert b"FC Initialize Start RequestId: request-1\ninitializing\nFC Initialize End" in first.log
    assert b"Z request-1 [INFO] working\n" in first.log
    assert b"not shown" not in first.log


async def test_exceptions_are_described_as_the_platform_does(functions, java):
    """With type, message and cause, and the frames of user code only."""
    result = (await functions.calls(java(), b"fail"))[0]

    described = json.loads(result.body)
    frames = described.pop("stackTrace")
    assert result.error_type == "UnhandledInvocationError"
    assert described == {"errorMessage": "oops", "errorType": "java.io.IOException", "errorCause": "oops"}
    assert len(frames) == 1
    assert frames[0].startswith("example.Handlers.handleRequest(Handlers.java:")
    assert b"java.io.IOException: oops" in result.log


async def test_plain_objects_are_read_from_and_written_as_json(functions, java):
    """Setters, getters and public fields are properties."""
    result = (
        await functions.calls(java("example.Handlers$Objects::handleRequest"), b'{"name":"a","count":1,"tags":["x"]}')
    )[0]

    assert (result.error_type, json.loads(result.body)) == (None, {"name": "a!", "count": 2, "tags": ["x"]})


async def test_http_handlers_get_servlet_objects(functions, java):
    """Attributes, parameters, reader; status and repeated fields of the answer."""
    http = HttpCall(
        method="POST",
        path="/a b",
        request_uri="/proxy/a%20b?x=1",
        base_path="/proxy",
        client_ip="127.0.0.9",
        host="h",
        headers=(("x-two", "b"),),
    )

    result = await functions.invoke(
        java("example.Handlers$Web::handleRequest"), functions.invocation(b"body", http=http)
    )

    assert result.body == b"POST /a b /proxy/a%20b?x=1 127.0.0.9 1 body"
    assert result.http is not None
    assert result.http.status == 201
    assert sorted(result.http.headers) == [("Content-Type", "text/plain"), ("X-Own", "a"), ("X-Own", "b")]
    assert isinstance(result.http, HttpAnswer)


@pytest.mark.parametrize(
    ("handler", "kind", "text"),
    [
        ("example.Handlers", "java.lang.IllegalArgumentException", "Invalid handler 'example.Handlers'"),
        ("example.Missing::handleRequest", "java.lang.ClassNotFoundException", "example.Missing"),
        ("example.Handlers::absent", "java.lang.NoSuchMethodException", "example.Handlers::absent"),
        (
            "example.Handlers$Order::getName",
            "java.lang.IllegalArgumentException",
            "example.Handlers$Order of the handler example.Handlers$Order::getName does not implement"
            " com.aliyun.fc.runtime.PojoRequestHandler",
        ),
    ],
    ids=["form", "class", "method", "interface"],
)
async def test_handlers_that_cannot_be_used_fail_their_call(functions, java, handler, kind, text):
    """With what is wrong with them."""
    described = json.loads((await functions.calls(java(handler), b"x"))[0].body)

    assert (described["errorType"], described["errorMessage"]) == (kind, text)


async def test_time_outs_exits_and_hooks_are_as_elsewhere(functions, java):
    """The platform's texts; the instance that ended is replaced."""
    made = java(timeout_s=2, pre_freeze="example.Handlers::preFreeze", pre_stop="example.Handlers::preStop")

    slow, gone, well = await functions.calls(made, b"sleep", b"exit", b"x")

    assert json.loads(slow.body)["errorMessage"].startswith("Function timed out after 2 seconds")
    assert json.loads(gone.body)["errorMessage"].startswith("Process exited unexpectedly before completing request")
    assert (well.error_type, well.cold) == (None, True)
    everything = b"".join(data for _, data in functions.log)
    assert b"freezing\n" in everything
    assert b"stopping\n" in everything


async def test_without_java_the_error_names_what_to_install(functions, monkeypatch):
    """As a runtime that is not available."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)

    with pytest.raises(RuntimeUnavailable, match="install a JDK"):
        await functions.calls(functions.image("", runtime="java8", handler="a.B::c"), b"")
