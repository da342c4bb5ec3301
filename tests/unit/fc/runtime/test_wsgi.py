"""HTTP requests as the handlers of real instances see them."""

import json
from urllib.parse import quote

import pytest

from emulator.services.fc.runtime.model import HttpAnswer, HttpCall

SHOW = """
    import json
    def handler(environ, start_response):
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        plain = {k: v for k, v in environ.items() if isinstance(v, str)}
        plain["request_id"] = environ["fc.context"].request_id
        start_response("200 OK", [("Content-Type", "application/json"), ("X-Length", str(len(body)))])
        return [json.dumps(plain).encode(), body]
"""


def request(**changes) -> HttpCall:
    """An HTTP request with other fields on top."""
    fields = {
        "method": "POST",
        "path": "/a b/é",
        "request_uri": f"/2016-08-15/proxy/s/f/a%20b/{quote('é')}?x=1&y=%20",
        "base_path": "/2016-08-15/proxy/s/f",
        "client_ip": "127.0.0.9",
        "host": "localhost:8868",
        "headers": (("Host", "localhost:8868"), ("Accept", "a"), ("accept", "b"), ("Content-Type", "text/x")),
    }
    return HttpCall(**(fields | changes))


async def serve(functions, code, event=b"", **changes):
    """Let a new function serve one request."""
    image = functions.image(code)
    return await functions.invoke(image, functions.invocation(event, http=request(**changes)))


async def test_handler_is_a_wsgi_application_for_http_requests(functions):
    """The environ holds what the platform's holds; body and header fields come back."""
    result = await serve(functions, SHOW, b"\x00\xff")

    assert result.error_type is None
    assert result.body.endswith(b"\x00\xff")
    assert result.http == HttpAnswer(status=200, headers=(("Content-Type", "application/json"), ("X-Length", "2")))
    seen = json.loads(result.body[:-2])
    assert seen["REQUEST_METHOD"] == "POST"
    assert seen["PATH_INFO"].encode("latin-1").decode() == "/a b/é"
    assert seen["QUERY_STRING"] == "x=1&y=%20"
    assert seen["fc.request_uri"].startswith("/2016-08-15/proxy/s/f/a%20b/")
    assert (seen["CONTENT_TYPE"], seen["CONTENT_LENGTH"]) == ("text/x", "2")
    assert (seen["HTTP_HOST"], seen["HTTP_ACCEPT"], seen["REMOTE_ADDR"]) == ("localhost:8868", "a,b", "127.0.0.9")
    assert "HTTP_CONTENT_TYPE" not in seen
    assert (seen["SERVER_NAME"], seen["SERVER_PORT"], seen["HTTP"]) == ("FCRUNTIME", "9000", "on")
    assert seen["HTTP_X_FC_FUNCTION_HANDLER"] == "index.handler"
    assert seen["FC_FUNCTION_NAME"] == "function"
    assert seen["request_id"] == "request-1"


async def test_same_handler_takes_events_and_requests(functions):
    """There is no flag on the function: how it is called decides."""
    code = """
        def handler(first, second):
            if isinstance(first, bytes):
                return b"event " + first
            second("201 Created", [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")])
            return [b"request"]
    """
    image = functions.image(code)

    async with functions.pool() as pool:
        event = await pool.invoke(image, functions.invocation(b"x"))
        answer = await pool.invoke(image, functions.invocation(b"x", http=request()))

    assert (event.body, event.http) == (b"event x", None)
    assert answer.body == b"request"
    assert answer.http == HttpAnswer(status=201, headers=(("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")))


async def test_written_and_returned_pieces_make_the_body_and_the_iterable_is_closed(functions):
    """What is written comes first; a generator runs to its end and is closed."""
    code = """
        class Body:
            def __iter__(self):
                yield b"two "
                yield b"three"
            def close(self):
                print("closed")
        def handler(environ, start_response):
            start_response("200 OK", [])(b"one ")
            return Body()
    """
    result = await serve(functions, code)

    assert result.body == b"one two three"
    assert b"closed" in result.log


async def test_flask_application_serves_paths_beyond_ascii(functions):
    """A framework gets what WSGI promises."""
    code = """
        from flask import Flask, request
        app = Flask(__name__)
        @app.route("/<path:name>", methods=["POST"])
        def show(name):
            return f"{name} {request.args['x']} {len(request.data)}"
        handler = app
    """
    result = await serve(functions, code, b"12345")

    assert result.error_type is None, result.body
    assert result.body.decode() == "a b/é 1 5"
    assert result.http.status == 200


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise ValueError('boom')", "boom"),
        ("start_response('200 OK', []); return 'text'", "invalid response type"),
        ("return []", "start_response was not called"),
        ("start_response('fine', []); return []", "invalid literal"),
        ("start_response('200 OK', [('one',)]); return []", "unpack"),
        ("return None", "not iterable"),
    ],
)
async def test_failing_handler_gives_the_usual_error_object(functions, body, message):
    """What goes wrong in the handler is the function's failure, with the trace in its log."""
    result = await serve(functions, f"def handler(environ, start_response):\n    {body}\n")

    error = json.loads(result.body)
    assert result.error_type == "UnhandledInvocationError"
    assert result.http is None
    assert message in error["errorMessage"]
    assert message.encode() in result.log


async def test_the_trace_of_a_failing_handler_begins_in_the_users_code(functions):
    """No frame of the agent is in it, as with events."""
    result = await serve(functions, "def handler(environ, start_response):\n    raise ValueError('boom')\n")

    assert [frame[2] for frame in json.loads(result.body)["stackTrace"]] == ["in handler"]


async def test_traceback_of_a_failing_request_is_logged_before_the_error_object(functions):
    """With its cause, and without the frames of the agent; an event's exception is logged as the object alone."""
    code = """
        def handler(first, second):
            try:
                raise KeyError("why")
            except KeyError as error:
                raise ValueError("boom") from error
    """

    result = await serve(functions, code)
    log = result.log.decode()
    event = await functions.invoke(functions.image(code), functions.invocation(b""))

    head, _, rest = log.partition("[ERROR] Traceback (most recent call last):\n")
    printed, _, after = rest.partition("[ERROR] {")
    assert "KeyError: 'why'\n\nThe above exception was the direct cause" in printed
    assert "ValueError: boom\n" in printed
    assert "bootstrap/python" not in printed
    assert ("[ERROR]" in head, '"errorMessage": "boom"' in after) == (False, True)
    assert b"Traceback" not in event.log


async def test_handler_that_cannot_be_loaded_fails_the_request(functions):
    """The error object is that of an event."""
    result = await serve(functions, "nothing = 1\n")

    assert json.loads(result.body)["errorType"] == "HandlerNotFound"


async def test_hooks_run_beside_requests_as_beside_events(functions):
    """The initializer and the other hooks get their own call; the handler serves each request once."""
    image = functions.image(
        """
        SEEN = []
        def initializer(context):
            SEEN.append("initializer")
        def pre_freeze(context):
            SEEN.append("pre_freeze")
        def handler(environ, start_response):
            SEEN.append(environ["REQUEST_METHOD"])
            start_response("200 OK", [])
            return [",".join(SEEN).encode()]
        """,
        initializer="index.initializer",
        pre_freeze="index.pre_freeze",
    )

    async with functions.pool() as pool:
        first = await pool.invoke(image, functions.invocation(http=request()))
        second = await pool.invoke(image, functions.invocation(http=request(method="GET")))

    assert (first.body, second.body) == (b"initializer,POST", b"initializer,POST,pre_freeze,GET")
    assert b"FC Initialize End RequestId: request-1\nFC Invoke Start" in first.log
