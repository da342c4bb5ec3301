"""Schemas of tools' arguments, from the rows that the admin API reads the same arguments by."""

from types import ModuleType
from typing import Any

from pydantic import Field

from emulator.lab import admin as lab
from emulator.lab.faults import SERVICES
from emulator.usage import admin as usage
from emulator.wire.operation import operations_of
from emulator.wire.schema.json_schema import SCHEMAS


def _argument(module: ModuleType, operation: str, name: str) -> Any:
    """Return the field for pydantic of an argument: its help and its schema."""
    declared = next(each for each in operations_of(module) if each.name == operation)
    row = next(each for each in declared.parameters if each.name == name)
    known = SCHEMAS.reader(row.kind)
    known.pop("items", None)  # the argument's own type says already that the items are strings
    return Field(description=row.help[0], json_schema_extra=known)


USED_BY_EXECUTION = _argument(usage, "usage", "execution")
USED_BY_DEPLOYMENT = _argument(usage, "usage", "deployment")
ORDER = _argument(lab, "set-schedule", "order")
VERDICTS = _argument(lab, "set-schedule", "faults")
PATIENCE = _argument(lab, "set-schedule", "patience")
FAULTY_SERVICE = Field(description="match only calls of this service", json_schema_extra={"enum": ["", *SERVICES]})
