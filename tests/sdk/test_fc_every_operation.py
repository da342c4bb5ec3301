"""Every operation that the official Function Compute clients have, called once against a running emulator.

The operations are found by looking into the clients, so one that a new release adds fails here until it is served.
"""

import base64
import importlib
import inspect
import io
import uuid
import zipfile
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

pytestmark = pytest.mark.sdk

CODE = """
import time
def handler(event, context):
    if isinstance(event, dict):
        context("200 OK", [])
        return [b"web"]
    time.sleep(float(event or 0))
    return "done"
"""
LONGER_THAN_ANY_TEST = b"600"
DOMAIN = {"protocol": "HTTP"}


def zipped() -> str:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("index.py", CODE)
    return base64.b64encode(sink.getvalue()).decode()


class Step(NamedTuple):
    """A call: of the client's method *operation*, which is refused with *refused* if that is given."""

    operation: str
    call: Callable[[Any], Any]
    refused: str = ""


def tea_client(emulator, package: str):
    return importlib.import_module(f"{package}.client").Client(emulator.tea_config())


def tea(operation: str, *path: str, refused: str = "", **request: Any) -> Step:
    """Return the step that calls *operation* with segments of its path and a request under the API's own names."""

    def call(client: Any) -> Any:
        method = getattr(client, operation)
        arguments: list[Any] = list(path)
        parameters = inspect.signature(method).parameters.values()
        made = next((parameter.annotation for parameter in parameters if parameter.name == "request"), None)
        if made is not None:
            models = importlib.import_module(type(client).__module__.replace(".client", ".models"))
            made = getattr(models, made.rpartition(".")[2]) if isinstance(made, str) else made
            arguments.append(made().from_map(request))
        return method(*arguments)

    return Step(operation, call, refused)


def operations_of(client: Any) -> set[str]:
    """Return the methods of a Tea client that are operations of its API."""
    names = {name for name, _ in inspect.getmembers(type(client), inspect.isfunction)}
    return {
        name
        for name in names
        if (f"{name}_with_options" in names or f"{name}with_options" in names) and not name.endswith("_async")
    }


def run(client: Any, steps: list[Step]) -> None:
    """Make the calls in order; each must be answered as its step says."""
    problems = []
    for step in steps:
        try:
            step.call(client)
            told = ""
        except Exception as error:
            told = str(getattr(error, "code", "") or getattr(error, "err_code", "") or repr(error))
        if told != step.refused:
            problems.append(f"{step.operation}: {told or 'served'} instead of {step.refused or 'served'}")
    assert not problems


def async_2021(service: str, function: str) -> Step:
    """Start a task of the newer 2.0 client; its name travels as a header."""

    def call(client: Any) -> Any:
        from alibabacloud_fc_open20210406 import models
        from alibabacloud_tea_util.models import RuntimeOptions

        headers = models.InvokeFunctionHeaders(x_fc_invocation_type="Async", x_fc_stateful_async_invocation_id="task-1")
        request = models.InvokeFunctionRequest(body=LONGER_THAN_ANY_TEST)
        return client.invoke_function_with_options(service, function, request, headers, RuntimeOptions())

    return Step("invoke_function", call)


def async_2023(function: str) -> Step:
    """Start a task of the 3.0 client."""

    def call(client: Any) -> Any:
        from alibabacloud_fc20230330 import models
        from darabonba.runtime import RuntimeOptions

        headers = models.InvokeFunctionHeaders(x_fc_invocation_type="Async", x_fc_async_task_id="task-1")
        request = models.InvokeFunctionRequest(body=io.BytesIO(LONGER_THAN_ANY_TEST))
        return client.invoke_function_with_options(function, request, headers, RuntimeOptions())

    return Step("invoke_function", call)


def sync_2023(function: str) -> Step:
    """Call a function through the 3.0 client, whose body is a file."""

    def call(client: Any) -> Any:
        from alibabacloud_fc20230330 import models

        return client.invoke_function(function, models.InvokeFunctionRequest(body=io.BytesIO(b"0")))

    return Step("invoke_function", call)


def steps_2021(s: str) -> list[Step]:
    """Return calls of every operation of 2021-04-06; *s* is the name of all that they make."""
    function = {"runtime": "python3.10", "handler": "index.handler", "timeout": 900}
    http = '{"authType":"anonymous","methods":["GET"]}'
    domain = f"{s}.example.com"
    layer = {"Code": {"zipFile": zipped()}, "compatibleRuntime": ["python3.10"]}
    source = f"acs:oss:cn-hangzhou:1:{s}"
    return [
        tea("get_account_settings"),
        tea("list_reserved_capacities"),
        tea("create_service", serviceName=s),
        tea("get_service", s),
        tea("list_services"),
        tea("update_service", s, description="new"),
        tea("create_function", s, functionName=s, code={"zipFile": zipped()}, **function),
        tea("get_function", s, s),
        tea("list_functions", s),
        tea("update_function", s, s, description="new"),
        tea("get_function_code", s, s),
        tea("invoke_function", s, s, body=b"0"),
        tea("list_instances", s, s),
        tea("publish_service_version", s),
        tea("list_service_versions", s),
        tea("create_alias", s, aliasName="prod", versionId="1"),
        tea("get_alias", s, "prod"),
        tea("list_aliases", s),
        tea("update_alias", s, "prod", description="new"),
        tea("tag_resource", resourceArn=f"services/{s}", tags={"a": "b"}),
        tea("get_resource_tags", resourceArn=f"services/{s}"),
        tea("list_tagged_resources"),
        tea("untag_resource", resourceArn=f"services/{s}", tagKeys=["a"]),
        tea("create_trigger", s, s, triggerName="web", triggerType="http", triggerConfig=http),
        tea("get_trigger", s, s, "web"),
        tea("list_triggers", s, s),
        tea("update_trigger", s, s, "web", description="new"),
        tea("create_custom_domain", domainName=domain, **DOMAIN),
        tea("get_custom_domain", domain),
        tea("list_custom_domains"),
        tea("update_custom_domain", domain, **DOMAIN),
        tea("create_layer_version", s, **layer),
        tea("get_layer_version", s, "1"),
        tea("list_layer_versions", s),
        tea("list_layers"),
        tea("put_layer_acl", s, public="true"),
        tea("create_vpc_binding", s, vpcId="vpc-1"),
        tea("list_vpc_bindings", s),
        tea("delete_vpc_binding", s, "vpc-1"),
        tea("register_event_source", s, s, sourceArn=source),
        tea("list_event_sources", s, s),
        tea("deregister_event_source", s, s, source),
        tea("put_function_on_demand_config", s, s, maximumInstanceCount=5, qualifier="prod"),
        tea("get_function_on_demand_config", s, s, qualifier="prod"),
        tea("list_on_demand_configs"),
        tea("delete_function_on_demand_config", s, s, qualifier="prod"),
        tea("put_provision_config", s, s, qualifier="prod", target=1),
        tea("get_provision_config", s, s, qualifier="prod"),
        tea("list_provision_configs"),
        tea("put_provision_config", s, s, qualifier="prod", target=0),
        tea("put_function_async_invoke_config", s, s, statefulInvocation=True),
        tea("get_function_async_invoke_config", s, s),
        tea("list_function_async_invoke_configs", s, s),
        async_2021(s, s),
        tea("get_stateful_async_invocation", s, s, "task-1"),
        tea("list_stateful_async_invocations", s, s),
        tea("list_stateful_async_invocation_functions"),
        tea("stop_stateful_async_invocation", s, s, "task-1"),
        tea("delete_function_async_invoke_config", s, s),
        tea("claim_gpuinstance", refused="ResourceExhausted", instanceType="gpu"),
        tea("release_gpuinstance", "i-1", refused="InstanceNotFound"),
        tea("delete_layer_version", s, "1"),
        tea("delete_custom_domain", domain),
        tea("delete_trigger", s, s, "web"),
        tea("delete_alias", s, "prod"),
        tea("delete_service_version", s, "1"),
        tea("delete_function", s, s),
        tea("delete_service", s),
    ]


def steps_2023(f: str) -> list[Step]:
    """Return calls of every operation of 2023-03-30; *f* is the name of all that they make."""
    function = {"functionName": f, "runtime": "python3.10", "handler": "index.handler", "timeout": 900}
    http = '{"authType":"anonymous","methods":["GET"]}'
    domain = f"{f}.example.com"
    layer = {"code": {"zipFile": zipped()}, "compatibleRuntime": ["python3.10"]}
    arn = f"acs:fc:cn-hangzhou:official:layers/{f}/versions/1"
    named = {"ResourceType": "function", "ResourceId": [f]}
    return [
        tea("describe_regions"),
        tea("create_function", body={**function, "code": {"zipFile": zipped()}}),
        tea("get_function", f),
        tea("list_functions"),
        tea("update_function", f, body={"description": "new"}),
        tea("get_function_code", f),
        sync_2023(f),
        tea("list_instances", f),
        tea("disable_function_invocation", f, body={"reason": "test"}),
        tea("enable_function_invocation", f),
        tea("publish_function_version", f, body={}),
        tea("list_function_versions", f),
        tea("create_alias", f, body={"aliasName": "prod", "versionId": "1"}),
        tea("get_alias", f, "prod"),
        tea("list_aliases", f),
        tea("update_alias", f, "prod", body={"description": "new"}),
        tea("tag_resources", body={**named, "Tag": [{"Key": "a", "Value": "b"}]}),
        tea("list_tag_resources", **named),
        tea("untag_resources", TagKey=["a"], **named),
        tea("change_resource_group", body={"NewResourceGroupId": "rg-2", "ResourceType": "function", "ResourceId": f}),
        tea("create_trigger", f, body={"triggerName": "web", "triggerType": "http", "triggerConfig": http}),
        tea("get_trigger", f, "web"),
        tea("list_triggers", f),
        tea("update_trigger", f, "web", body={"description": "new"}),
        tea("create_custom_domain", body={"domainName": domain, **DOMAIN}),
        tea("get_custom_domain", domain),
        tea("list_custom_domains"),
        tea("update_custom_domain", domain, body=DOMAIN),
        tea("create_layer_version", f, body=layer),
        tea("get_layer_version", f, "1"),
        tea("get_layer_version_by_arn", arn, refused="LayerVersionNotFound"),
        tea("list_layer_versions", f),
        tea("list_layers"),
        tea("put_layer_acl", f, acl="1"),
        tea("create_vpc_binding", f, body={"vpcId": "vpc-1"}),
        tea("list_vpc_bindings", f),
        tea("delete_vpc_binding", f, "vpc-1"),
        tea("put_concurrency_config", f, body={"reservedConcurrency": 5}),
        tea("get_concurrency_config", f),
        tea("list_concurrency_configs"),
        tea("delete_concurrency_config", f),
        tea("put_provision_config", f, body={"defaultTarget": 1}, qualifier="prod"),
        tea("get_provision_config", f, qualifier="prod"),
        tea("list_provision_configs"),
        tea("delete_provision_config", f, qualifier="prod"),
        tea("put_scaling_config", f, body={"minInstances": 1}, qualifier="prod"),
        tea("get_scaling_config", f, qualifier="prod"),
        tea("list_scaling_configs"),
        tea("delete_scaling_config", f, qualifier="prod"),
        tea("put_async_invoke_config", f, body={"asyncTask": True}),
        tea("get_async_invoke_config", f),
        tea("list_async_invoke_configs"),
        async_2023(f),
        tea("get_async_task", f, "task-1"),
        tea("list_async_tasks", f),
        tea("stop_async_task", f, "task-1"),
        tea("delete_async_invoke_config", f),
        tea("create_session", f, body={}, refused="InvalidArgument"),
        tea("list_sessions", f),
        tea("get_session", f, "s-1", refused="SessionNotFound"),
        tea("update_session", f, "s-1", body={}, refused="SessionNotFound"),
        tea("pause_session", f, "s-1", refused="SessionNotFound"),
        tea("resume_session", f, "s-1", refused="SessionNotFound"),
        tea("delete_session", f, "s-1", refused="SessionNotFound"),
        tea("create_snapshot", f, body={"sessionId": "s-1"}, refused="SessionNotFound"),
        tea("list_snapshots"),
        tea("get_snapshot", f, "p-1", refused="SnapshotNotFound"),
        tea("delete_snapshot", f, "p-1"),
        tea("delete_layer_version", f, "1"),
        tea("delete_custom_domain", domain),
        tea("delete_trigger", f, "web"),
        tea("delete_alias", f, "prod"),
        tea("delete_function_version", f, "1"),
        tea("delete_function", f),
    ]


def classic(operation: str, *arguments: Any, **named: Any) -> Step:
    return Step(operation, lambda client: getattr(client, operation)(*arguments, **named))


def steps_2016(s: str, folder: str) -> list[Step]:
    """Return calls of every method of the classic client but its two for WebSockets, which have tests of their own."""
    http = {"authType": "anonymous", "methods": ["GET"]}
    domain = f"{s}.example.com"
    return [
        classic("get_account_settings"),
        classic("list_reserved_capacities"),
        classic("create_service", s),
        classic("get_service", s),
        classic("list_services"),
        classic("update_service", s, description="new"),
        classic("create_function", s, s, "python3.10", "index.handler", codeDir=folder),
        classic("get_function", s, s),
        classic("list_functions", s),
        classic("update_function", s, s, description="new"),
        classic("get_function_code", s, s),
        classic("invoke_function", s, s, b"0"),
        classic("list_instances", s, "LATEST", s),
        classic("publish_version", s),
        classic("list_versions", s),
        classic("create_alias", s, "prod", "1"),
        classic("get_alias", s, "prod"),
        classic("list_aliases", s),
        classic("update_alias", s, "prod", "1"),
        classic("tag_resource", f"services/{s}", {"a": "b"}),
        classic("get_resource_tags", f"services/{s}"),
        classic("untag_resource", f"services/{s}", ["a"]),
        classic("create_trigger", s, s, "web", "http", http, None, None),
        classic("get_trigger", s, s, "web"),
        classic("list_triggers", s, s),
        classic("update_trigger", s, s, "web", http),
        Step("do_http_request", lambda client: client.do_http_request("GET", s, s, "/")),
        classic("create_custom_domain", domain, "HTTP"),
        classic("get_custom_domain", domain),
        classic("list_custom_domains"),
        classic("update_custom_domain", domain, "HTTP"),
        classic("put_on_demand_config", s, "prod", s, 5),
        classic("get_on_demand_config", s, "prod", s),
        classic("list_on_demand_config"),
        classic("delete_on_demand_config", s, "prod", s),
        classic("put_provision_config", s, "prod", s, 1),
        classic("get_provision_config", s, "prod", s),
        classic("list_provision_configs", s, "prod"),
        classic("put_provision_config", s, "prod", s, 0),
        classic("put_function_async_invoke_config", s, "prod", s, {"maxAsyncRetryAttempts": 1}),
        classic("get_function_async_invoke_config", s, "prod", s),
        classic("list_function_async_invoke_configs", s, s),
        classic("delete_function_async_invoke_config", s, "prod", s),
        classic("delete_custom_domain", domain),
        classic("delete_trigger", s, s, "web"),
        classic("delete_alias", s, "prod"),
        classic("delete_version", s, "1"),
        classic("delete_function", s, s),
        classic("delete_service", s),
    ]


def test_every_operation_of_the_classic_client_is_answered(emulator, tmp_path):
    """Whatever `aliyun-fc2` can ask is served."""
    client = emulator.fc2()
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "index.py").write_text(CODE)
    steps = steps_2016(f"s{uuid.uuid4().hex[:12]}", str(tmp_path / "code"))
    methods = {name for name, _ in inspect.getmembers(type(client), inspect.isfunction) if not name.startswith("_")}

    assert {step.operation for step in steps} == methods - {"instance_exec", "websocket"}
    run(client, steps)


def test_every_operation_of_the_2021_client_is_answered(emulator):
    """Whatever `alibabacloud_fc_open20210406` can ask is served, or refused as to an account without GPU instances."""
    client = tea_client(emulator, "alibabacloud_fc_open20210406")
    steps = steps_2021(f"s{uuid.uuid4().hex[:12]}")

    assert {step.operation for step in steps} == operations_of(client)
    run(client, steps)


def test_every_operation_of_the_2023_client_is_answered(emulator):
    """Whatever `alibabacloud_fc20230330` can ask is served, or refused as to a function without sessions."""
    client = tea_client(emulator, "alibabacloud_fc20230330")
    steps = steps_2023(f"f{uuid.uuid4().hex[:12]}")

    assert {step.operation for step in steps} == operations_of(client)
    run(client, steps)
