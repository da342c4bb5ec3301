"""Node.js functions in real instances: results, failures, logs, hooks, HTTP."""

import asyncio
import json
import re
import shutil
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from emulator.redirect.environment import with_hooks
from emulator.services.fc.runtime import node
from emulator.services.fc.runtime.model import (
    Credentials,
    HttpAnswer,
    HttpCall,
    InstanceStartFailed,
    ResponseTooLarge,
    RuntimeUnavailable,
)

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="there is no node on the PATH")
METHODS = pytest.mark.parametrize("method", ["fork", "exec"])
STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


@pytest.fixture
def one_ahead():
    """A process is started for the next first call, as ever."""


@pytest.fixture(autouse=True)
def none_ahead(request, monkeypatch):
    """No process is started for a next function, which few tests have, unless the test looks at it."""
    if "one_ahead" not in request.fixturenames:
        monkeypatch.setattr(node.NodeLauncher, "_keep_waiting", lambda *launched: None)


def image(functions, code, *, file="index.js", **changes):
    """A Node.js function with *code* in it."""
    made = functions.image("", **({"runtime": "nodejs18", "timeout_s": 20} | changes))
    (made.code_dir / file).write_text(dedent(code))
    return made


async def call(functions, code, event=b"", **changes):
    """Call a new function once."""
    settings = {"start_method": changes.pop("start_method", "auto")}
    return (await functions.calls(image(functions, code, **changes), event, **settings))[0]


@needs_node
@METHODS
async def test_warm_instance_keeps_its_globals(functions, method):
    """The event is a Buffer; the second call finds what the first one left."""
    counting = image(
        functions,
        "let n = 0; exports.handler = (e, c, callback) => callback(null, `${e}${Buffer.isBuffer(e)}${++n}`);",
    )

    first, second = await functions.calls(counting, b"a", b"b", start_method=method)

    assert (first.body, second.body) == (b"atrue1", b"btrue2")
    assert (first.cold, second.cold) == (True, False)
    assert first.instance_id == second.instance_id


VALUES = [
    ("undefined", b""),
    ("null", b""),
    ("'text é'", "text é".encode()),
    ("Buffer.from([0, 255])", b"\x00\xff"),
    ("1.5", b"1.5"),
    ("false", b"false"),
    ("({b: 1, a: [true]})", b'{"b":1,"a":[true]}'),
    ("(function () {})", b"function Function() { [native code] }"),
]


@needs_node
@pytest.mark.parametrize(
    "form", ["async (e) => VALUES[e]", "(e, c, done) => done(null, VALUES[e])"], ids=["async", "callback"]
)
async def test_results_are_converted_as_the_platform_does(functions, form):
    """Whichever way a handler answers."""
    values = ", ".join(value for value, _ in VALUES)
    made = image(functions, f"const VALUES = [{values}]; exports.handler = {form};")

    results = await functions.calls(made, *(b"%d" % number for number in range(len(VALUES))))

    assert [(result.error_type, result.body) for result in results] == [(None, body) for _, body in VALUES]


FAILURES = [
    ("(e, c, done) => done('no')", "2.0", "Handled", {"errorMessage": "no"}),
    ("(e, c, done) => done('no')", "3.0", "Handled", {"errorMessage": "no", "errorType": "FunctionHandledError"}),
    ("(e, c, done) => done(new TypeError('no'))", "2.0", "Handled", {"errorMessage": "no", "errorType": "TypeError"}),
    (
        "() => { throw new RangeError('no') }",
        "2.0",
        "Unhandled",
        {"errorMessage": "no", "errorType": "FunctionUnhandledError: RangeError"},
    ),
    (
        "async () => { throw new RangeError('no') }",
        "3.0",
        "Unhandled",
        {"errorMessage": "no", "errorType": "RangeError"},
    ),
    (
        "async () => { const a = {}; a.a = a; return a; }",
        "3.0",
        "Unhandled",
        {"errorMessage": "Converting circular structure to JSON", "errorType": "TypeError"},
    ),
    ("async () => { throw 7 }", "2.0", "Unhandled", {"errorMessage": "7", "errorType": "FunctionUnhandledError"}),
    (
        "() => { setTimeout(() => { throw new Error('late') }, 1) }",  # which ends the instance
        "2.0",
        "Unhandled",
        {"errorMessage": "FunctionUnhandledError: uncaughtException", "errorType": "FunctionUnhandledError: Error"},
    ),
]


@needs_node
@pytest.mark.parametrize("generation", ["2.0", "3.0"])
async def test_failures_have_the_bodies_of_their_generation(functions, generation):
    """What a callback is given is handled, everything else is not."""
    failures = [(handler, error, body) for handler, of, error, body in FAILURES if of == generation]
    handlers = ", ".join(handler for handler, _, _ in failures)
    made = image(functions, f"exports.handler = (e, c, done) => [{handlers}][e](e, c, done);", generation=generation)

    results = await functions.calls(made, *(b"%d" % number for number in range(len(failures))))

    for number, (result, (handler, error, body)) in enumerate(zip(results, failures, strict=True), start=1):
        found = json.loads(result.body)
        trace = found.pop("stackTrace", None)
        found["errorMessage"] = found["errorMessage"].partition("\n")[0]
        assert result.error_type == f"{error}InvocationError", handler
        assert found == body
        assert (trace is not None) == ("new" in handler or "circular" in found["errorMessage"]), handler
        marker = f"FC Invoke End RequestId: request-{number}, Error: {error} function error\n"
        assert marker.encode() in result.log


@needs_node
async def test_stacks_begin_as_the_generations_agents_have_them(functions):
    """The older one leaves out the line that repeats the message."""
    code = "exports.handler = async () => { throw new Error('no') }"

    old = json.loads((await call(functions, code, generation="2.0")).body)["stackTrace"]
    new = json.loads((await call(functions, code, generation="3.0")).body)["stackTrace"]

    assert old[0].startswith("at exports.handler (")
    assert new[0] == "Error: no"
    assert new[1].startswith("    at exports.handler (")


@needs_node
@pytest.mark.parametrize(
    ("code", "handler", "kind", "message"),
    [
        ("", "gone.handler", "ImportModuleError", "Module '{code}/gone.js' is missing."),
        ("require('not-there')", "index.handler", "ImportModuleError", "Cannot find module 'not-there'"),
        ("this is no code", "index.handler", "UserCodeSyntaxError", "Unexpected identifier"),
        ("exports.other = 1", "index.handler", "HandlerNotFound", "Handler 'handler' is missing on module 'index'"),
        ("", "handler", "InvalidHandleName", "Invalid handler 'handler'"),
    ],
)
async def test_handlers_that_cannot_be_loaded_say_why(functions, code, handler, kind, message):
    """The type carries the older agent's prefix in 2.0 only."""
    made = image(functions, code, handler=handler)

    body = json.loads((await functions.calls(made, b""))[0].body)

    assert body["errorType"] == f"FunctionUnhandledError: {kind}"
    assert body["errorMessage"].startswith(message.replace("{code}", str(made.code_dir)))


@needs_node
async def test_missing_module_has_the_documented_trace(functions):
    """One line that names it."""
    made = image(functions, "", handler="gone.handler")

    body = json.loads((await functions.calls(made, b""))[0].body)

    assert body["stackTrace"] == [f"ImportModuleError: Module '{made.code_dir}/gone.js' is missing."]


@needs_node
async def test_failed_load_is_tried_again(functions):
    """An edit between two calls of one instance helps."""
    made = image(functions, "require('./part')")

    async with functions.pool() as pool:
        before = await pool.invoke(made, functions.invocation())
        (made.code_dir / "part.js").write_text("")
        (made.code_dir / "index.js").write_text("require('./part'); exports.handler = async () => 'ok'")
        after = await pool.invoke(made, functions.invocation())

    assert before.error_type == "UnhandledInvocationError"
    assert (after.body, after.cold) == (b"ok", False)


@needs_node
@pytest.mark.parametrize(("file", "package"), [("index.mjs", None), ("index.js", '{"type": "module"}')])
async def test_handlers_can_be_ecmascript_modules(functions, file, package):
    """By their suffix or by the package they are in."""
    made = image(functions, "export const handler = async (event) => `got ${event}`;", file=file)
    if package:
        (made.code_dir / "package.json").write_text(package)

    assert (await functions.calls(made, b"it"))[0].body == b"got it"


@needs_node
@METHODS
async def test_console_and_logger_write_lines_with_request_and_level(functions, method):
    """Raw output stays raw, in its order among the lines."""
    result = await call(
        functions,
        """
        exports.handler = async (event, context) => {
          console.log('a %d', 1); console.info({b: 2}); process.stdout.write('raw\\n'); console.warn('c');
          process.stderr.write('err\\n'); console.error('d'); console.debug('e'); context.logger.info('f');
        }""",
        start_method=method,
    )

    lines = re.sub(STAMP, "T", result.log.decode()).split("\n")
    assert lines[:11] == [
        "FC Invoke Start RequestId: request-1",
        "load code for handler:index.handler",
        "T request-1 [verbose] a 1",
        "T request-1 [info] { b: 2 }",
        "raw",
        "T request-1 [warn] c",
        "err",
        "T request-1 [error] d",
        "T request-1 [debug] e",
        "T request-1 [info] f",
        "FC Invoke End RequestId: request-1",
    ]


@needs_node
async def test_log_level_of_the_function_is_kept(functions):
    """Less important lines are dropped."""
    code = "exports.handler = async () => { console.log('low'); console.warn('high'); }"

    result = await call(functions, code, environment={"FC_SERVER_LOG_LEVEL": "WARNING"})

    assert b"[warn] high" in result.log
    assert b"low" not in result.log


@needs_node
async def test_code_sets_the_level_of_its_log(functions):
    """For the console and the logger, in the order of urgency; a level that does not exist changes nothing."""
    code = """
        exports.handler = async (event, context) => {
          console.setLogLevel('warn'); console.info('no'); context.logger.info('no'); console.warn('one');
          console.setLogLevel('verbose'); console.debug('no'); console.log('two');
          console.setLogLevel('loud'); console.debug('no'); console.log('three');
        }"""

    result = await call(functions, code)

    assert re.findall(r"\] (\w+)\n", result.log.decode()) == ["one", "two", "three"]


@needs_node
@METHODS
async def test_flood_of_output_arrives_whole_before_the_answer(functions, method):
    """Two megabytes through a pipe that holds far less."""
    made = image(
        functions,
        """
        exports.handler = async () => {
          for (let i = 0; i < 2000; i++) process.stdout.write('x'.repeat(1023) + '\\n');
        }""",
    )

    await functions.calls(made, b"", start_method=method)

    assert functions.logged("request-1").count(b"x" * 1023 + b"\n") == 2000


@needs_node
async def test_context_of_a_warm_instance_follows_its_calls(functions):
    """Qualifier, retries, tracing and keys are those of the call, also of one that is like the one before."""
    made = image(
        functions,
        """
        exports.handler = async (event, context) => [
            context.service.qualifier, context.retryCount, context.tracing.openTracingSpanContext,
            context.credentials.accessKeyId, process.env.ALIBABA_CLOUD_ACCESS_KEY_ID,
        ];
        """,
    )
    keys = Credentials(access_key_id="STS.a", access_key_secret="b", security_token="c")
    plain = functions.invocation(qualifier="a", credentials=keys)
    traced = {"x-fc-tracing-opentracing-span-context": "span"}
    other = functions.invocation(qualifier="b", retry_count=2, tracing=traced)

    async with functions.pool() as pool:
        shown = [json.loads((await pool.invoke(made, call)).body) for call in (plain, plain, other, other, plain)]

    first, then = ["a", 0, "", "STS.a", "STS.a"], ["b", 2, "span", "", "STS.a"]
    assert shown == [first, first, then, then, first]


@needs_node
async def test_context_has_the_documented_fields(functions):
    """Both what the function is and what the call is."""
    made = image(
        functions,
        "exports.handler = async (event, context) => context",
        memory_mb=256,
        initializer_timeout_s=7,
        log_project="p",
        log_store="s",
    )
    keys = Credentials(access_key_id="STS.a", access_key_secret="b", security_token="c")
    tracing = {
        "x-fc-tracing-opentracing-span-context": "span",
        "x-fc-tracing-opentracing-span-baggages": "eyJhIjoiYiJ9",
        "x-fc-tracing-opentracing-span-context-baggage-key": "val",
    }
    invocation = functions.invocation(credentials=keys, qualifier="prod", retry_count=2, tracing=tracing)

    result = await functions.invoke(made, invocation)

    found = json.loads(result.body)
    assert found.pop("logger") == {}
    assert found == {
        "requestId": "request-1",
        "credentials": {"accessKeyId": "STS.a", "accessKeySecret": "b", "securityToken": "c"},
        "function": {
            "name": "function",
            "handler": "index.handler",
            "memory": 256,
            "timeout": 20,
            "initializer": "",
            "initializationTimeout": 7,
        },
        "service": {
            "name": "service",
            "logProject": "p",
            "logStore": "s",
            "qualifier": "prod",
            "versionId": "LATEST",
        },
        "region": "cn-hangzhou",
        "accountId": "1234567890123456",
        "retryCount": 2,
        "tracing": {
            "openTracingSpanContext": "span",
            "openTracingSpanBaggages": {"a": "b", "key": "val"},
            "jaegerEndpoint": "",
        },
    }


@needs_node
async def test_environment_is_the_functions_own_with_keys_and_layers(functions, tmp_path):
    """Modules of layers are found; the keys of the call are in the variables of both generations."""
    layer = tmp_path / "layer"
    (layer / "nodejs/node_modules/extra").mkdir(parents=True)
    (layer / "nodejs/node_modules/extra/index.js").write_text("module.exports = 'from the layer'")
    made = image(
        functions,
        """
        exports.handler = async () => [
          require('extra'), process.env.OWN, process.env.ALIBABA_CLOUD_ACCESS_KEY_ID, process.env.securityToken,
          process.env.FC_FUNCTION_NAME, process.cwd() === process.env.FC_FUNC_CODE_PATH,
        ]""",
        layers=(layer,),
        environment={"OWN": "value"},
    )
    keys = Credentials(access_key_id="STS.a", access_key_secret="b", security_token="c")

    result = await functions.invoke(made, functions.invocation(credentials=keys))

    assert json.loads(result.body) == ["from the layer", "value", "STS.a", "c", "function", True]


@needs_node
@pytest.mark.parametrize(
    ("places", "shown"),
    [
        ({}, ["STS.a", "STS.a"]),
        ({"keys_in_environment": False}, ["STS.a", None]),
        ({"keys_in_calls": False}, ["", "STS.a"]),
    ],
    ids=["both", "call", "environment"],
)
async def test_keys_are_where_the_function_wants_them(functions, places, shown):
    """In the context, in the environment, or in both."""
    made = image(
        functions,
        "exports.handler = async (event, { credentials }) => "
        "[credentials.accessKeyId, process.env.ALIBABA_CLOUD_ACCESS_KEY_ID]",
        **places,
    )
    keys = Credentials(access_key_id="STS.a", access_key_secret="b", security_token="c")

    result = await functions.invoke(made, functions.invocation(credentials=keys))

    assert json.loads(result.body) == shown


@needs_node
@METHODS
async def test_exit_in_a_handler_ends_the_instance_only(functions, method):
    """The next call gets a fresh one."""
    made = image(functions, "exports.handler = async (event) => { if (event.length) process.exit(3); return 'ok'; }")

    first, second = await functions.calls(made, b"x", b"", start_method=method)

    assert first.error_type == "UnhandledInvocationError"
    assert b"Process exited unexpectedly before completing request (duration: " in first.body
    assert (second.body, second.cold) == (b"ok", True)


@needs_node
@METHODS
async def test_uncaught_error_ends_the_instance(functions, method):
    """Its state is unknown: the next call gets a fresh one."""
    made = image(
        functions,
        """
        let n = 0;
        exports.handler = (event, context, callback) => {
          n += 1;
          if (event.length) setTimeout(() => { throw new Error('late') }, 1); else callback(null, n);
        }""",
    )

    first, second = await functions.calls(made, b"x", b"", start_method=method)

    assert b"[error] Error: late" in first.log
    assert second.body == b"1"


@needs_node
@METHODS
async def test_call_that_takes_too_long_is_ended(functions, method):
    """Busy, waiting for a promise, or for a callback nobody calls."""
    bodies = ["for (;;) {}", "return new Promise(() => {})", ""]
    made = [image(functions, f"exports.handler = () => {{ {body} }}", timeout_s=0.6) for body in bodies]

    async with functions.pool(start_method=method) as pool:
        results = await asyncio.gather(*(pool.invoke(each, functions.invocation()) for each in made))

    ended = rb'\{"errorMessage":"Function timed out after 1 seconds \(maxMemoryUsage: [\d.]+MB\)"\}'
    assert [result.body for result in results if not re.fullmatch(ended, result.body)] == []


@needs_node
async def test_memory_beyond_the_functions_ends_the_call(functions):
    """As for any runtime: the instance is ended and the caller told of an exit."""
    code = """
        exports.handler = async () => {
          const kept = [];
          for (let i = 0; i < 16; i++) kept.push(Buffer.alloc(10 * 1024 * 1024, 1));
          return String(kept.length);
        }"""

    result = await call(functions, code, memory_mb=128)

    assert b"Process exited unexpectedly" in result.body
    assert (await call(functions, code, memory_mb=1024)).body == b"16"


@needs_node
async def test_hooks_run_with_their_markers(functions):
    """Initializer before the first call, preFreeze after each, preStop at the end; by callback or promise."""
    made = image(
        functions,
        """
        exports.initializer = (context, callback) => { console.log('init'); callback(); };
        exports.freeze = async (context) => { console.log('freeze'); };
        exports.stop = (context, callback) => { console.log('stop'); callback(null); };
        exports.handler = async () => 'ok';""",
        initializer="index.initializer",
        pre_freeze="index.freeze",
        pre_stop="index.stop",
    )

    first, second = await functions.calls(made, b"", b"")

    assert b"FC Initialize Start RequestId: request-1\nload code for handler:index.initializer\n" in first.log
    assert b"Initialize" not in second.log
    everything = b"".join(data for _, data in functions.log)
    assert everything.count(b"] freeze\n") == 2
    assert everything.count(b"FC PreFreeze End RequestId: ") == 2
    assert everything.count(b"] stop\n") == 1


@needs_node
async def test_failing_initializer_fails_the_call(functions):
    """The error type tells; the next call begins anew."""
    made = image(
        functions,
        "exports.initializer = (context, callback) => callback(new Error('no')); exports.handler = async () => 'ok';",
        initializer="index.initializer",
    )

    results = await functions.calls(made, b"", b"")

    assert [result.error_type for result in results] == ["InitializationError"] * 2
    assert results[0].instance_id != results[1].instance_id
    assert json.loads(results[0].body)["errorMessage"] == "no"


@needs_node
async def test_concurrent_calls_share_an_instance_and_keep_their_logs_apart(functions):
    """Asynchronous code keeps track of its request, raw output included."""
    made = image(
        functions,
        """
        let waiting = [];
        exports.handler = async (event) => {
          console.log(`in ${event}`);
          await new Promise((go) => { waiting.push(go); if (waiting.length === 3) waiting.forEach((each) => each()); });
          process.stdout.write(`out ${event}\\n`);
          return event;
        }""",
        instance_concurrency=3,
    )

    async with functions.pool() as pool:
        calls = [pool.invoke(made, functions.invocation(b"%d" % number)) for number in range(3)]
        results = await asyncio.gather(*calls)

    assert len({result.instance_id for result in results}) == 1
    for number, result in enumerate(results):
        assert result.body == b"%d" % number
        assert [line[-5:] for line in result.log.split(b"\n") if b"out " in line] == [b"out %d" % number]
        assert result.log.count(b"in %d" % number) == 1


@needs_node
async def test_result_beyond_the_limit_is_refused(functions):
    """The instance lives on."""
    made = image(functions, "exports.handler = async (event) => 'x'.repeat(Number(event))")

    async with functions.pool(response_limit=1000) as pool:
        with pytest.raises(ResponseTooLarge):
            await pool.invoke(made, functions.invocation(b"1001"))
        result = await pool.invoke(made, functions.invocation(b"1000"))

    assert (len(result.body), result.cold) == (1000, False)


@needs_node
@METHODS
async def test_large_events_and_results_arrive_whole(functions, method):
    """Frames of megabytes in both directions."""
    made = image(functions, "exports.handler = async (event) => event", memory_mb=1024)
    event = bytes(range(256)) * 4096 * 6

    assert (await functions.calls(made, event, start_method=method))[0].body == event


def http_call(**changes):
    """An HTTP request with other fields on top."""
    fields = {
        "method": "POST",
        "path": "/a b",
        "request_uri": "/2016-08-15/proxy/s/f/a%20b?x=1&x=2&y=z",
        "base_path": "/2016-08-15/proxy/s/f",
        "client_ip": "127.0.0.9",
        "host": "localhost",
        "headers": (("Host", "localhost"), ("X-Two", "a"), ("x-two", "b")),
    }
    return HttpCall(**(fields | changes))


@needs_node
async def test_http_handlers_get_a_request_and_send_an_answer(functions):
    """Fields of both objects; text, bytes and streams can be sent."""
    made = image(
        functions,
        """
        const forms = [() => Buffer.from('sent'), () => 'sent', () => require('stream').Readable.from(['se', 'nt'])];
        exports.handler = (request, response, context) => {
          const pieces = [];
          request.on('data', (piece) => pieces.push(piece));
          request.on('end', () => {
            response.setStatusCode(201);
            response.setHeader('X-Gone', 'x');
            response.deleteHeader('x-gone');
            response.setHeader('Set-Cookie', ['a', 'b']);
            response.setHeader('X-Seen', JSON.stringify([
              request.method, request.path, request.url, request.clientIP, request.queries, request.headers,
              Buffer.concat(pieces).toString(), request.body.toString(), context.requestId,
            ]));
            response.send(forms.shift()());
          });
        }""",
    )

    async with functions.pool() as pool:
        results = [await pool.invoke(made, functions.invocation(b"body", http=http_call())) for _ in range(3)]

    for number, result in enumerate(results, start=1):
        assert (result.error_type, result.body) == (None, b"sent")
        assert result.http is not None
        name, seen = result.http.headers[-1]
        assert result.http == HttpAnswer(status=201, headers=(("Set-Cookie", "a"), ("Set-Cookie", "b"), (name, seen)))
        assert json.loads(seen) == [
            "POST",
            "/a b",
            "/2016-08-15/proxy/s/f/a%20b?x=1&x=2&y=z",
            "127.0.0.9",
            {"x": ["1", "2"], "y": "z"},
            {"host": "localhost", "x-two": "a,b"},
            "body",
            "body",
            f"request-{number}",
        ]


@needs_node
async def test_redirect_hook_is_loaded_before_user_code(functions, tmp_path):
    """With the function's own options behind it, in a folder with a space in its name."""
    folder = tmp_path / "with space"
    folder.mkdir()
    hook = folder / "hook.js"
    hook.write_text("globalThis.hooked = true")
    made = image(
        functions,
        "exports.handler = async () => [globalThis.hooked, process.env.NODE_OPTIONS, process.env.NODE_EXTRA_CA_CERTS]",
        environment={"NODE_OPTIONS": "--no-warnings"},
    )

    def add(variables):
        return with_hooks(variables, {"LOCALYUN_CA_BUNDLE": "/ca.pem"}, hook)

    result = (await functions.calls(made, b"", add_hooks=add))[0]

    assert json.loads(result.body) == [True, f'--require "{hook}" --no-warnings', "/ca.pem"]


@needs_node
async def test_process_that_does_not_start_is_reported(functions):
    """What node itself says about it is in the message."""
    made = image(functions, "", environment={"NODE_OPTIONS": "--no-such-option"})

    async with functions.pool(start_method="fork") as pool:
        with pytest.raises(InstanceStartFailed, match="--no-such-option is not allowed"):
            await pool.invoke(made, functions.invocation())
        assert pool.instances(made.family) == []


EARLY = """
const net = require('net');
const write = net.Socket.prototype.write;
net.Socket.prototype.write = function (...all) {
  write.apply(this, all);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500); // the call arrives and is not read
  require('fs').writeSync(2, 'the last line\\n');
  process.exit(3);
};
"""


@needs_node
@pytest.mark.usefixtures("zygote")
async def test_program_that_ends_before_it_reads_the_call_is_told_with_its_last_lines(functions):
    """It has said hello, so the call went to it, and to a second one."""
    made = image(functions, "", environment={"NODE_OPTIONS": f"--require {functions.folder / 'early.js'}"})
    (functions.folder / "early.js").write_text(EARLY)

    with pytest.raises(InstanceStartFailed, match="ended before it was ready: the last line"):
        await functions.calls(made, b"")


async def test_machine_without_node_refuses_clearly(functions, monkeypatch):
    """The message names both ways out."""
    monkeypatch.setenv("PATH", "/nowhere")
    made = image(functions, "")

    async with functions.pool() as pool:
        with pytest.raises(RuntimeUnavailable) as caught:
            await pool.invoke(made, functions.invocation())
        message, instances = str(caught.value), pool.instances(made.family)

    assert "no node on the PATH; install Node.js" in message
    assert "runtimes:" in message
    assert instances == []


@METHODS
async def test_mapped_interpreter_that_does_not_exist_is_reported(functions, method):
    """By name."""
    made = image(functions, "")

    async with functions.pool(interpreters={"nodejs18": "/nowhere/node"}, start_method=method) as pool:
        with pytest.raises((RuntimeUnavailable, InstanceStartFailed), match="/nowhere/node"):
            await pool.invoke(made, functions.invocation())


@needs_node
async def test_modules_of_the_platform_come_from_a_folder_of_the_user(functions, monkeypatch, tmp_path):
    """After the function's own; one that is not there is named with what installs it."""
    folder = tmp_path / ".localyun" / "nodejs" / "node_modules" / "raw-body"
    folder.mkdir(parents=True)
    (folder / "index.js").write_text("module.exports = 'here';\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    found = image(functions, "const found = require('raw-body'); exports.handler = async () => found;")
    missing = image(functions, "require('ali-mns/lib');")

    assert (await functions.calls(found, b""))[0].body == b"here"
    described = json.loads((await functions.calls(missing, b""))[0].body)
    assert described["errorType"] == "FunctionUnhandledError: ImportModuleError"
    assert "here: npm install --prefix ~/.localyun/nodejs ali-mns" in described["stackTrace"][-1]


@needs_node
async def test_a_package_that_is_required_and_not_there_is_named_with_what_installs_it(functions):
    """In the answer when the code does not load, in the log when a call requires it; others say nothing of it."""
    at_once = image(functions, "require('@far/there/part');")
    later = image(functions, "exports.handler = async () => { require('@far/there'); };")
    unnamed = image(functions, "require('unnamed');")
    for each in (at_once, later, unnamed):
        (each.code_dir / "package.json").write_text('{"dependencies": {"@far/there": "^1.0.0"}}')

    first, second, third = [(await functions.calls(each, b""))[0] for each in (at_once, later, unnamed)]

    hint = "package.json names @far/there, not installed here: npm install --prefix "
    assert json.loads(first.body)["stackTrace"][-1] == f"{hint}'{at_once.code_dir}'"
    assert hint not in second.body.decode()
    assert f"[warn] {hint}'{later.code_dir}'" in second.log.decode()
    assert "package.json" not in third.body.decode()


@needs_node
@pytest.mark.parametrize(("runtime", "ends"), [("nodejs6", True), ("nodejs8", False)])
async def test_an_error_that_is_thrown_ends_the_oldest_runtimes(functions, runtime, ends):
    """The caller sees that the process has gone, the log why; a callback's error is as ever."""
    code = "exports.handler = (e, c, callback) => { if (`${e}`) { callback(new Error('told')); } c.toSting(); };"
    made = image(functions, code, runtime=runtime)

    thrown, told = await functions.calls(made, b"", b"x")

    message = json.loads(thrown.body)["errorMessage"]
    assert message.startswith("Process exited unexpectedly") is ends
    assert (b"TypeError: c.toSting is not a function" in thrown.log) is True
    assert (thrown.error_type, told.error_type) == ("UnhandledInvocationError", "HandledInvocationError")
    assert told.cold is ends


ABOUT = """
    const fs = require('fs');
    exports.handler = async () => ({
        env: process.env, cwd: process.cwd(), code: fs.readdirSync('/code'), tmp: fs.readdirSync('/tmp'),
        written: fs.writeFileSync('/tmp/mine', '') || fs.readdirSync('/tmp'),
    });
"""


async def ahead(pool):
    """Return the process that waits for the next function, once it does."""
    if not await pool._starter.launchers.of("python3").isolated("nodejs18"):
        pytest.skip("this kernel gives this user no namespaces")
    [waiting] = [await task for task in pool._starter.launchers.of("nodejs18")._waiting.values()]
    return waiting


def process_of(pool, result):
    """Return the process that gave *result*."""
    return pool._instances[result.instance_id]._process


@needs_node
@pytest.mark.usefixtures("zygote", "one_ahead")
async def test_first_call_of_another_function_takes_the_process_that_waits(functions):
    """It has the folders, variables and identity of its own function then, and the next process is started."""
    first = image(functions, ABOUT, environment={"OF_THE_FIRST": "1"})
    second = image(functions, ABOUT, file="other.js", handler="other.handler", environment={"MINE": "é", "TZ": "UTC"})

    async with functions.pool() as pool:
        await pool.invoke(first, functions.invocation())
        waiting = await ahead(pool)
        result = await pool.invoke(second, functions.invocation())
        took_it, is_replaced = waiting is process_of(pool, result), await ahead(pool) is not waiting

    told = json.loads(result.body)
    assert took_it
    assert is_replaced
    assert result.cold
    assert told["cwd"] == str(second.code_dir)
    assert "other.js" in told["code"]
    back = {Path(each).parts[2] for each in (sys.prefix, __file__) if each.startswith("/tmp/")}  # what it needs
    assert (set(told["tmp"]) - back, set(told["written"]) - back) == (set(), {"mine"})
    assert {name: told["env"][name] for name in ("MINE", "TZ", "FC_INSTANCE_ID", "HOME")} == {
        "MINE": "é",
        "TZ": "UTC",
        "FC_INSTANCE_ID": result.instance_id,
        "HOME": "/tmp",
    }
    assert "OF_THE_FIRST" not in told["env"]


@needs_node
@pytest.mark.usefixtures("zygote", "one_ahead")
@pytest.mark.parametrize("name", ["NODE_OPTIONS", "UV_THREADPOOL_SIZE"])
async def test_variables_that_node_reads_at_its_start_get_a_process_of_their_own(functions, name):
    """Such a function does not take the process that waits."""
    first = image(functions, ABOUT)
    second = image(functions, ABOUT, environment={name: "--no-warnings" if name == "NODE_OPTIONS" else "2"})

    async with functions.pool() as pool:
        await pool.invoke(first, functions.invocation())
        waiting = await ahead(pool)
        result = await pool.invoke(second, functions.invocation())
        took_it = waiting is process_of(pool, result)

    assert not took_it
    assert name in json.loads(result.body)["env"]


@needs_node
@pytest.mark.usefixtures("zygote", "one_ahead")
async def test_a_waiting_process_that_has_died_is_replaced(functions):
    """The call starts one as if none had waited."""
    first, second = (image(functions, ABOUT) for _ in range(2))

    async with functions.pool() as pool:
        await pool.invoke(first, functions.invocation())
        waiting = await ahead(pool)
        [task] = pool._starter.launchers.of("nodejs18")._waiting.values()
        (await task).kill()
        await waiting.gone
        result = await pool.invoke(second, functions.invocation())
        took_it = waiting is process_of(pool, result)

    assert not took_it
    assert result.error_type is None


@needs_node
@pytest.mark.usefixtures("zygote", "one_ahead")
async def test_calls_at_once_share_one_waiting_process_between_them(functions):
    """One takes it, the others start their own; all are answered."""
    first = image(functions, ABOUT)
    others = [image(functions, ABOUT) for _ in range(3)]

    async with functions.pool() as pool:
        await pool.invoke(first, functions.invocation())
        waiting = await ahead(pool)
        results = await asyncio.gather(*(pool.invoke(each, functions.invocation()) for each in others))
        took_it = [waiting is process_of(pool, result) for result in results]

    assert sorted(took_it) == [False, False, True]
    assert [result.error_type for result in results] == [None, None, None]
