"""Usage as the cloud would meter it: the sum of each item, and a plot by resource, the largest first."""

from itertools import groupby
from typing import Any

from flask import Blueprint, g, render_template
from werkzeug.wrappers import Response

from emulator.console.view import done, view
from emulator.usage.items import BY_NAME

blueprint = Blueprint("usage", __name__, url_prefix="/usage")

BARS = 12
"""The most rows in the plot of an item; the rest is summed up in one."""


@blueprint.get("")
def index() -> str:
    """Show the counters."""
    return render_template("usage.html", items=plots(view().admin("GET", "/usage"), g.language == "zh"))


@blueprint.post("")
def reset() -> Response:
    """Set the counters to 0."""
    view().admin("POST", "/usage/reset")
    return done("usage.index")


def plots(usage: dict[str, Any], chinese: bool) -> list[dict[str, Any]]:
    """Return the items that were used, with rows whose ``share`` is a per mille of the longest bar."""
    items = []
    for name, group in groupby(usage["rows"], lambda row: row["item"]):
        rows = sorted(group, key=lambda row: -row["amount"])
        bars = [{**row, "name": row["resource"]} for row in rows[:BARS]]
        if rest := rows[BARS:]:
            bars.append({"name": "", "kind": "", "amount": sum(row["amount"] for row in rest), "others": len(rest)})
        longest = max(bar["amount"] for bar in bars)
        for bar in bars:
            bar["share"] = round(bar["amount"] / longest * 1000)
        item = BY_NAME[name]
        items.append(
            {
                "name": name,
                "total": usage["items"][name],
                "unit": item.unit[chinese],
                "help": item.help[chinese],
                "assumed": item.assumed[chinese],
                "bars": bars,
            }
        )
    return items
