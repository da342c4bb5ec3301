"""Schedules: the operations on the wire, and the runs in virtual time."""

import asyncio
import logging
import re
from datetime import UTC, datetime

import pytest

from emulator.kernel.clock import VirtualClock
from emulator.kernel.timers import LoopTimers
from emulator.services.workflow.schedules.schedules import LATEST_START_MS
from tests.unit.workflow.conftest import WORLD

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")
ONE_PASS = "version: v1\ntype: flow\nsteps:\n  - {type: pass, name: p}\n"
NAMES = {"FlowName": "f", "ScheduleName": "s"}


async def scheduled(bench, expression="@every 1m", **more):
    reply = await bench.call("CreateSchedule", **{**NAMES, "CronExpression": expression, **more})
    assert "Code" not in reply, reply
    return reply


async def runs(bench, flow="f"):
    """Return (start, input) of every execution, oldest first."""
    reply = await bench.call("ListExecutions", FlowName=flow, Limit=99)
    return [(each["StartedTime"], each["Input"]) for each in reversed(reply["Executions"])]


def millis(text):
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


async def test_a_schedule_is_described_as_it_was_made(workflow):
    """Enabled unless told otherwise, empty texts present, no flow name in the reply."""
    async with workflow() as bench:
        await bench.flow(ONE_PASS)
        created = await scheduled(bench, "0 30 4 ? * MON-FRI", Payload=' {"b": 1,  "a": 2}', SignatureVersion="1.0")
        described = await bench.call("DescribeSchedule", **NAMES)

        del created["RequestId"], described["RequestId"]
        assert created == described
        assert UUID.match(created.pop("ScheduleId"))
        assert created == {
            "ScheduleName": "s",
            "Description": "",
            "CronExpression": "0 30 4 ? * MON-FRI",
            "Payload": ' {"b": 1,  "a": 2}',
            "Enable": True,
            "CreatedTime": "2023-11-14T22:13:20.000Z",
            "LastModifiedTime": "2023-11-14T22:13:20.000Z",
        }


async def test_the_schedules_of_all_flows_are_listed_with_their_next_runs(workflow):
    """By flow and name, in pages; one that is switched off has no next run."""
    async with workflow() as bench:
        for flow in ("f", "g"):
            await bench.flow(ONE_PASS, name=flow)
        await scheduled(bench, "@every 1m")
        await scheduled(bench, "@every 2m", FlowName="g", ScheduleName="a", Enable="false")
        await scheduled(bench, "@every 3m", FlowName="g", ScheduleName="b")
        now = bench.clock.now()

        first = bench.service.schedules.all(WORLD, 2, "")
        second = bench.service.schedules.all(WORLD, 2, first.next_marker)

        assert [(flow, record.name, at) for flow, record, at in first.items] == [
            ("f", "s", now + 60_000),
            ("g", "a", None),
        ]
        assert [(flow, record.name, at) for flow, record, at in second.items] == [("g", "b", now + 180_000)]
        assert second.next_marker is None


async def test_an_update_changes_what_it_names(workflow):
    """Booleans are true or false in any letters."""
    async with workflow() as bench:
        await bench.flow(ONE_PASS)
        await scheduled(bench, Description="d", Payload="{}", Enable="False")
        await bench.advance(5)

        reply = await bench.call("UpdateSchedule", **NAMES, Enable="True", Payload="")

        assert (reply["Enable"], reply["Payload"], reply["Description"]) == (True, "", "d")
        assert (reply["CronExpression"], reply["LastModifiedTime"]) == ("@every 1m", "2023-11-14T22:13:25.000Z")
        assert (await bench.call("UpdateSchedule", **NAMES, Enable="false"))["Enable"] is False


@pytest.mark.parametrize(
    ("action", "parameters", "status", "code"),
    [
        ("CreateSchedule", {"FlowName": None}, 400, "MissingRequiredParams"),
        ("CreateSchedule", {"ScheduleName": None}, 400, "MissingRequiredParams"),
        ("CreateSchedule", {"CronExpression": None}, 400, "MissingRequiredParams"),
        ("CreateSchedule", {"FlowName": "x"}, 404, "FlowNotExists"),
        ("CreateSchedule", {"ScheduleName": "1s"}, 400, "InvalidArgument"),
        ("CreateSchedule", {"ScheduleName": "there"}, 409, "ScheduleAlreadyExists"),
        ("CreateSchedule", {"Payload": "[]"}, 400, "InvalidArgument"),
        ("CreateSchedule", {"Payload": "{"}, 400, "InvalidArgument"),
        ("CreateSchedule", {"Enable": "yes"}, 400, "InvalidArgument"),
        ("CreateSchedule", {"CronExpression": ""}, 400, "InvalidArgument"),
        ("CreateSchedule", {"CronExpression": "* * * * *"}, 400, "InvalidArgument"),
        ("CreateSchedule", {"CronExpression": "* 0 * * * *"}, 400, "InvalidArgument"),
        ("CreateSchedule", {"CronExpression": "0 0 0 31 2 ?"}, 400, "InvalidArgument"),
        ("CreateSchedule", {"CronExpression": "@every 30s"}, 400, "InvalidArgument"),
        ("CreateSchedule", {"CronExpression": "@every 0m"}, 400, "InvalidArgument"),
        ("CreateSchedule", {"CronExpression": "CRON_TZ=Nowhere/At_All 0 0 4 * * *"}, 400, "InvalidArgument"),
        ("UpdateSchedule", {"ScheduleName": "x"}, 404, "ScheduleNotExists"),
        ("UpdateSchedule", {"ScheduleName": "there", "CronExpression": "@every 1h"}, 400, "InvalidArgument"),
        ("UpdateSchedule", {"ScheduleName": "there", "Payload": "1"}, 400, "InvalidArgument"),
        ("UpdateSchedule", {"ScheduleName": "there", "Enable": "1"}, 400, "InvalidArgument"),
        ("DescribeSchedule", {"FlowName": "x"}, 404, "FlowNotExists"),
        ("DescribeSchedule", {}, 404, "ScheduleNotExists"),
        ("DeleteSchedule", {}, 404, "ScheduleNotExists"),
        ("ListSchedules", {"FlowName": "x"}, 404, "FlowNotExists"),
        ("ListSchedules", {"Limit": 1001}, 400, "InvalidArgument"),
        ("ListSchedules", {"Limit": 0}, 400, "InvalidArgument"),
    ],
)  # fmt: skip
async def test_a_bad_request_changes_nothing(workflow, action, parameters, status, code):
    """Each has its documented code; the schedule that is there stays as it was."""
    async with workflow() as bench:
        await bench.flow(ONE_PASS)
        await scheduled(bench, ScheduleName="there")
        before = await bench.call("ListSchedules", FlowName="f")

        given = {**NAMES, **({"CronExpression": "@every 1m"} if action == "CreateSchedule" else {}), **parameters}
        reply = await bench.call(action, **{name: value for name, value in given.items() if value is not None})

        assert (reply["HTTP"], reply["Code"]) == (status, code)
        after = await bench.call("ListSchedules", FlowName="f")
        assert before["Schedules"] == after["Schedules"]


async def test_schedules_are_listed_by_name_in_pages(workflow):
    """Only those of the flow; NextToken is left out on the last page."""
    async with workflow() as bench:
        await bench.flow(ONE_PASS)
        await bench.flow(ONE_PASS, name="g")
        for name in ("c", "a", "b"):
            await scheduled(bench, ScheduleName=name)
        await scheduled(bench, FlowName="g")

        first = await bench.call("ListSchedules", FlowName="f", Limit=2)
        last = await bench.call("ListSchedules", FlowName="f", Limit=2, NextToken=first["NextToken"])

        assert [each["ScheduleName"] for each in first["Schedules"]] == ["a", "b"]
        assert [each["ScheduleName"] for each in last["Schedules"]] == ["c"]
        assert "NextToken" not in last


async def test_a_run_has_the_payload_as_its_input(workflow):
    """Verbatim, or {} without one, as ``null`` is; the execution is named by a UUID."""
    async with workflow() as bench:
        await bench.flow(ONE_PASS)
        await scheduled(bench, Payload='{"b":  1, "a": 2}')
        await scheduled(bench, ScheduleName="bare")
        null = await scheduled(bench, ScheduleName="null", Payload=" null")

        await bench.advance(60)

        reply = await bench.call("ListExecutions", FlowName="f")
        assert null["Payload"] == " null"
        assert sorted(each["Input"] for each in reply["Executions"]) == ['{"b":  1, "a": 2}', "{}", "{}"]
        assert all(UUID.match(each["Name"]) and each["Status"] == "Succeeded" for each in reply["Executions"])


async def test_intervals_count_from_the_last_change(workflow):
    """Made at :20, changed at :50 before it could run; from then on every two minutes."""
    async with workflow() as bench:
        await bench.flow(ONE_PASS)
        await scheduled(bench, "@every 2m")
        await bench.advance(90)
        await bench.call("UpdateSchedule", **NAMES, Description="new")

        await bench.advance(60)
        assert await runs(bench) == []
        await bench.advance(181)

        assert [started for started, _ in await runs(bench)] == [
            "2023-11-14T22:16:50.000Z",
            "2023-11-14T22:18:50.000Z",
        ]


async def test_a_disabled_schedule_rests_until_it_is_enabled(workflow):
    """Made disabled, enabled, disabled again."""
    async with workflow() as bench:
        await bench.flow(ONE_PASS)
        await scheduled(bench, "0 * * * * *", Enable="false")
        await bench.advance(120)
        assert bench.timers.next_at() is None
        await bench.call("UpdateSchedule", **NAMES, Enable="true")
        await bench.advance(60)
        await bench.call("UpdateSchedule", **NAMES, Enable="false")
        await bench.advance(300)

        assert [started for started, _ in await runs(bench)] == ["2023-11-14T22:16:00.000Z"]


async def test_runs_go_on_while_earlier_ones_are_under_way(workflow):
    """Three executions of one flow side by side."""
    async with workflow() as bench:
        await bench.flow("version: v1\ntype: flow\nsteps:\n  - {type: wait, name: w, duration: 3600}\n")
        await scheduled(bench)

        await bench.advance(180)

        reply = await bench.call("ListExecutions", FlowName="f", Status="Running")
        assert len(reply["Executions"]) == 3


async def test_deleting_ends_the_runs(workflow):
    """A deleted schedule, and the schedules of a deleted flow; a new flow of the name has none."""
    async with workflow() as bench:
        await bench.flow(ONE_PASS)
        await bench.flow(ONE_PASS, name="g")
        await scheduled(bench)
        await scheduled(bench, FlowName="g")
        await bench.call("DeleteSchedule", **NAMES)
        await bench.call("DeleteFlow", Name="g")
        await bench.flow(ONE_PASS, name="g")

        await bench.advance(600)

        assert await runs(bench) == await runs(bench, "g") == []
        assert (await bench.call("ListSchedules", FlowName="g"))["Schedules"] == []


async def test_a_restart_keeps_the_schedule_and_passes_over_what_was_missed(workflow, tmp_path):
    """Away for 150 s: the runs in between do not happen, the phase of the interval is kept."""
    async with workflow(tmp_path / "state.db") as bench:
        await bench.flow(ONE_PASS)
        await scheduled(bench)
        await scheduled(bench, "0 * * * * *", ScheduleName="cron")
        await bench.advance(30)
        await bench.crash()
        bench.clock.move_to(bench.clock.now() + 150_000)
        await bench.start()
        assert await runs(bench) == []

        await bench.advance(60)

        assert [started for started, _ in await runs(bench)] == [
            "2023-11-14T22:17:00.000Z",
            "2023-11-14T22:17:20.000Z",
        ]


@pytest.mark.parametrize(
    ("begin", "expected"),
    [
        # 2:30 does not exist on the 10th of March 2024 in New York, and 1:30 comes twice on the 3rd of November
        ("2024-03-09T00:00:00", ["2024-03-09T07:30:00.000Z", "2024-03-11T06:30:00.000Z"]),
        ("2024-11-02T12:00:00", ["2024-11-03T05:30:00.000Z", "2024-11-03T06:30:00.000Z", "2024-11-04T06:30:00.000Z"]),
    ],
    ids=["spring", "autumn"],
)
async def test_runs_follow_the_wall_clock_through_summer_time(workflow, begin, expected):
    """A run in the hour that is skipped does not happen, one in the hour that comes twice happens twice."""
    async with workflow() as bench:
        bench.clock.move_to(millis(begin))
        hour = "2" if "03-09" in begin else "1"
        await bench.flow(ONE_PASS)
        await scheduled(bench, f"CRON_TZ=America/New_York 0 30 {hour} * * *")

        await bench.advance(60 * 3600)

        assert [started for started, _ in await runs(bench)] == expected


async def test_a_run_the_clock_has_jumped_over_is_not_made_up(workflow, caplog):
    """Within a minute it still happens; later it counts as missed, and the next one comes at its time."""
    async with workflow() as bench:
        await bench.flow(ONE_PASS)
        await scheduled(bench, "0 0 * * * *")
        start = millis("2023-11-14T23:00:00")
        bench.clock.move_to(start + LATEST_START_MS)
        await bench.advance(0)
        bench.clock.move_to(start + 3600_000 + LATEST_START_MS + 1)
        with caplog.at_level(logging.INFO):
            await bench.advance(0)

        await bench.advance(3600)

        assert [started for started, _ in await runs(bench)] == [
            "2023-11-14T23:01:00.000Z",
            "2023-11-15T01:00:00.000Z",
        ]
        assert "schedule s of flow f has missed a run" in caplog.text


async def test_setting_the_clock_back_counts_runs_anew(workflow):
    """Back by a year: the next run is within the minute, not in a year."""
    async with workflow() as bench:
        await bench.flow(ONE_PASS)
        await scheduled(bench, "0 * * * * *")
        await scheduled(bench, ScheduleName="interval")
        before = bench.clock.now()
        bench.clock._now -= 365 * 86_400_000
        for notice in bench.timers._step_listeners:
            notice(before)
        await bench.settle()

        await bench.advance(60)

        assert [started for started, _ in await runs(bench)] == [
            "2022-11-14T22:14:00.000Z",
            "2022-11-14T22:14:20.000Z",
        ]


async def test_hundreds_of_schedules_are_rows_behind_one_timer(workflow):
    """All of them run at their minute; no tasks and no further timers stand by."""
    async with workflow() as bench:
        await bench.flow(ONE_PASS)
        for number in range(600):
            await bench.call(
                "CreateSchedule", FlowName="f", ScheduleName=f"s{number}", CronExpression=f"0 {number % 2} * * * *"
            )
        await bench.settle()
        assert len(bench.timers) == 1
        assert len(asyncio.all_tasks()) == 1

        await bench.advance(3600)

        rows = bench.database.read("SELECT started_at, count(*) FROM workflow_executions GROUP BY 1").fetchall()
        assert rows == [(millis("2023-11-14T23:00:00"), 300), (millis("2023-11-14T23:01:00"), 300)]


async def test_the_loop_notices_a_clock_that_is_set_back():
    """By more than a second; smaller corrections are nobody's business."""

    class Settable(VirtualClock):
        def step(self, by_ms):
            self._now += by_ms

    clock = Settable()
    timers = LoopTimers(clock, asyncio.get_running_loop())
    noticed = []
    timers.on_step_back(lambda before: noticed.append(clock.now()))
    for step in (-900, 5_000, -5_000):
        clock.step(step)
        timers._wake()

    assert len(noticed) == 1
    timers.close()


async def test_flows_and_schedules_are_found_by_a_part_of_their_names(workflow):
    """In whatever case they are written, in order and no more than asked for; a deleted flow is not there."""
    async with workflow() as bench:
        for flow in ("Orders", "old-orders", "f"):
            await bench.flow(ONE_PASS, name=flow)
        await scheduled(bench, ScheduleName="Nightly")
        await scheduled(bench, FlowName="Orders", ScheduleName="nightly-2")
        flows, schedules = bench.service.flows, bench.service.schedule_store
        before = flows.names_with(WORLD, "orders", 9)
        await bench.call("DeleteFlow", Name="old-orders")

        assert before == ["Orders", "old-orders"]
        assert flows.names_with(WORLD, "orders", 9) == ["Orders"]
        assert schedules.names_with(WORLD, "nightly", 9) == [("Orders", "nightly-2"), ("f", "Nightly")]
        assert schedules.names_with(WORLD, "nightly", 1) == [("Orders", "nightly-2")]


async def test_schedules_run_after_a_review_that_was_broken_off_before_it_began(workflow):
    """A restore can come right after the clock was set back; the first schedule is made after it."""
    async with workflow() as bench:
        await bench.flow(ONE_PASS)

        bench.service._firing._clock_set_back(bench.clock.now())
        await bench.service.suspend()
        await bench.service.resume()
        await scheduled(bench)
        await bench.advance(61)

        assert len(await runs(bench)) == 1
