"""The tutorials, event by event."""

import json

from emulator.services.workflow.ports import FunctionReply

POLLING = """
version: v1
type: flow
steps:
  - {type: task, name: StartJob, resourceArn: 'acs:fc:cn-hangzhou:123:services/fnf-demo/functions/StartJob'}
  - type: pass
    name: Init
    outputMappings: [{target: try_count, source: 0}]
  - {type: wait, name: Wait10s, duration: 10}
  - type: task
    name: GetJobStatus
    resourceArn: acs:fc:cn-hangzhou:123:services/fnf-demo/functions/GetJobStatus
    inputMappings:
      - {target: job_id, source: $local.job_id}
      - {target: delay, source: $input.delay}
      - {target: try_count, source: $local.try_count}
  - type: choice
    name: CheckJobComplete
    inputMappings:
      - {target: status, source: $local.job_status}
      - {target: try_count, source: $local.try_count}
    choices:
      - {condition: '$.status == "success"', goto: JobSucceeded}
      - {condition: '$.try_count > 3', goto: JobFailed}
      - {condition: '$.status == "running"', goto: Wait10s}
  - {type: succeed, name: JobSucceeded}
  - {type: fail, name: JobFailed}
"""

OPERATION = "acs:fc:cn-hangzhou:123:services/fnf-demo/functions/Operation"
TRANSACTION = f"""
version: v1
type: flow
steps:
  - type: task
    name: BuyTrainTicket
    resourceArn: {OPERATION}
    inputMappings:
      - {{target: operation, source: buy_train_ticket}}
      - {{target: buy_train_ticket, source: $input.buy_train_ticket_result}}
    catch: [{{errors: [FC.Unknown], goto: OrderFailed}}]
  - type: task
    name: ReserveFlight
    resourceArn: {OPERATION}
    inputMappings:
      - {{target: operation, source: reserve_flight}}
      - {{target: reserve_flight, source: $input.reserve_flight_result}}
    catch: [{{errors: [FC.Unknown], goto: CancelTrainTicket}}]
  - type: task
    name: ReserveHotel
    resourceArn: {OPERATION}
    inputMappings:
      - {{target: operation, source: reserve_hotel}}
      - {{target: reserve_hotel, source: $input.reserve_hotel_result}}
    retry: [{{errors: [FC.Unknown], intervalSeconds: 1, maxAttempts: 3, multiplier: 2}}]
    catch: [{{errors: [FC.Unknown], goto: CancelFlight}}]
  - {{type: succeed, name: OrderSucceeded}}
  - type: task
    name: CancelFlight
    resourceArn: {OPERATION}
    inputMappings:
      - {{target: operation, source: cancel_flight}}
      - {{target: reserve_flight_txnID, source: $local.reserve_flight_txnID}}
  - type: task
    name: CancelTrainTicket
    resourceArn: {OPERATION}
    inputMappings:
      - {{target: operation, source: cancel_train_ticket}}
      - {{target: reserve_flight_txnID, source: $local.reserve_flight_txnID}}
  - {{type: fail, name: OrderFailed}}
"""

EXITED = b'{"errorMessage":"Process exited unexpectedly before completing request (duration: 12ms) "}'


def polling_functions(bench) -> None:
    loaded_at: list[int] = []

    def status(event):
        if not loaded_at:
            loaded_at.append(bench.clock.now())
        done = "delay" in event and bench.clock.now() - loaded_at[0] > event["delay"] * 1000
        return {
            "job_id": event["job_id"],
            "job_status": "success" if done else "running",
            "try_count": event["try_count"] + 1,
        }

    bench.functions.on("StartJob", lambda event: {"job_id": "J"})
    bench.functions.on("GetJobStatus", status)


def operation(event):
    name = event["operation"]
    if event.get(name) is False:
        return FunctionReply(body=EXITED, error_type="UnhandledInvocationError")
    return {name: "success", f"{name}_txnID": f"{name}-id"}


async def test_polling_succeeds_when_the_job_is_done(workflow):
    """Three waits of ten seconds for a job of twenty; ids as the tutorial's events count."""
    async with workflow() as bench:
        polling_functions(bench)
        await bench.flow(POLLING)
        await bench.begin({"delay": 15})

        await bench.advance(31)

        events = await bench.events()
        names = [(event["EventId"], event["StepName"], event["Type"]) for event in events]
        assert names[0] == (1, "", "ExecutionStarted")
        assert [n for _, s, n in names[1:6]] == [
            "StepEntered", "TaskScheduled", "TaskStarted", "TaskSucceeded", "StepExited",
        ]  # fmt: skip
        assert {s for _, s, _ in names[1:6]} == {"StartJob"}
        assert {s for _, s, _ in names[6:10]} == {"Init"}
        assert {s for _, s, _ in names[10:14]} == {"Wait10s"}
        assert {s for _, s, _ in names[14:19]} == {"GetJobStatus"}
        assert {s for _, s, _ in names[19:23]} == {"CheckJobComplete"}
        assert names[23][1:] == ("Wait10s", "StepEntered")
        assert [event["ScheduleEventId"] for event in events] == list(range(len(events)))
        assert json.loads(events[22]["EventDetail"])["goto"] == "Wait10s"
        described = await bench.describe()
        assert described["Status"] == "Succeeded"
        assert described["Output"] == '{"job_id":"J","job_status":"success","try_count":3}'
        assert [call[1] for call in bench.functions.calls[1:]] == [
            {"delay": 15, "job_id": "J", "try_count": count} for count in range(3)
        ]


async def test_polling_two_polls_has_forty_one_events(workflow):
    """The history of a job that is done at the second query."""
    async with workflow() as bench:
        polling_functions(bench)
        await bench.flow(POLLING)
        await bench.begin({"delay": 5})

        await bench.advance(60)

        events = await bench.events()
        assert len(events) == 41
        assert [event["StepName"] for event in events[36:40]] == ["JobSucceeded"] * 4
        assert events[40]["Type"] == "ExecutionSucceeded"


async def test_polling_without_delay_leaves_the_key_out_and_fails_in_the_end(workflow):
    """The function tests whether the key is there; after more than three tries the flow fails."""
    async with workflow() as bench:
        polling_functions(bench)
        await bench.flow(POLLING)
        await bench.begin({})

        await bench.advance(60)

        assert all("delay" not in event for _, event, _ in bench.functions.calls)
        assert len(bench.functions.calls) == 5
        described = await bench.describe()
        assert (described["Status"], described["Output"]) == ("Failed", "")


async def test_polling_goes_on_after_a_restart(workflow, tmp_path):
    """The wait keeps its instant; nothing is done twice."""
    async with workflow(tmp_path / "state.db") as bench:
        polling_functions(bench)
        await bench.flow(POLLING)
        await bench.begin({"delay": 5})
        await bench.advance(4)

        await bench.restart()
        await bench.advance(5)
        calls_before = len(bench.functions.calls)
        await bench.advance(1)

        assert calls_before == 1
        assert len(bench.functions.calls) == 2
        await bench.restart()
        await bench.advance(60)
        assert (await bench.describe())["Status"] == "Succeeded"
        assert len(await bench.events()) == 41


async def test_transaction_is_compensated_step_by_step(workflow):
    """Four attempts with 1, 2 and 4 seconds between, then the jump, with the detail the guide prints."""
    async with workflow() as bench:
        bench.functions.on("Operation", operation)
        await bench.flow(TRANSACTION)
        await bench.begin(
            {
                "buy_train_ticket_result": "success",
                "reserve_flight_result": "success",
                "reserve_hotel_result": False,
            }
        )

        await bench.advance(7)

        events = await bench.events()
        assert [event["Type"] for event in events[11:25]] == [
            "StepEntered", *["TaskScheduled", "TaskStarted", "TaskFailed"] * 4, "StepExited",
        ]  # fmt: skip
        assert events[24]["EventDetail"] == (
            '{"input":{"operation":"reserve_hotel","reserve_hotel":false},'
            '"local":{"buy_train_ticket":"success","buy_train_ticket_txnID":"buy_train_ticket-id",'
            '"reserve_flight":"success","reserve_flight_txnID":"reserve_flight-id"},'
            f'"resourceArn":"{OPERATION}",'
            '"cause":"{\\"errorMessage\\":\\"Process exited unexpectedly before completing request (duration: 12ms)'
            ' \\"}","error":"FC.Unknown","retryCount":3,"goto":"CancelFlight"}'
        )
        assert [(event["StepName"], event["Type"]) for event in events[35:]] == [
            ("OrderFailed", "StepEntered"),
            ("OrderFailed", "StepFailed"),
            ("OrderFailed", "StepExited"),
            ("", "ExecutionFailed"),
        ]
        assert len(events) == 39
        assert (await bench.describe())["Status"] == "Failed"


async def test_transaction_with_text_instead_of_false_goes_through(workflow):
    """The function fails on the JSON boolean only; texts are not put right."""
    async with workflow() as bench:
        bench.functions.on("Operation", operation)
        await bench.flow(TRANSACTION)

        await bench.begin({"reserve_hotel_result": "fail"})

        assert (await bench.describe())["Status"] == "Succeeded"
        assert not any(event["StepName"] == "CancelFlight" for event in await bench.events())


async def test_transaction_flight_failure_skips_its_own_cancellation(workflow):
    """The absent transaction id of the flight is left out of the input of the train's cancellation."""
    async with workflow() as bench:
        bench.functions.on("Operation", operation)
        await bench.flow(TRANSACTION)

        await bench.begin({"reserve_flight_result": False})

        assert bench.functions.calls[-1][1] == {"operation": "cancel_train_ticket"}


async def test_topic_with_callback(workflow):
    """The message carries the token; a report of its receiver completes the step."""
    definition = """
version: v1
type: flow
steps:
  - type: task
    name: mns-topic-task
    resourceArn: acs:mns:::/topics/demo/messages
    pattern: waitForCallback
    inputMappings:
      - {target: messageBody, source: $input.messageBody}
      - {target: taskToken, source: $context.task.token}
    outputMappings:
      - {target: status, source: $local.status}
    serviceParams:
      MessageBody: $
"""
    async with workflow() as bench:
        await bench.flow(definition)
        await bench.begin({"messageBody": "hello"})
        body = json.loads(bench.messages.sent[0]["body"])

        reply = await bench.call("ReportTaskSucceeded", TaskToken=body["taskToken"], Output='{"status": "success"}')
        await bench.settle()

        events = await bench.events()
        assert body["messageBody"] == "hello"
        assert reply["EventId"] == 6
        assert [event["Type"] for event in events[3:]] == [
            "TaskStarted", "TaskSubmitted", "TaskSucceeded", "StepExited", "ExecutionSucceeded",
        ]  # fmt: skip
        assert json.loads(events[4]["EventDetail"]) == {"output": bench.messages.reply.members}
        assert (await bench.describe())["Output"] == '{"status":"success"}'


async def test_queue_with_a_worker(workflow):
    """Priority and body as given; a second report says that the task is over."""
    definition = """
version: v1
type: flow
steps:
  - type: task
    name: Task_1
    resourceArn: acs:mns:::/queues/fnf-demo/messages
    pattern: waitForCallback
    inputMappings:
      - {target: task_token, source: $context.task.token}
      - {target: key, source: value}
    serviceParams: {MessageBody: $, Priority: 1}
"""
    async with workflow() as bench:
        await bench.flow(definition)
        await bench.begin()
        sent = bench.messages.sent[0]
        token = json.loads(sent["body"])["task_token"]

        first = await bench.call("ReportTaskSucceeded", TaskToken=token, Output='{"key": "value"}')
        second = await bench.call("ReportTaskSucceeded", TaskToken=token, Output='{"key": "value"}')
        await bench.settle()

        assert (sent["queue"], sent["priority"], sent["delay_s"]) == ("fnf-demo", 1, None)
        assert first["EventId"] == 6
        assert (second["HTTP"], second["Code"]) == (400, "TaskAlreadyCompleted")
        assert (await bench.describe())["Output"] == '{"key":"value"}'


async def test_function_with_callback_shows_its_token_in_the_history(workflow):
    """The echo function returns its event, so TaskSubmitted holds the token."""
    definition = """
version: v1
type: flow
steps:
  - type: task
    name: mytask
    resourceArn: acs:fc:::services/fnf-demo/functions/echo
    pattern: waitForCallback
    inputMappings: [{target: taskToken, source: $context.task.token}]
    outputMappings: [{target: s, source: $local.status}]
"""
    async with workflow() as bench:
        bench.functions.on("echo", lambda event: event)
        await bench.flow(definition)
        await bench.begin()
        submitted = json.loads((await bench.events())[4]["EventDetail"])

        await bench.call("ReportTaskSucceeded", TaskToken=submitted["output"]["taskToken"], Output='{"status": "ok"}')
        await bench.settle()

        assert (await bench.describe())["Output"] == '{"s":"ok"}'
