"""Asynchronous calls, tasks and capacity through the three official Function Compute clients."""

import base64
import contextlib
import importlib
import io
import json
import logging
import time
import uuid
import zipfile

import pytest
from mns.account import Account
from mns.mns_exception import MNSServerException
from mns.queue import QueueMeta

from tests.waiting import eventually

pytestmark = pytest.mark.sdk

CODE = """
import json, time
CALLS = []
def handler(event, context):
    said = json.loads(event or b"{}")
    CALLS.append(context.request_id)
    if "file" in said:
        with open(said["file"], "a") as file:
            file.write(f"{context.request_id} {context.retry_count}\\n")
    if said.get("fail"):
        raise ValueError("boom")
    time.sleep(said.get("sleep", 0))
    return {"echo": said.get("value"), "calls": len(CALLS)}
"""


def zipped() -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("index.py", CODE)
    return sink.getvalue()


def tea(emulator, package):
    """Return a client of one of the two newer generations, and its models."""
    models = importlib.import_module(f"{package}.models")
    return importlib.import_module(f"{package}.client").Client(emulator.tea_config()), models


@pytest.fixture
def classic(emulator):
    return emulator.fc2()


@pytest.fixture
def v2(emulator):
    return tea(emulator, "alibabacloud_fc_open20210406")


@pytest.fixture
def v3(emulator):
    return tea(emulator, "alibabacloud_fc20230330")


@pytest.fixture
def service(classic, tmp_path):
    """A service of 2.0 with the function ``work``; removed again."""
    name = f"s{uuid.uuid4().hex[:12]}"
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "index.py").write_text(CODE)
    classic.create_service(name)
    classic.create_function(name, "work", "python3.10", "index.handler", codeDir=str(tmp_path / "code"))
    yield name
    classic.delete_function(name, "work")
    for alias in classic.list_aliases(name).data["aliases"]:
        classic.delete_alias(name, alias["aliasName"])
    for version in classic.list_versions(name).data["versions"]:
        classic.delete_version(name, version["versionId"])
    classic.delete_service(name)


@pytest.fixture
def function(v3):
    """A function of 3.0; removed again."""
    client, models = v3
    name = f"f{uuid.uuid4().hex[:12]}"
    body = models.CreateFunctionInput(
        function_name=name,
        runtime="python3.10",
        handler="index.handler",
        timeout=60,
        code=models.InputCodeLocation(zip_file=base64.b64encode(zipped()).decode()),
    )
    client.create_function(models.CreateFunctionRequest(body=body))
    yield name
    client.delete_function(name)


@pytest.fixture
def inbox(emulator):
    """A queue that gives bodies as they are; removed again."""
    made = Account(
        emulator.url, emulator.keys["accessKeyId"], emulator.keys["accessKeySecret"], logger=logging.getLogger("t")
    )
    queue = made.get_queue(f"inbox-{uuid.uuid4().hex[:12]}")
    queue.set_encoding(False)
    queue.create(QueueMeta())
    yield queue
    queue.delete()
    made.get_client().close_connection()


def received(queue):
    with contextlib.suppress(MNSServerException):
        return json.loads(queue.receive_message(1).message_body)


def event(**said) -> bytes:
    return json.dumps(said).encode()


ASYNC = {"x-fc-invocation-type": "Async"}


def test_classic_client_configures_calls_and_destinations(classic, service, inbox):
    """A failing call is retried as configured and told to the queue, with request id, payload and error."""
    arn = f"acs:mns:::/queues/{inbox.queue_name}/messages"
    config = {
        "destinationConfig": {"onFailure": {"destination": arn}, "onSuccess": {"destination": arn}},
        "maxAsyncRetryAttempts": 1,
    }
    put = classic.put_function_async_invoke_config(service, "LATEST", "work", config).data
    partly = classic.put_function_async_invoke_config(service, "LATEST", "work", {"maxAsyncEventAgeInSeconds": 60}).data
    got = classic.get_function_async_invoke_config(service, "LATEST", "work").data
    listed = classic.list_function_async_invoke_configs(service, "work").data

    accepted = classic.invoke_function(service, "work", event(fail=True), headers=ASYNC)
    failure = eventually(lambda: received(inbox))
    classic.invoke_function(service, "work", event(value="fine"), headers=ASYNC)
    success = eventually(lambda: received(inbox))
    classic.delete_function_async_invoke_config(service, "LATEST", "work")
    with pytest.raises(Exception, match="AsyncConfigNotExists"):
        classic.get_function_async_invoke_config(service, "LATEST", "work")

    assert (put["service"], put["function"], put["qualifier"]) == (service, "work", "LATEST")
    assert got == partly == {**partly, **config, "maxAsyncEventAgeInSeconds": 60}
    assert listed["configs"] == [got]
    assert accepted.data == b""
    context = failure["requestContext"]
    assert context["requestId"] == accepted.headers["x-fc-request-id"]
    assert (context["condition"], context["approximateInvokeCount"]) == ("UnhandledInvocationError", 2)
    assert context["functionArn"].endswith(f":services/{service}.LATEST/functions/work")
    assert json.loads(failure["requestPayload"]) == {"fail": True}
    assert failure["responseContext"] == {"statusCode": 200, "functionError": "UnhandledInvocationError"}
    assert json.loads(failure["responsePayload"])["errorMessage"] == "boom"
    assert (success["requestContext"]["condition"], json.loads(success["responsePayload"])["echo"]) == ("", "fine")


def test_function_learns_how_often_it_was_retried(classic, service, tmp_path):
    """The request id stays the same."""
    classic.put_function_async_invoke_config(service, "LATEST", "work", {"maxAsyncRetryAttempts": 1})
    notes = tmp_path / "notes"

    accepted = classic.invoke_function(service, "work", event(fail=True, file=str(notes)), headers=ASYNC)
    eventually(lambda: notes.exists() and len(notes.read_text().splitlines()) == 2)

    request_id = accepted.headers["x-fc-request-id"]
    assert notes.read_text().splitlines() == [f"{request_id} 0", f"{request_id} 1"]


def test_tasks_of_2021_are_listed_shown_and_stopped(v2, service):
    """Ids, filters, payload on demand, events; stopping ends the run at once."""
    client, models = v2
    config = models.PutFunctionAsyncInvokeConfigRequest(stateful_invocation=True, qualifier="LATEST")
    client.put_function_async_invoke_config(service, "work", config)

    def start(task_id, **said):
        from alibabacloud_tea_util.models import RuntimeOptions

        headers = models.InvokeFunctionHeaders(x_fc_invocation_type="Async", x_fc_stateful_async_invocation_id=task_id)
        return client.invoke_function_with_options(
            service, "work", models.InvokeFunctionRequest(body=event(**said)), headers, RuntimeOptions()
        )

    def task(task_id):
        return client.get_stateful_async_invocation(
            service, "work", task_id, models.GetStatefulAsyncInvocationRequest(qualifier="LATEST")
        ).body

    started = start("quick-1", value=7)
    start("slow-1", sleep=50)
    with pytest.raises(Exception, match="StatefulAsyncInvocationAlreadyExists"):
        start("slow-1")
    quick = eventually(lambda: (found := task("quick-1")).status == "Succeeded" and found)
    eventually(lambda: task("slow-1").status == "Running")
    instances = models.ListInstancesRequest(qualifier="LATEST")
    busy = eventually(lambda: client.list_instances(service, "work", instances).body.instances)
    began = time.monotonic()
    stopped = client.stop_stateful_async_invocation(
        service, "work", "slow-1", models.StopStatefulAsyncInvocationRequest()
    )
    slow = eventually(lambda: (found := task("slow-1")).status == "Stopped" and found)
    took_s = time.monotonic() - began
    gone = eventually(lambda: len(client.list_instances(service, "work", instances).body.instances) == len(busy) - 1)
    request = models.ListStatefulAsyncInvocationsRequest(sort_order_by_time="asc", include_payload=True, limit=1)
    first = client.list_stateful_async_invocations(service, "work", request).body
    request.next_token = first.next_token
    second = client.list_stateful_async_invocations(service, "work", request).body
    by_status = client.list_stateful_async_invocations(
        service, "work", models.ListStatefulAsyncInvocationsRequest(status="Stopped", invocation_id_prefix="slow")
    ).body
    functions = client.list_stateful_async_invocation_functions(
        models.ListStatefulAsyncInvocationFunctionsRequest(limit=100)
    ).body

    assert started.status_code == 202
    assert started.headers["x-fc-stateful-async-invocation-id"] == "quick-1"
    assert (quick.invocation_id, quick.request_id) == ("quick-1", started.headers["x-fc-request-id"])
    assert json.loads(quick.return_payload)["echo"] == 7
    assert quick.instance_id.startswith("c-")
    assert quick.end_time >= quick.started_time
    assert [(each.event_id, each.status) for each in quick.events] == [
        (1, "Enqueued"), (2, "Dequeued"), (3, "Running"), (4, "Succeeded"),
    ]  # fmt: skip
    assert stopped.status_code in {200, 204}
    assert [each.status for each in slow.events][-2:] == ["Stopping", "Stopped"]
    assert took_s < 20
    assert gone, "the instance that ran it is ended too"
    assert [first.invocations[0].invocation_id, second.invocations[0].invocation_id] == ["quick-1", "slow-1"]
    assert json.loads(first.invocations[0].invocation_payload) == {"value": 7}
    assert not second.next_token
    assert [(each.invocation_id, each.invocation_payload) for each in by_status.invocations] == [("slow-1", None)]
    assert (service, "work", "LATEST") in [
        (each.service_name, each.function_name, each.qualifier) for each in functions.data
    ]


def test_tasks_of_2023(v3, function):
    """The same under the names of the newest dialect."""
    client, models = v3
    client.put_async_invoke_config(
        function, models.PutAsyncInvokeConfigRequest(body=models.PutAsyncInvokeConfigInput(async_task=True))
    )
    from darabonba.runtime import RuntimeOptions

    def start(task_id, **said):
        headers = models.InvokeFunctionHeaders(x_fc_invocation_type="Async", x_fc_async_task_id=task_id)
        request = models.InvokeFunctionRequest(body=io.BytesIO(event(**said)))
        return client.invoke_function_with_options(function, request, headers, RuntimeOptions())

    started = start("t1", value="x")
    start("t2", sleep=50)
    get = models.GetAsyncTaskRequest()
    done = eventually(
        lambda: (found := client.get_async_task(function, "t1", get).body).status == "Succeeded" and found
    )
    eventually(lambda: client.get_async_task(function, "t2", get).body.status == "Running")
    stop = client.stop_async_task(function, "t2", models.StopAsyncTaskRequest())
    eventually(lambda: client.get_async_task(function, "t2", get).body.status == "Stopped")
    listed = client.list_async_tasks(function, models.ListAsyncTasksRequest(prefix="t")).body
    configs = client.list_async_invoke_configs(models.ListAsyncInvokeConfigsRequest(function_name=function)).body

    assert (started.status_code, started.headers["x-fc-async-task-id"]) == (202, "t1")
    assert done.function_arn.endswith(f":functions/{function}")
    assert json.loads(done.return_payload)["echo"] == "x"
    assert stop.status_code == 204
    assert [task.task_id for task in listed.tasks] == ["t2", "t1"]
    assert [config.async_task for config in configs.configs] == [True]
    assert configs.configs[0].function_arn.endswith(f":functions/{function}/LATEST")


def test_destination_that_is_a_function_of_another_generation_is_called(classic, v3, service, function, tmp_path):
    """A call in a service ends, and a 3.0 function gets the message as its event."""
    client, models = v3
    notes = tmp_path / "notes"
    chained = models.PutAsyncInvokeConfigInput(async_task=True)
    client.put_async_invoke_config(function, models.PutAsyncInvokeConfigRequest(body=chained))
    destination = {"onSuccess": {"destination": f"acs:fc:::functions/{function}"}}
    classic.put_function_async_invoke_config(service, "LATEST", "work", {"destinationConfig": destination})

    classic.invoke_function(service, "work", event(value=1, file=str(notes)), headers=ASYNC)
    tasks = eventually(
        lambda: client.list_async_tasks(function, models.ListAsyncTasksRequest(include_payload=True)).body.tasks
    )

    message = json.loads(tasks[0].task_payload)
    assert json.loads(message["responsePayload"])["echo"] == 1
    assert message["requestContext"]["functionArn"].endswith(f":services/{service}.LATEST/functions/work")


def test_limits_throttle_calls(classic, v3, service, function):
    """A call over a limit is refused with 429 while the other runs."""
    client, models = v3
    put = classic.put_on_demand_config(service, "LATEST", "work", 1)
    got = classic.get_on_demand_config(service, "LATEST", "work")
    listed = classic.list_on_demand_config(prefix=f"services/{service}")
    resource = {"resource": f"services/{service}.LATEST/functions/work", "maximumInstanceCount": 1}
    assert put.data == got.data == resource
    assert listed.data["configs"] == [resource]
    client.put_concurrency_config(
        function, models.PutConcurrencyConfigRequest(body=models.PutConcurrencyInput(reserved_concurrency=1))
    )
    reserved = client.list_concurrency_configs(models.ListConcurrencyConfigsRequest(function_name=function)).body
    assert [each.reserved_concurrency for each in reserved.configs] == [1]

    classic.invoke_function(service, "work", event(sleep=2), headers=ASYNC)
    eventually(lambda: classic.list_instances(service, "LATEST", "work").data["instances"])
    with pytest.raises(Exception, match="ResourceExhausted") as refused:
        eventually(lambda: classic.invoke_function(service, "work", event()) and None, 1)
    client.delete_concurrency_config(function)
    classic.delete_on_demand_config(service, "LATEST", "work")
    with pytest.raises(Exception, match="OnDemandConfigNotFound"):
        client.get_concurrency_config(function)

    assert refused.value.status_code == 429


def test_provisioned_instances_are_warm_visible_and_hold_back_deletion(classic, v2, service):
    """They serve the first call; the alias they belong to stays until they are gone."""
    client, models = v2
    classic.publish_version(service)
    classic.create_alias(service, "live", "1")

    put = classic.put_provision_config(service, "live", "work", 2).data
    eventually(lambda: classic.get_provision_config(service, "live", "work").data["current"] == 2)
    listed = classic.list_provision_configs(service, "live").data["provisionConfigs"]
    instances = classic.list_instances(service, "live", "work").data["instances"]
    called = classic.invoke_function(service, "work", event(), qualifier="live")
    cold = classic.invoke_function(service, "work", event())
    warm = classic.invoke_function(service, "work", event())
    with pytest.raises(Exception, match="ProvisionConfigExist"):
        classic.delete_alias(service, "live")
    with pytest.raises(Exception, match="ProvisionConfigExist"):
        classic.delete_function(service, "work")
    with pytest.raises(Exception, match="InvalidArgument"):
        classic.put_provision_config(service, "1", "work", 1)
    scheduled = client.put_provision_config(
        service,
        "work",
        models.PutProvisionConfigRequest(
            target=1,
            qualifier="live",
            scheduled_actions=[
                models.ScheduledActions(
                    name="a", target=3, schedule_expression="at(2020-01-01T00:00:00Z)",
                    start_time="2019-01-01T00:00:00Z", end_time="2099-01-01T00:00:00Z",
                )
            ],
        ),
    ).body  # fmt: skip
    eventually(lambda: classic.get_provision_config(service, "live", "work").data["current"] == 3)
    # a target alone leaves the schedule, an empty list removes it, as the makers' suite has it
    client.put_provision_config(
        service, "work", models.PutProvisionConfigRequest(target=0, qualifier="live", scheduled_actions=[])
    )
    eventually(lambda: not classic.list_instances(service, "live", "work").data["instances"])

    assert (put["resource"].split("#")[1:], put["target"]) == ([service, "live", "work"], 2)
    assert [each["current"] for each in listed] == [2]
    assert {each["versionId"] for each in instances} == {"1"}
    assert called.headers["x-localyun-start"] == "provisioned"
    assert called.headers["x-fc-instance-id"] in {each["instanceId"] for each in instances}
    assert (cold.headers["x-localyun-start"], warm.headers["x-localyun-start"]) == ("cold", "warm")
    assert (scheduled.target, scheduled.scheduled_actions[0].name) == (1, "a")  # what was asked for, schedule aside


def test_scaling_and_provision_configurations_of_2023(v3, function):
    """One of both at a time; instances are kept ready either way."""
    client, models = v3
    get, put = models.GetScalingConfigRequest(), models.PutScalingConfigInput(min_instances=1)
    client.put_scaling_config(function, models.PutScalingConfigRequest(body=put))
    scaled = eventually(
        lambda: (found := client.get_scaling_config(function, get).body).current_instances == 1 and found
    )
    provision = models.PutProvisionConfigRequest(
        body=models.PutProvisionConfigInput(default_target=1, always_allocate_cpu=True)
    )
    with pytest.raises(Exception, match="ResidentScalingConfigExists"):
        client.put_provision_config(function, provision)
    client.delete_scaling_config(function, models.DeleteScalingConfigRequest())
    client.put_provision_config(function, provision)
    found = eventually(
        lambda: (
            (body := client.get_provision_config(function, models.GetProvisionConfigRequest()).body).current == 1
            and body
        )
    )
    listed = client.list_provision_configs(models.ListProvisionConfigsRequest(function_name=function)).body
    instances = client.list_instances(function, models.ListInstancesRequest(with_all_active=True)).body.instances
    client.delete_provision_config(function, models.DeleteProvisionConfigRequest())
    with pytest.raises(Exception, match="ProvisionConfigNotFound"):
        client.get_provision_config(function, models.GetProvisionConfigRequest())

    assert (scaled.min_instances, scaled.target_instances) == (1, 1)
    assert (found.target, found.default_target, found.always_allocate_cpu) == (1, 1, True)
    assert len(listed.provision_configs) == 1
    assert [each.resource_type for each in instances if each.status == "Running"] == ["Provisioned"]
    assert {each.version_id for each in instances} == {"0"}


def test_disabled_function_is_not_called(v3, function):
    """Running calls are ended when asked for; enabling lets calls through again."""
    client, models = v3

    def call(**said):
        return client.invoke_function(function, models.InvokeFunctionRequest(body=io.BytesIO(event(**said))))

    disabled = client.disable_function_invocation(
        function, models.DisableFunctionInvocationRequest(reason="repairs", abort_ongoing_request=True)
    ).body
    shown = client.get_function(function, models.GetFunctionRequest()).body.invocation_restriction
    with pytest.raises(Exception, match="repairs"):
        call()
    enabled = client.enable_function_invocation(function).body
    answer = json.loads(call(value=1).body.read())

    assert (disabled.success, enabled.success) == (True, True)
    assert (shown.disable, shown.reason) == (True, "repairs")
    assert answer["echo"] == 1
