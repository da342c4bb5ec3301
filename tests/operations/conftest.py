"""What the tests of operations call: every operation that an official client can make."""

import pytest

from tests.operations.recording import every_operation
from tests.operations.running import turn


@pytest.fixture(scope="session")
def recorded():
    """Every operation, those first that make things."""
    pytest.importorskip("alibabacloud_fc20230330")
    pytest.importorskip("alibabacloud_fc_open20210406")
    pytest.importorskip("alibabacloud_mns_open20220119")
    pytest.importorskip("mns")
    return sorted(every_operation(), key=turn)
