"""Functions on PHP's built-in runtime."""

import json
import shutil
from textwrap import dedent
from types import SimpleNamespace

import pytest

from emulator.services.fc.runtime import polling_agents
from emulator.services.fc.runtime.model import Credentials, HttpAnswer, HttpCall, ProgramMissing, RuntimeUnavailable
from emulator.services.fc.runtime.program import at_code, program_of
from emulator.services.fc.runtime.settings import RuntimeSettings

here = pytest.mark.skipif(shutil.which("php") is None, reason="there is no php on the PATH")

CODE = r"""
<?php
use RingCentral\Psr7\Response;

$ready = false;

function initialize($context) {
    global $ready;
    $ready = true;
    echo "initializing\n";
}

function handler($event, $context) {
    global $ready;
    if ($event === 'fail') {
        throw new InvalidArgumentException('oops');
    }
    if ($event === 'sleep') {
        sleep(60);
    }
    if ($event === 'exit') {
        exit(3);
    }
    $GLOBALS['fcLogger']->info('working');
    return json_encode([$event, $ready, $context]);
}

function web($request, $context) {
    $body = implode(' ', [
        $request->getMethod(), $request->getAttribute('path'), $request->getAttribute('requestURI'),
        $request->getAttribute('clientIP'), $request->getQueryParams()['x'], $request->getBody()->getContents(),
    ]);
    return new Response(201, ['X-Own' => ['a', $request->getHeaderLine('x-two')]], $body);
}

function told($request, $context) {
    $uri = $request->withoutAttribute('path')->getUri();
    $server = $request->getServerParams();
    unset($server['REQUEST_TIME'], $server['REQUEST_TIME_FLOAT'], $server['DOCUMENT_ROOT']);
    return new Response(200, [], json_encode([
        'uri' => [(string) $uri, $uri->getPath(), $uri->getQuery(), $uri->getHost(), $uri->getPort()],
        'queries' => $request->getQueryParams(), 'cookies' => $request->getCookieParams(), 'server' => $server,
        'body' => [
            $request->getParsedBody(), $request->withParsedBody([1])->getParsedBody(), $request->getUploadedFiles(),
        ],
    ]));
}
"""


def image(functions, handler="index.handler", **changes):
    """A function of PHP's runtime."""
    made = functions.image("", **({"runtime": "php7.2", "handler": handler, "timeout_s": 20} | changes))
    (made.code_dir / "index.php").write_text(dedent(CODE).lstrip())
    return made


@here
async def test_events_and_context_are_those_of_the_platform(functions):
    """One process serves both calls; the initializer ran once; the logger's lines carry the request."""
    made = image(functions, initializer="index.initialize", log_project="project")
    keys = Credentials(access_key_id="STS.a", access_key_secret="b", security_token="c")

    async with functions.pool() as pool:
        first = await pool.invoke(made, functions.invocation(b"one", credentials=keys, retry_count=1))
        second = await pool.invoke(made, functions.invocation(b"two"))

    event, ready, context = json.loads(first.body)
    assert (event, ready, first.error_type) == ("one", True, None)
    assert context == {
        "requestId": "request-1",
        "credentials": {"accessKeyId": "STS.a", "accessKeySecret": "b", "securityToken": "c"},
        "function": {
            "name": "function",
            "handler": "index.handler",
            "memory": 128,
            "timeout": 20,
            "initializer": "index.initialize",
            "initializationTimeout": 3,
        },
        "service": {
            "name": "service",
            "logProject": "project",
            "logStore": "",
            "qualifier": "LATEST",
            "versionId": "LATEST",
        },
        "region": "cn-hangzhou",
        "accountId": "1234567890123456",
        "retryCount": 1,
        "tracing": {"openTracingSpanContext": "", "jaegerEndpoint": "", "openTracingSpanBaggages": []},
    }
    assert json.loads(second.body)[0] == "two"
    assert (first.cold, second.cold) == (True, False)
    assert b"FC Initialize Start RequestId: request-1\ninitializing\nFC Initialize End" in first.log
    assert b"Z request-1 [INFO] working\n" in first.log


@here
async def test_exceptions_are_described_as_the_platform_does(functions):
    """With class, message and place."""
    made = image(functions)

    result = (await functions.calls(made, b"fail"))[0]

    assert result.error_type == "UnhandledInvocationError"
    assert json.loads(result.body) == {
        "errorMessage": "oops",
        "errorType": "InvalidArgumentException",
        "stackTrace": {"file": str(made.code_dir / "index.php"), "line": 15, "traceString": ""},
    }


@here
async def test_http_handlers_get_and_return_messages(functions):
    """Attributes and queries of the request; status and repeated fields of the response."""
    http = HttpCall(
        method="POST",
        path="/a b",
        request_uri="/proxy/a%20b?x=1",
        base_path="/proxy",
        client_ip="127.0.0.9",
        host="h",
        headers=(("x-two", "b"),),
    )

    result = await functions.invoke(image(functions, "index.web"), functions.invocation(b"body", http=http))

    assert result.body == b"POST /a b /proxy/a%20b?x=1 127.0.0.9 1 body"
    assert result.http == HttpAnswer(status=201, headers=(("X-Own", "a"), ("X-Own", "b")))


@here
async def test_http_handlers_ask_for_address_cookies_queries_and_server(functions):
    """As of PSR-7; the address has the platform's host as a part of its path, and a query that repeats is a list."""
    http = HttpCall(
        method="GET",
        path="/a",
        request_uri="/proxy/a?x=1&x=2&y=b%20c",
        base_path="/proxy",
        client_ip="127.0.0.9",
        host="h",
        headers=(("cookie", "one=1; two=b%20c; bare"),),
    )

    result = await functions.invoke(image(functions, "index.told"), functions.invocation(b"", http=http))

    host = "1234567890123456.cn-hangzhou.fc.aliyuncs.com"
    assert json.loads(result.body) == {
        "uri": [f"{host}/proxy/a?x=1&x=2&y=b%20c", f"{host}/proxy/a", "x=1&x=2&y=b%20c", "", None],
        "queries": {"x": ["1", "2"], "y": "b c"},
        "cookies": {"one": "1", "two": "b c"},
        "server": {
            "SERVER_PROTOCOL": "HTTP/1.1",
            "SERVER_ADDR": "127.0.0.1",
            "SERVER_PORT": "19001",
            "REQUEST_METHOD": "GET",
            "QUERY_STRING": "x=1&x=2&y=b%20c",
            "REQUEST_URI": "/proxy/a?x=1&x=2&y=b%20c",
            "REMOTE_ADDR": "127.0.0.9",
            "HTTP_HOST": "h",
        },
        "body": [None, [1], []],
    }


@here
@pytest.mark.parametrize(
    ("handler", "kind", "text"),
    [
        ("handler", "InvalidHandleName", "Invalid handler 'handler'"),
        ("missing.handler", "ImportModuleError", "Module '{code}/missing.php' is missing."),
        ("index.absent", "HandlerNotFound", "Handler 'absent' is missing on module 'index'"),
    ],
    ids=["form", "file", "function"],
)
async def test_handlers_that_cannot_be_used_fail_their_call(functions, handler, kind, text):
    """With what is wrong with them."""
    made = image(functions, handler)

    described = json.loads((await functions.calls(made, b"x"))[0].body)

    assert (described["errorType"], described["errorMessage"]) == (kind, text.format(code=made.code_dir))


@here
async def test_time_outs_and_exits_are_as_elsewhere(functions):
    """The platform's texts; the instance that ended is replaced."""
    slow, gone, well = await functions.calls(image(functions, timeout_s=1), b"sleep", b"exit", b"x")

    assert json.loads(slow.body)["errorMessage"].startswith("Function timed out after 1 seconds")
    assert json.loads(gone.body)["errorMessage"].startswith("Process exited unexpectedly before completing request")
    assert (well.error_type, well.cold) == (None, True)


async def test_without_php_the_error_names_what_to_install(functions, monkeypatch):
    """As a runtime that is not available."""
    monkeypatch.setattr(polling_agents.shutil, "which", lambda name: None)

    with pytest.raises(RuntimeUnavailable, match="install it"):
        await functions.calls(image(functions), b"")


def test_only_a_users_command_means_the_code_by_its_folder_of_the_cloud(functions):
    """The emulator and its interpreters may be installed below a ``/code`` of the machine."""
    image = functions.image("", runtime="php7.2")
    listener = SimpleNamespace(image=image, instance_id="i")
    words = ("/code/bin/php", "/code/venv/agent.php")

    assert at_code(words, image.code_dir, isolated=True) == [
        f"{image.code_dir}/bin/php",
        f"{image.code_dir}/venv/agent.php",
    ]
    with pytest.raises(ProgramMissing, match=r"^.*/code/bin/php"):
        program_of(listener, RuntimeSettings(), words, {}, None, isolated=True)
    assert program_of(listener, RuntimeSettings(), ("/bin/sh", words[1]), {}, None, isolated=True).command == (
        "/bin/sh",
        words[1],
    )
