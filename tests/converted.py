"""A flow of the old language and the state machine made of it, compared by what executions of both came to."""

import re
from collections.abc import Mapping
from typing import Any

from emulator.services.workflow.rehearsal.replay import alike

_WRAPPED = "here it is the member Local"
_NULLS = re.compile("is null (in the output )?here")


def difference(before: Mapping[str, Any], after: Mapping[str, Any], machine: str) -> str:
    """Return what came otherwise of a state machine, with the text *machine*; empty when nothing did.

    *before* and *after* have members of `cases.actual_of`. What the text says in remarks is allowed for: a wrapper
    around the output, and null in the place of what is absent or cannot be said.
    """
    for name in ("status", "error", "calls"):
        if after.get(name) != before.get(name):
            return f"{name} was {before.get(name)!r}, of the converted flow {after.get(name)!r}"
    expected, found = before.get("output"), after.get("output")
    if _WRAPPED in machine.partition("Type:")[0] and isinstance(found, dict):
        found = found["Local"]
    is_same = _alike_but_nulls(found, expected) if _NULLS.search(machine) else alike(found, expected)
    return "" if is_same else f"output was {expected!r}, of the converted flow {found!r}"


def _alike_but_nulls(found: Any, expected: Any) -> bool:
    if found is None:
        return True
    if isinstance(found, dict) and isinstance(expected, dict):
        names = found.keys() | expected.keys()
        return all(name in found and _alike_but_nulls(found[name], expected.get(name)) for name in names)
    if isinstance(found, list) and isinstance(expected, list):
        pairs = zip(found, expected, strict=False)
        return len(found) == len(expected) and all(_alike_but_nulls(one, other) for one, other in pairs)
    return alike(found, expected)
