"""What the ``queue`` and ``topic`` commands print: JSON with the API's names, or the same for people."""

from argparse import Namespace
from collections.abc import Sequence

from emulator.cli.failures import DONE
from emulator.cli.mns import Fields
from emulator.cli.output import say, say_json, say_pairs, say_table, short
from emulator.cli.session import wants_json
from emulator.kernel.clock import SECOND, Millis
from emulator.wire.dates import iso_seconds

_IN_SECONDS = frozenset({"CreateTime", "LastModifyTime"})
_IN_MILLISECONDS = frozenset(
    {"EnqueueTime", "FirstDequeueTime", "NextVisibleTime", "PublishTime", "NextTime", "EndTime", "RecordTime"}
)

_CELL_WIDTH = 100


def tell(arguments: Namespace, line: str, value: Fields) -> int:
    """Print what was done: *line*, or *value* as JSON."""
    if wants_json(arguments):
        say_json(value)
    else:
        say(line)
    return DONE


def show(arguments: Namespace, found: Sequence[Fields], *, as_list: bool = True) -> int:
    """Print things with many fields: one block of names and values each, or JSON."""
    if wants_json(arguments):
        say_json(list(found) if as_list else found[0])
        return DONE
    for number, item in enumerate(found):
        if number:
            say()
        say_pairs({name: readable(name, value) for name, value in item.items()})
    return DONE


def show_table(arguments: Namespace, columns: dict[str, str], found: Sequence[Fields]) -> int:
    """Print things as rows; *columns* maps headings to the names of fields. JSON has all fields."""
    if wants_json(arguments):
        say_json(list(found))
    else:
        rows = [[_cell(readable(name, item.get(name))) for name in columns.values()] for item in found]
        say_table(list(columns), rows)
    return DONE


def _cell(value: object) -> object:
    return short(value, _CELL_WIDTH) if isinstance(value, str) else value


def readable(name: str, value: object) -> object:
    """Return a field for people: instants as dates, properties as ``name=value``."""
    if isinstance(value, int) and name in _IN_SECONDS:
        return iso_seconds(Millis(value * SECOND))
    if isinstance(value, int) and name in _IN_MILLISECONDS:
        return iso_seconds(Millis(value)) if value else "-"
    if isinstance(value, list):
        return ", ".join(f"{item['Name']}={item['Value']}" for item in value)
    return value
