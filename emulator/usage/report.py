"""Usage as shown to users: a row for each item and resource, and the sum of each item."""

from collections.abc import Callable, Mapping
from typing import Any

from emulator.kernel.tasks import in_turns
from emulator.usage.items import ITEMS
from emulator.usage.meter import Key, Totals

_UNITS = {item.name: item.unit[0] for item in ITEMS}
_DIGITS = 6
_AT_ONCE = 1_000
"""Rows made in one turn of the loop."""


async def shown(totals: Totals) -> dict[str, Any]:
    """Return ``items``: sums by name, and ``rows``: item, resource, kind, amount, unit, in the order of the items."""
    by_item: dict[str, list[Key]] = {name: [] for name in _UNITS}
    async for key in in_turns(totals, _AT_ONCE):
        if key[0] in by_item:
            by_item[key[0]].append(key)
    items = {name: _rounded(amount) for name, keys in by_item.items() if (amount := sum(map(totals.__getitem__, keys)))}
    rows = []
    async for item, resource, kind in in_turns((key for keys in by_item.values() for key in sorted(keys)), _AT_ONCE):
        amount = _rounded(totals[item, resource, kind])
        rows.append({"item": item, "resource": resource, "kind": kind, "amount": amount, "unit": _UNITS[item]})
    return {"items": items, "rows": rows}


def of_resources(totals: Totals, owns: Callable[[str, str], bool]) -> dict[tuple[str, str, str], float]:
    """Return the totals of the resources for which *owns* (service, resource) is true."""
    return {key: amount for key, amount in totals.items() if owns(key[0].partition(".")[0], key[1])}


def names_of(record: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Return (service, name) of each resource in a deployment's record, as metering names them."""
    names = set()
    for entry in record["resources"]:
        service, _, kind = str(entry["kind"]).partition(".")
        name = "/".join(map(str, entry["identity"]))
        match service, kind:
            case ("mns", "queue" | "topic"):
                names.add(("mns", f"{kind}s/{name}"))
            case ("fc" | "fc3", "function"):
                names.add(("fc", name))
            case ("fnf", "flow"):
                names.add(("fnf", name))
            case ("oss", "bucket"):
                names.add(("oss", name))
            case _:
                pass
    return names


def _rounded(amount: float) -> float:
    whole = round(amount, _DIGITS)
    return int(whole) if whole == int(whole) else whole
