"""What a handler can find out about its call: context, environment, import path."""

import base64
import json
import os
import sys

import pytest

from emulator.kernel.frozen import replace
from emulator.services.fc.runtime.model import Credentials
from emulator.services.fc.runtime.settings import RuntimeSettings, instance_environment, shell_environment

KEYS = Credentials(access_key_id="STS.id", access_key_secret="secret", security_token="token")


async def test_context_of_a_service_function_is_complete(functions):
    """Every documented attribute is there with its type."""
    image = functions.image(
        """
        def handler(event, context):
            keys, function, tracing = context.credentials, context.function, context.tracing
            return {
                "request": [context.request_id, context.requestId],
                "keys": [keys.access_key_id, keys.access_key_secret, keys.security_token, keys.accessKeyId],
                "function": [function.name, function.handler, function.memory, function.timeout],
                "service": [context.service.name, context.service.log_project, context.service.log_store,
                            context.service.qualifier, context.service.version_id],
                "where": [context.region, context.account_id, context.retry_count],
                "tracing": [tracing.span_context, tracing.jaeger_endpoint, tracing.span_baggages],
            }
        """,
        memory_mb=256,
        timeout_s=7,
        version="3",
        log_project="project",
        log_store="store",
    )
    tracing = {
        "x-fc-tracing-opentracing-span-context": "1:2:3",
        "x-fc-tracing-opentracing-span-baggages": base64.b64encode(b'{"user": "x"}').decode(),
        "x-fc-tracing-opentracing-span-context-baggage-key": "val",
        "x-fc-tracing-jaeger-endpoint": "http://jaeger",
    }
    call = functions.invocation(request_id="rid", qualifier="online", retry_count=2, credentials=KEYS, tracing=tracing)

    result = await functions.invoke(image, call)

    assert json.loads(result.body) == {
        "request": ["rid", "rid"],
        "keys": ["STS.id", "secret", "token", "STS.id"],
        "function": ["function", "index.handler", 256, "7"],
        "service": ["service", "project", "store", "online", "3"],
        "where": ["cn-hangzhou", "1234567890123456", 2],
        "tracing": ["1:2:3", "http://jaeger", {"user": "x", "key": "val"}],
    }


async def test_context_as_json_has_the_wire_names(functions):
    """to_json returns text; returned from a handler it is a JSON string."""
    result = await functions.call("def handler(event, context): return context.to_json()")

    assert json.loads(result.body) == {
        "requestId": "request-1",
        "credentials": {"accessKeyId": "", "accessKeySecret": "", "securityToken": ""},
        "function": {"name": "function", "handler": "index.handler", "memory": 128, "timeout": "3"},
        "service": {"name": "service", "logProject": "", "logStore": "", "qualifier": "LATEST", "versionId": "LATEST"},
        "region": "cn-hangzhou",
        "accountId": "1234567890123456",
        "retryCount": 0,
        "tracing": {"openTracingSpanContext": "", "openTracingSpanBaggages": {}, "jaegerEndpoint": ""},
    }


async def test_function_without_a_service_has_a_nameless_one(functions):
    """3.0 functions on Python up to 3.10 keep the rest of the service object."""
    result = await functions.call(
        "def handler(event, context): return [hasattr(context.service, 'name'), context.service.qualifier]",
        generation="3.0",
        service=None,
        runtime="python3.10",
    )

    assert json.loads(result.body) == [False, "LATEST"]


async def test_python_3_12_context_is_flat(functions):
    """No credentials, service and tracing; log store on the context, version and qualifier on the function."""
    result = await functions.call(
        """
        def handler(event, context):
            gone = [name for name in ("credentials", "service", "tracing") if hasattr(context, name)]
            function = context.function
            context.getLogger().info("logger works")
            return [gone, context.log_project, context.log_store, function.version_id, function.qualifier]
        """,
        generation="3.0",
        service=None,
        runtime="python3.12",
        log_project="p",
        log_store="s",
    )

    assert json.loads(result.body) == [[], "p", "s", "LATEST", "LATEST"]
    assert b"request-1 [INFO] logger works\n" in result.log


@pytest.mark.parametrize("name", ["credentials", "service", "tracing"])
async def test_log_says_where_what_python_3_12_dropped_can_be_had(functions, name):
    """The error is that of the cloud; the log says which runtime has the attribute, and what the newer one has."""
    code = f"def handler(event, context): return context.{name}"
    result = await functions.call(code, generation="3.0", service=None, runtime="python3.12")

    assert json.loads(result.body)["errorMessage"] == f"'FCContext' object has no attribute '{name}'"
    assert f"[WARNING] context.{name} is there in python3.10 and earlier runtimes".encode() in result.log


async def test_log_says_nothing_about_other_missing_attributes(functions):
    """What no context ever had is the handler's own mistake, and so is an attribute of another object."""
    for code in ("context.credential", "event.credentials"):
        result = await functions.call(f"def handler(event, context): return {code}", runtime="python3.12")

        assert b"earlier runtimes" not in result.log


@pytest.mark.parametrize(
    "baggages", ["not base64!", base64.b64encode(b"no json").decode(), base64.b64encode(b"[1]").decode()]
)
async def test_malformed_baggages_are_empty(functions, baggages):
    """A caller's broken header does not fail the function."""
    image = functions.image("def handler(event, context): return context.tracing.span_baggages")
    call = functions.invocation(tracing={"x-fc-tracing-opentracing-span-baggages": baggages})

    result = await functions.invoke(image, call)

    assert result.body == b"{}"


async def test_environment_holds_the_platforms_variables_and_none_of_the_developers(functions, monkeypatch):
    """It is built from nothing; what starts with FC_ is the platform's."""
    monkeypatch.setenv("ALIBABA_CLOUD_ACCESS_KEY_ID", "the developer's")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    image = functions.image(
        "import os\ndef handler(event, context): return dict(os.environ)",
        environment={
            "MINE": "1",
            "FC_MINE": "2",
            "_FC_X": "3",
            "FC_REGION": "mars",
            "accessKeyID": "4",
            "HOME": "/home",
        },
        version="5",
    )

    result = await functions.invoke(
        image, functions.invocation(credentials=KEYS), extra_environment={"LOCALYUN_ENDPOINT": "http://127.0.0.1:1"}
    )

    environment = json.loads(result.body)
    own_folder = environment["TMPDIR"].endswith(f"/{result.instance_id}")  # where there are no namespaces
    assert environment["TMPDIR"] == "/tmp" or own_folder
    assert environment == {
        "MINE": "1",
        "PATH": os.environ["PATH"],
        "HOME": "/home",
        "TMPDIR": environment["TMPDIR"],
        "LANG": "C.UTF-8",
        "LD_LIBRARY_PATH": f"{image.code_dir}:{image.code_dir}/lib:/usr/local/lib",
        "FC_FUNC_CODE_PATH": str(image.code_dir),
        "FC_FUNCTION_NAME": "function",
        "FC_FUNCTION_HANDLER": "index.handler",
        "FC_FUNCTION_MEMORY_SIZE": "128",
        "FC_SERVICE_NAME": "service",
        "FC_VER_ID": "5",
        "FC_FUNCTION_VERSION": "5",
        "FC_QUALIFIER": "5",
        "FC_REGION": "cn-hangzhou",
        "FC_ACCOUNT_ID": "1234567890123456",
        "FC_INSTANCE_ID": result.instance_id,
        "FC_RUNTIME_VERSION": environment["FC_RUNTIME_VERSION"],
        "LOCALYUN_ENDPOINT": "http://127.0.0.1:1",
        "ALIBABA_CLOUD_ACCESS_KEY_ID": "STS.id",
        "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "secret",
        "ALIBABA_CLOUD_SECURITY_TOKEN": "token",
        "accessKeyID": "STS.id",
        "accessKeySecret": "secret",
        "securityToken": "token",
    }


def test_function_without_a_service_has_no_service_variable(functions):
    """FC_SERVICE_NAME exists in 2.0 only."""
    environment = instance_environment(functions.image("", service=None), "c-1", RuntimeSettings(), isolated=True)

    assert "FC_SERVICE_NAME" not in environment


async def test_new_keys_replace_old_ones_in_a_warm_instance(functions):
    """Temporary keys expire before a warm instance does, so the environment follows the calls."""
    image = functions.image("import os\ndef handler(event, context): return os.environ['ALIBABA_CLOUD_ACCESS_KEY_ID']")

    async with functions.pool() as pool:
        assert [
            (
                await pool.invoke(
                    image,
                    functions.invocation(
                        credentials=Credentials(access_key_id=name, access_key_secret="s", security_token="t")
                    ),
                )
            ).body
            for name in ("first", "second")
        ] == [b"first", b"second"]


async def test_context_of_a_warm_instance_follows_its_calls(functions):
    """Qualifier, retries, tracing and keys are those of the call, also of one that is like the one before."""
    image = functions.image(
        """
        import json
        def handler(event, context):
            keys = context.credentials.access_key_id
            return json.dumps([context.service.qualifier, context.retry_count, context.tracing.span_context, keys])
        """
    )
    plain = functions.invocation(qualifier="a", credentials=KEYS)
    traced = {"x-fc-tracing-opentracing-span-context": "span"}
    other = functions.invocation(qualifier="b", retry_count=2, tracing=traced)

    async with functions.pool() as pool:
        shown = [json.loads((await pool.invoke(image, call)).body) for call in (plain, plain, other, other, plain)]

    assert shown == [["a", 0, "", "STS.id"]] * 2 + [["b", 2, "span", ""]] * 2 + [["a", 0, "", "STS.id"]]


async def test_code_layers_and_packages_are_importable_in_that_order(functions, tmp_path):
    """The code folder comes first, then the layers, then the interpreter's packages; nothing of the agent's."""
    layer = tmp_path / "layer"
    versioned = layer / "python" / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    versioned.mkdir(parents=True)
    (layer / "python" / "from_layer.py").write_text("WHERE = 'layer'")
    (versioned / "from_layer.py").write_text("WHERE = 'site'")
    (layer / "python" / "shadowed.py").write_text("WHERE = 'layer'")
    image = functions.image(
        """
        import os, sys
        import aliyunsdkcore, from_layer, shadowed
        def handler(event, context):
            return {"path": sys.path[:3], "found": [from_layer.WHERE, shadowed.WHERE], "cwd": os.getcwd(),
                    "agent": [entry for entry in sys.path if "bootstrap" in entry], "argv": sys.argv,
                    "main": sorted(name for name in vars(sys.modules["__main__"]) if not name.startswith("__"))}
        """,
        layers=(layer,),
    )
    (image.code_dir / "shadowed.py").write_text("WHERE = 'code'")

    result = (await functions.calls(image, b""))[0]

    assert json.loads(result.body) == {
        "path": [str(image.code_dir), str(versioned), str(layer / "python")],
        "found": ["site", "code"],
        "cwd": str(image.code_dir),
        "agent": [],
        "argv": ["bootstrap"],
        "main": [],
    }


async def test_no_bytecode_is_written_beside_the_code(functions):
    """Code is used in place, and the folder stays as its owner made it."""
    image = functions.image("import other\ndef handler(event, context): return 1")
    (image.code_dir / "other.py").write_text("")

    await functions.calls(image, b"")

    assert sorted(path.name for path in image.code_dir.iterdir()) == ["index.py", "other.py"]


async def test_time_zone_follows_the_functions_variable(functions):
    """TZ takes effect although the interpreter had started before."""
    result = await functions.call(
        "import time\ndef handler(event, context): return time.strftime('%Z')", environment={"TZ": "Asia/Shanghai"}
    )

    assert result.body == b"CST"


@pytest.mark.parametrize(
    ("places", "shown"),
    [
        ({}, ["STS.id", "STS.id"]),
        ({"keys_in_environment": False}, ["STS.id", None]),
        ({"keys_in_calls": False}, ["", "STS.id"]),
    ],
    ids=["both", "call", "environment"],
)
async def test_keys_are_where_the_function_wants_them(functions, places, shown):
    """In the context, in the environment, or in both."""
    image = functions.image(
        """
        import os
        def handler(event, context):
            return [context.credentials.access_key_id, os.environ.get("ALIBABA_CLOUD_ACCESS_KEY_ID")]
        """,
        **places,
    )

    result = await functions.invoke(image, functions.invocation(credentials=KEYS))

    assert json.loads(result.body) == shown


def test_a_command_beside_an_instance_has_the_instances_keys(functions):
    """Under the names of both generations, as the instance has them; none where the function takes them per call."""
    image, settings = functions.image(""), RuntimeSettings()

    beside = shell_environment(image, "c-1", settings, KEYS, isolated=True)
    without = shell_environment(replace(image, keys_in_environment=False), "c-1", settings, KEYS, isolated=True)

    assert beside["ALIBABA_CLOUD_SECURITY_TOKEN"] == beside["securityToken"] == "token"
    assert beside["ALIBABA_CLOUD_ACCESS_KEY_ID"] == beside["accessKeyID"] == "STS.id"
    assert "securityToken" not in without
    assert "ALIBABA_CLOUD_SECURITY_TOKEN" not in without
