"""Give a flow a schedule, and follow one execution: one started now as the schedule would, or the schedule's own."""

import json
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from workflow_client import POLL_INTERVAL_S, ServiceRefused, _, command_line, main, say

FLOW = "fnf-demo-timed-schedule"
SCHEDULE = "demo-schedule"
FIRES_WITHIN_S = 90


def keep_time(session):
    """Create flow and schedule, follow one execution; true when it greets the world."""
    with session.flow(FLOW, Path(__file__).with_name("flow.yml")):
        schedule = create_schedule(session)
        try:
            show_resources(schedule)
            execution = wait_for_firing(session) if session.given.wait else fire(session)
            finished = session.follow(FLOW, execution)
        finally:
            if not session.keeps:
                session.call("DeleteSchedule", FlowName=FLOW, ScheduleName=SCHEDULE)
                say(_("schedule {name} deleted", name=SCHEDULE))
    return finished["Status"] == "Succeeded"


def create_schedule(session):
    """Create the schedule, or change the one that is there, and return it."""
    payload = "" if json.loads(session.given.input) is None else session.given.input
    settings = {"FlowName": FLOW, "ScheduleName": SCHEDULE, "CronExpression": session.given.cron, "Enable": True}
    if payload:
        settings["Payload"] = payload
    try:
        session.call("CreateSchedule", **settings)
    except ServiceRefused as error:
        if error.code != "ScheduleAlreadyExists":
            raise
        session.call("UpdateSchedule", **settings)
    return session.call("DescribeSchedule", FlowName=FLOW, ScheduleName=SCHEDULE)


def show_resources(schedule):
    """Print what the application consists of."""
    rows = [
        ("Function", "ALIYUN::FC::Function", "fnf-demo/hello"),
        ("Flow", "ALIYUN::FNF::Flow", FLOW),
        ("Schedule", "ALIYUN::FNF::Schedule", f"{SCHEDULE} ({schedule['CronExpression']})"),
    ]
    say(_("name       type                   physical name"))
    for name, kind, physical in rows:
        say(f"{name:<10} {kind:<22} {physical}")


def fire(session):
    """Start what the schedule starts and return the execution's name."""
    schedule = session.call("DescribeSchedule", FlowName=FLOW, ScheduleName=SCHEDULE)
    say(_("firing {name} now, without waiting for its time", name=SCHEDULE))
    return session.start(FLOW, schedule.get("Payload") or "{}")


def wait_for_firing(session):
    """Return the name of the first execution the schedule starts from now on.

    Raises: ServiceRefused; TimeoutError when none is started in time.
    """
    known = executions(session)
    say(_("waiting for {name} to fire", name=SCHEDULE))
    deadline = time.monotonic() + FIRES_WITHIN_S
    while time.monotonic() < deadline:
        if started := executions(session) - known:
            return started.pop()
        time.sleep(POLL_INTERVAL_S)
    raise TimeoutError(_("{name} did not fire within {seconds} s", name=SCHEDULE, seconds=FIRES_WITHIN_S))


def executions(session):
    """Return the names of the flow's newest executions."""
    return {each["Name"] for each in session.call("ListExecutions", FlowName=FLOW, Limit=99).get("Executions") or []}


if __name__ == "__main__":
    parser = command_line("Run a flow by a schedule.", "null")
    parser.add_argument("--cron", default="@every 1m", help="when to run (default: @every 1m)")
    parser.add_argument("--wait", action="store_true", help="wait for the schedule's own firing, up to a minute")
    main(keep_time, parser)
