"""Flows of the old language converted to state machines."""

from emulator.services.workflow.languages.conversion.calls import NotConvertible
from emulator.services.workflow.languages.conversion.states import Converted, convert

__all__ = ["Converted", "NotConvertible", "convert"]
