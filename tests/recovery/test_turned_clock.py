"""A power cut while the clock is ahead: time does not fall back, and what waits goes on."""

import json

import pytest

from emulator.testing import Localyun

pytestmark = pytest.mark.recovery

FLOW = """
version: v1
type: flow
steps:
  - type: wait
    name: rest
    duration: 86400
"""


def kit(emulator):
    keys = json.loads((emulator.state / "keys.json").read_text())
    return Localyun(
        emulator.url, access_key_id=keys["accessKeyId"], access_key_secret=keys["accessKeySecret"],
        account_id=keys["accountId"], region=keys["region"], token=keys["adminToken"],
    )  # fmt: skip


@pytest.mark.parametrize("frozen", [False, True], ids=["running", "frozen"])
def test_time_stays_ahead_after_kill(new_emulator, frozen):
    """The execution that waited for tomorrow ends tomorrow, counted from the time the emulator had."""
    emulator = new_emulator().start()
    localyun = kit(emulator)
    localyun.clock.advance("30d")
    if frozen:
        localyun.clock.freeze()
    run = localyun.flow("rest", FLOW).start({})
    localyun.queue("later").send("parcel", delay_s=3600)
    localyun.clock.advance("30m")
    before = localyun.clock.now()

    localyun.close()
    emulator.kill()
    emulator.start()
    localyun = kit(emulator)

    after = localyun.clock.now()
    assert after == before if frozen else before <= after
    assert (after - before).total_seconds() < 60
    assert localyun.queue("later").counters["delayed"] == 1
    localyun.clock.advance("30m")
    assert localyun.queue("later").counters["active"] == 1
    assert localyun.api.fnf("DescribeExecution", FlowName="rest", ExecutionName=run.name)["Status"] == "Running"
    localyun.clock.advance("23h")
    assert localyun.api.fnf("DescribeExecution", FlowName="rest", ExecutionName=run.name)["Status"] == "Succeeded"
    localyun.close()
