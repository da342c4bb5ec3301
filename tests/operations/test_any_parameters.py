"""Every operation of every official Python SDK, called wrongly: refused in the service's own form, and nothing else.

Never an internal error, never a traceback in the log, never a hang, never a change of state by a call that was refused.
``python3 -m tests.operations COUNT SEED`` runs more variations of each operation.
"""

import logging
import random

import pytest

from tests.operations.calling import running
from tests.operations.recording import Operation, every_operation
from tests.operations.running import torment

VARIATIONS = 3
SEED = 20261122


@pytest.fixture(scope="module")
def operations():
    pytest.importorskip("alibabacloud_fc20230330")
    pytest.importorskip("alibabacloud_fc_open20210406")
    pytest.importorskip("alibabacloud_mns_open20220119")
    pytest.importorskip("mns")
    return every_operation()


def test_every_client_has_been_looked_through(operations):
    """The introspection finds what the clients offer; an update of one that hides something is noticed."""
    found: dict[str, list[Operation]] = {}
    for operation in operations:
        found.setdefault(operation.sdk, []).append(operation)

    least = {
        "fc20230330": 70, "fc_open20210406": 60, "fc2": 45, "fnf20190315": 28, "aliyunsdkfnf": 18, "mns": 26,
        "mns_open20220119": 26,
    }  # fmt: skip
    assert {sdk: len(found[sdk]) >= count for sdk, count in least.items()} == dict.fromkeys(least, True)


async def test_wrong_parameters_are_refused_and_change_nothing(operations, tmp_path):
    """The promises hold for all operations, as they are meant, without parameters, and with random damage."""

    logging.getLogger("emulator").setLevel(logging.INFO)

    async with running(tmp_path) as site:
        findings = await torment(site, operations, VARIATIONS, random.Random(SEED))

    assert findings.complaints == []
    assert findings.accepted > len(operations) // 4
    assert findings.refused > len(operations)
    assert len(findings.never_accepted) < len(operations) // 2, findings.never_accepted
