"""Functions on the .NET runtimes, written against the platform's own interfaces, which their packages contain.

They need .NET 3.1 or newer, on the PATH or as the distribution ``dotnetcore2``, and a compiler: that of the .NET SDK or
Mono's ``mcs``.
"""

import json
import shutil
from pathlib import Path

import pytest

from emulator.kernel import compiled
from emulator.services.fc.runtime.model import (
    Credentials,
    HttpAnswer,
    HttpCall,
    InstanceStartFailed,
    RuntimeUnavailable,
)


@pytest.fixture
def published(functions, dotnet_package):
    """Make a function of that package."""

    def image(method="End", handler="Example::Example.Handlers::", **changes):
        fields = {"runtime": "dotnetcore3.1", "handler": handler + method, "timeout_s": 30, "memory_mb": 512}
        made = functions.image("", **(fields | changes))
        shutil.copytree(dotnet_package, made.code_dir, dirs_exist_ok=True)
        return made

    return image


@pytest.fixture
def settings(dotnet_host):
    """The machine's .NET for both runtimes."""
    return {"interpreters": {"dotnetcore2.1": dotnet_host, "dotnetcore3.1": dotnet_host}}


async def test_streams_and_context_are_those_of_the_platform(functions, published, settings):
    """One process serves both calls; the initializer ran once; the logger's lines carry the request."""
    made = published(
        "Show", initializer="Example::Example.Handlers::Initialize", initializer_timeout_s=7, log_project="project",
        log_store="store",
    )  # fmt: skip
    keys = Credentials(access_key_id="STS.a", access_key_secret="b", security_token="c")

    async with functions.pool(**settings) as pool:
        first = await pool.invoke(made, functions.invocation(b"one", credentials=keys, qualifier="alias"))
        second = await pool.invoke(made, functions.invocation(b"two", credentials=keys))

    assert first.body.decode() == (
        "one prepared request-1 1234567890123456 cn-hangzhou STS.a b c function Example::Example.Handlers::Show"
        " Example::Example.Handlers::Initialize 30 512 service project store alias LATEST True True"
    )
    assert (first.error_type, first.cold, second.cold) == (None, True, False)
    assert second.body.startswith(b"two prepared request-2 ")
    assert b"FC Initialize Start RequestId: request-1\ninitializing within 7 s\nFC Initialize End" in first.log
    assert b"Z request-1 [INFO] working\n" in first.log
    assert b"Z request-1 [DEBUG] shown\n" in first.log
    assert b"not shown" not in first.log


@pytest.mark.parametrize("runtime", ["dotnetcore2.1", "dotnetcore3.1"])
async def test_tasks_are_waited_for_and_streams_sent_whole(functions, published, settings, runtime):
    """Also a stream that was left at its end; the context may be left out."""
    event = bytes(range(256)) * 1000

    result = (await functions.calls(published("Echo", runtime=runtime), event, **settings))[0]

    assert (result.error_type, result.body) == (None, event)


async def test_objects_are_read_from_and_written_as_json(functions, published, settings):
    """Names of properties are found in any case; a task without a result answers nothing."""
    event = '{"name": "é", "Count": 2, "tags": ["x"]}'.encode()

    doubled = (await functions.calls(published("Double"), event, **settings))[0]
    nothing = (await functions.calls(published("Nothing"), event, **settings))[0]

    assert (doubled.error_type, doubled.body.decode()) == (None, '{"Name":"é","Count":4,"Tags":["x"]}')
    assert (nothing.error_type, nothing.body) == (None, b"")
    assert "nothing for é é\n".encode() in nothing.log


async def test_a_serializer_of_the_package_is_used(functions, published, settings):
    """That which the handler's attribute names."""
    assert (await functions.calls(published("Joined"), b"a\nb", **settings))[0].body == b"<a+b>"


async def test_exceptions_are_described_as_the_platform_does(functions, published, settings):
    """With type and message, and the frames of user code only."""
    result = (await functions.calls(published(), b"fail", **settings))[0]

    described = json.loads(result.body)
    frames = described.pop("stackTrace")
    assert result.error_type == "UnhandledInvocationError"
    assert described == {"errorMessage": "oops", "errorType": "System.IO.IOException"}
    assert len(frames) == 1
    assert frames[0].startswith("at Example.Handlers.End(Stream input)")
    assert b"[ERROR] System.IO.IOException: oops\n   at Example.Handlers.End" in result.log


@pytest.mark.parametrize(("method", "message"), [("FailLate", "late"), ("FailUnreturned", "unreturned")])
async def test_exceptions_of_tasks_are_those_of_the_call(functions, published, settings, method, message):
    """Also of methods that return no task; the instance lives on."""
    first, second = await functions.calls(published(method), b"", b"", **settings)

    described = json.loads(first.body)
    assert (described["errorType"], described["errorMessage"]) == ("System.InvalidOperationException", message)
    assert described["stackTrace"][0].startswith(f"at Example.Handlers.{method}(")
    assert second.instance_id == first.instance_id


@pytest.mark.parametrize(
    ("handler", "kind", "text"),
    [
        ("Example.Handlers", "System.ArgumentException", "Invalid handler 'Example.Handlers'"),
        ("Missing::A.B::C", "System.IO.FileNotFoundException", "Could not load file or assembly 'Missing,"),
        ("Example::A.B::C", "System.TypeLoadException", "Could not load type 'A.B' from assembly 'Example,"),
        ("Example::Example.Handlers::C", "System.MissingMethodException", "Method 'Example.Handlers.C' not found."),
    ],
    ids=["form", "assembly", "class", "method"],
)
async def test_handlers_that_cannot_be_used_fail_their_call(functions, published, settings, handler, kind, text):
    """With what is wrong with them."""
    described = json.loads((await functions.calls(published("", handler), b"x", **settings))[0].body)

    assert described["errorType"] == kind
    assert described["errorMessage"].startswith(text)


async def test_time_outs_exits_and_hooks_are_as_elsewhere(functions, published, settings):
    """The platform's texts; the instance that ended is replaced."""
    hooks = {name: f"Example::Example.Handlers::{method}"
             for name, method in (("pre_freeze", "PreFreeze"), ("pre_stop", "PreStop"))}  # fmt: skip

    slow, gone, well = await functions.calls(published(timeout_s=2, **hooks), b"sleep", b"exit", b"x", **settings)

    assert json.loads(slow.body)["errorMessage"].startswith("Function timed out after 2 seconds")
    assert json.loads(gone.body)["errorMessage"].startswith("Process exited unexpectedly before completing request")
    assert (well.error_type, well.cold) == (None, True)
    everything = b"".join(data for _, data in functions.log)
    assert b"freezing\n" in everything
    assert b"stopping\n" in everything


@pytest.mark.parametrize("settled", [True, False], ids=["program", "library"])
async def test_what_was_published_with_the_code_counts(functions, published, settings, settled):
    """A newer framework serves; the list of assemblies says where they are."""
    made = published("Show")
    moved = "runtimes/unix/lib/netstandard2.0/Aliyun.Serverless.Core.dll"
    (made.code_dir / moved).parent.mkdir(parents=True)
    (made.code_dir / "Aliyun.Serverless.Core.dll").rename(made.code_dir / moved)
    target = ".NETCoreApp,Version=v2.1"
    listed = {
        "runtimeTarget": {"name": target},
        "targets": {target: {"Core/1.0.1": {"runtimeTargets": {moved: {"rid": "unix", "assetType": "runtime"}}}}},
        "libraries": {"Core/1.0.1": {"type": "package", "serviceable": True, "sha512": "", "path": "core"}},
    }
    (made.code_dir / "Example.deps.json").write_text(json.dumps(listed))
    if settled:
        options = {"framework": {"name": "Microsoft.NETCore.App", "version": "2.1.0"}}
        (made.code_dir / "Example.runtimeconfig.json").write_text(json.dumps({"runtimeOptions": options}))

    result = (await functions.calls(made, b"one", **settings))[0]

    assert (result.error_type, result.body[:15]) == (None, b"one unprepared ")


async def test_a_package_that_brings_its_own_runtime_runs_on_the_machines(functions, published, settings):
    """Its lists are those of another host."""
    made = published("Echo")
    options = {"includedFrameworks": [{"name": "Microsoft.NETCore.App", "version": "3.1.0"}]}
    (made.code_dir / "Example.runtimeconfig.json").write_text(json.dumps({"runtimeOptions": options}))
    (made.code_dir / "Example.deps.json").write_text("{}")

    assert (await functions.calls(made, b"x", **settings))[0].body == b"x"


async def test_a_framework_that_is_not_there_is_named(functions, published, settings):
    """By the host, in the error of the start."""
    made = published("Echo")
    options = {"framework": {"name": "Microsoft.Elsewhere.App", "version": "3.1.0"}}
    (made.code_dir / "Example.runtimeconfig.json").write_text(json.dumps({"runtimeOptions": options}))

    with pytest.raises(InstanceStartFailed, match=r"Microsoft\.Elsewhere\.App"):
        await functions.calls(made, b"x", **settings)


def request(functions, query="?a=%20b&c"):
    """An HTTP request below a trigger's address."""
    http = HttpCall(
        method="PUT", path="/p q", request_uri=f"/2016-08-15/proxy/s/f/p%20q{query}",
        base_path="/2016-08-15/proxy/s/f", client_ip="127.0.0.9", host="h:1", headers=(("x-two", "a"), ("X-Two", "b")),
    )  # fmt: skip
    return functions.invocation("body é".encode(), http=http)


async def test_http_requests_are_those_of_asp_net(functions, published, settings):
    """A context of the package's own kind is filled; status, fields and body of its response answer."""
    made = published("HandleRequest", "Example::Example.Web::")
    call = request(functions)

    result = await functions.invoke(made, call, **settings)

    code = str(made.code_dir)
    assert result.error_type is None, result.body
    assert result.http == HttpAnswer(status=201, headers=(("X-Own", "a"), ("X-Own", "é")))
    assert result.body.decode().splitlines() == [
        "PUT", "http", "HTTP/1.1", "h:1", "/2016-08-15/proxy/s/f", "/p q", "?a=%20b&c", "a+b", "127.0.0.9", "body é",
        call.request_id, code, f"{code}/",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("method", "status", "body"),
    [("Replace", 200, b"replaced"), ("Another", 404, b"another"), ("WriteLate", 200, b"late")],
)
async def test_http_bodies_may_be_other_streams(functions, published, settings, method, status, body):
    """Those of the response that is returned, and what has not been flushed."""
    result = await functions.invoke(published(method, "Example::Example.Web::"), request(functions, ""), **settings)

    assert (result.error_type, result.http, result.body) == (None, HttpAnswer(status=status, headers=()), body)


async def test_exceptions_of_http_handlers_are_described(functions, published, settings):
    """Like those of others."""
    result = await functions.invoke(published("Fail", "Example::Example.Web::"), request(functions), **settings)

    described = json.loads(result.body)
    assert (described["errorType"], described["errorMessage"]) == ("System.InvalidOperationException", "oops")
    assert described["stackTrace"][0].startswith("at Example.Web.Fail(")


@pytest.mark.parametrize(
    ("handler", "is_http", "message"),
    [
        ("Handlers::End", True, "A handler of an HTTP trigger takes an HttpRequest and an HttpResponse"),
        ("Web::Fail", False, "A handler that takes an HttpRequest serves no events"),
    ],
    ids=["request", "event"],
)
async def test_requests_and_events_have_their_own_handlers(functions, published, settings, handler, is_http, message):
    """The other kind is an error of the call."""
    call = request(functions) if is_http else functions.invocation(b"x")

    result = await functions.invoke(published(handler, "Example::Example."), call, **settings)

    assert json.loads(result.body)["errorMessage"] == message


async def test_packages_without_asp_net_cannot_serve_http(functions, published, settings):
    """The assembly that is missing is named."""
    made = published("HandleRequest", "Example::Example.Web::")
    (made.code_dir / "Microsoft.AspNetCore.Http.dll").unlink()

    result = await functions.invoke(made, request(functions), **settings)

    assert "'Microsoft.AspNetCore.Http," in json.loads(result.body)["errorMessage"]


async def test_without_dotnet_the_error_names_what_to_install(functions, monkeypatch):
    """As a runtime that is not available."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("DOTNET_ROOT", raising=False)

    with pytest.raises(RuntimeUnavailable, match=r"install the \.NET SDK"):
        await functions.calls(functions.image("", runtime="dotnetcore3.1", handler="a::b::c"), b"")


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ("", "has no Microsoft.NETCore.App"),
        ("Microsoft.NETCore.App 2.1.30 [{folder}]", "has no Microsoft.NETCore.App"),
        ("Microsoft.NETCore.App 8.0.1 [{folder}]", "is a runtime without SDK and there is no mcs on the PATH"),
    ],
    ids=["none", "old", "no compiler"],
)
async def test_what_is_missing_beside_dotnet_is_named(functions, monkeypatch, tmp_path, listed, message):
    """A framework, or what compiles the agent."""
    stand_in = tmp_path / "dotnet"
    stand_in.write_text(f'#!/bin/sh\n[ "$1" != --list-runtimes ] || echo "{listed.format(folder=tmp_path)}"\n')
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("DOTNET_ROOT", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    with pytest.raises(RuntimeUnavailable, match=message):
        await functions.calls(functions.image("", runtime="dotnetcore2.1", handler="a::b::c"), b"")


def test_the_compiler_of_the_newest_sdk_is_preferred(tmp_path):
    """It compiles for the oldest framework that is new enough, with nothing but its managed libraries."""
    frameworks = tmp_path / "shared" / "Microsoft.NETCore.App"
    for version in ("2.1.30", "3.1.23", "8.0.1"):
        (frameworks / version).mkdir(parents=True)
        for name in ("System.Runtime.dll", "System.IO.Compression.Native.dll", "coreclr.dll"):
            (frameworks / version / name).touch()
    for version in ("6.0.100", "8.0.100-rc.1.23"):
        compiler = tmp_path / "sdk" / version / "Roslyn" / "bincore" / "csc.dll"
        compiler.parent.mkdir(parents=True)
        compiler.touch()
    stand_in = tmp_path / "dotnet"
    stand_in.write_text(
        "#!/bin/sh\n"
        'case "$1" in\n'
        f'--list-sdks) for v in 8.0.100-rc.1.23 6.0.100; do echo "$v [{tmp_path / "sdk"}]"; done;;\n'
        "--list-runtimes)\n"
        f'  echo "Microsoft.AspNetCore.App 3.1.1 [{frameworks}]"\n'
        f'  for v in 2.1.30 3.1.23 8.0.1; do echo "Microsoft.NETCore.App $v [{frameworks}]"; done;;\n'
        f'*) echo "$@" > {tmp_path / "said"};;\n'
        "esac\n"
    )
    stand_in.chmod(0o755)

    compiled.compile_assembly(str(stand_in), [Path("a.cs")], tmp_path / "a.dll")

    said = (tmp_path / "said").read_text().split()
    assert said[:2] == ["exec", str(tmp_path / "sdk" / "8.0.100-rc.1.23" / "Roslyn" / "bincore" / "csc.dll")]
    assert [word for word in said if word.startswith("-r:")] == [f"-r:{frameworks / '3.1.23' / 'System.Runtime.dll'}"]
    assert said[-1] == "a.cs"
