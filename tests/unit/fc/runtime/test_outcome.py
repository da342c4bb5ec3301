"""How the end of a run is judged where two ends meet."""

from types import SimpleNamespace

import pytest

from emulator.services.fc.runtime.outcome import judged
from emulator.services.fc.runtime.process import Exit


@pytest.mark.parametrize(
    ("out_of_memory", "said"), [(True, "Process exited unexpectedly"), (False, "Function timed out after 1 seconds")]
)
def test_a_run_that_is_to_use_its_memory_up_does_not_end_by_time(out_of_memory, said):
    """A busy machine fills it too slowly, and what a fault injects does not depend on that."""
    late = SimpleNamespace(passed=True, elapsed_ms=lambda: 1001.0)

    outcome = judged(Exit(memory_kb=1, unread=True), late, 1.0, float, 90.0, 100, out_of_memory=out_of_memory)

    assert outcome.error.startswith(said)
    assert outcome.is_last
