"""Usage as it is shown: a row for each item and resource, and the sum of each item."""

from collections.abc import Callable, Mapping
from typing import Any

from emulator.usage.items import ITEMS
from emulator.usage.meter import Totals

_ORDER = {item.name: number for number, item in enumerate(ITEMS)}
_DIGITS = 6


def shown(totals: Totals) -> dict[str, Any]:
    """Return ``items``: sums by name, and ``rows``: item, resource, kind, amount, unit, in the order of the items."""
    known = sorted((key for key in totals if key[0] in _ORDER), key=lambda key: (_ORDER[key[0]], *key[1:]))
    sums = {item.name: sum(totals[key] for key in known if key[0] == item.name) for item in ITEMS}
    return {
        "items": {name: _rounded(amount) for name, amount in sums.items() if amount},
        "rows": [
            {
                "item": item,
                "resource": resource,
                "kind": kind,
                "amount": _rounded(totals[item, resource, kind]),
                "unit": ITEMS[_ORDER[item]].unit[0],
            }
            for item, resource, kind in known
        ],
    }


def of_resources(totals: Totals, owns: Callable[[str, str], bool]) -> dict[tuple[str, str, str], float]:
    """Return the totals of the resources that *owns* says yes to, asked with the service and the resource."""
    return {key: amount for key, amount in totals.items() if owns(key[0].partition(".")[0], key[1])}


def names_of(record: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Return the services and names by which the resources of a deployment's record are metered."""
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
