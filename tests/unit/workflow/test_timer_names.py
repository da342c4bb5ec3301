"""Every timer of an execution has a name that the pages and the command know, in both languages."""

from emulator.kernel.instrumentation import EVENTS
from emulator.services.workflow.engine.language import TIMER_NAMES, TIMERS


def test_every_timer_has_a_name_that_is_translated():
    """Kinds of what comes are the catalogue's; one that is not in them would be shown as the engine calls it."""
    assert TIMER_NAMES.keys() == set(TIMERS)
    assert set(TIMER_NAMES.values()) <= set(EVENTS)
