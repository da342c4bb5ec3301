"""``usage``: usage as the cloud would meter it, and its cost by a price list."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from emulator.cli.client import connect
from emulator.cli.output import (
    CommandFailed,
    WrongUsage,
    _,
    enumerated,
    is_chinese,
    note,
    say,
    say_json,
    say_table,
    tell,
    unreadable,
    wants_json,
)
from emulator.config import Settings
from emulator.deploy.model import FileProblems
from emulator.kernel.phrases import said
from emulator.usage.items import BY_NAME
from emulator.usage.prices import Line, PriceList, estimate, read_prices, unpriced

_MOST_RESOURCES = 40

_MONEY = ",.4f"
_SMALL, _LARGE = 1e-4, 1e6
"""Amounts outside of these are written with an exponent in six digits."""


def run(arguments: Namespace, settings: Settings) -> int:
    """Print usage, with ``--prices`` also its cost, or set the counters to 0.

    Raises: WrongUsage for an invalid price list; CommandFailed.
    """
    if arguments.scale <= 0:
        raise WrongUsage(_("--scale takes a number above 0"))
    prices = _read(arguments.prices) if arguments.prices else None
    client = connect(settings)
    if arguments.reset:
        return tell(arguments, _("The counters are now 0."), client.admin("POST", "usage/reset"))
    narrowed = {name: getattr(arguments, name) for name in ("execution", "deployment") if getattr(arguments, name)}
    usage = client.admin("GET", "usage", **narrowed)
    lines = estimate(usage["items"], prices, arguments.scale) if prices else []
    if wants_json(arguments):
        say_json(_told(usage, lines, prices, arguments.scale))
    else:
        _show(usage, arguments.scale)
        if prices is not None:
            _show_costs(usage["items"], lines, prices)
    return 0


def _read(file: str) -> PriceList:
    try:
        return read_prices(Path(file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUsage(unreadable(file, error)) from error
    except FileProblems as error:
        raise CommandFailed("\n".join(said(each.within(file), _) for each in error.problems)) from error


def _told(usage: Mapping[str, Any], lines: Sequence[Line], prices: PriceList | None, scale: float) -> dict[str, Any]:
    """Return the output of ``--json``."""
    told: dict[str, Any] = {
        "items": {item: amount * scale for item, amount in usage["items"].items()},
        "rows": [{**row, "amount": row["amount"] * scale} for row in usage["rows"]],
    }
    if prices is None:
        return told
    costs = [
        {"name": each.name, "units": each.units, "free": each.free, "billed": each.billed, "cost": each.cost}
        for each in lines
    ]
    assumed = {item: BY_NAME[item].assumed[0] for each in lines for item in each.assumed}
    return told | {
        "estimate": {
            "currency": prices.currency,
            "lines": costs,
            "total": sum(each.cost for each in lines),
            "assumed": assumed,
            "unpriced": unpriced(usage["items"], prices),
        }
    }


def _show(usage: Mapping[str, Any], scale: float) -> None:
    if not usage["rows"]:
        note(_("Nothing has been used yet."))
        return
    totals = [
        (item, amount_text(amount * scale), BY_NAME[item].unit[is_chinese()]) for item, amount in usage["items"].items()
    ]
    say_table(("item", "amount", "unit"), totals)
    say()
    rows = [
        (row["item"], row["resource"], row["kind"], amount_text(row["amount"] * scale))
        for row in usage["rows"][:_MOST_RESOURCES]
    ]
    say_table(("item", "resource", "kind", "amount"), rows)
    left = len(usage["rows"]) - len(rows)
    if left:
        note(_("{count} more rows: --json prints all", count=left))


def _show_costs(amounts: Mapping[str, float], lines: Sequence[Line], prices: PriceList) -> None:
    say()
    rows = [
        (each.name, *map(amount_text, (each.units, each.free, each.billed)), f"{each.cost:{_MONEY}}") for each in lines
    ]
    total = f"{sum(each.cost for each in lines):{_MONEY}}"
    say_table(("price", "units", "free", "billed", prices.currency), [*rows, (_("total"), "", "", "", total)])
    say()
    say(_("An estimate, as if this were the usage of one month and nothing else used the free quota. Assumptions:"))
    language = is_chinese()
    for item in dict.fromkeys(item for each in lines for item in each.assumed):
        say("  " + _("{field}: {message}", field=item, message=BY_NAME[item].assumed[language]))
    left = unpriced(amounts, prices)
    if left:
        say(_("No price for: {items}", items=enumerated(left)))


def amount_text(amount: float) -> str:
    """Return an amount for people: whole numbers unchanged, others with six significant digits and no exponent."""
    if amount == int(amount) or abs(amount) >= _LARGE:
        return f"{amount:,.0f}"
    return f"{amount:,.6g}" if abs(amount) >= _SMALL else f"{amount:.10f}".rstrip("0").rstrip(".")
