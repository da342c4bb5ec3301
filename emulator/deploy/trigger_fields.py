"""Triggers: what each type's configuration may hold, in the spellings of the different files.

The emulator matches the names of a configuration without regard to case; here a name it would ignore is a problem.

Source: Funcraft's specification for the events of a function; the component ``fc`` for ``Key.Prefix``.
"""

from collections.abc import Callable, Mapping
from typing import Any

from emulator.deploy.part import Part, suggestion
from emulator.deploy.shapes import anything, list_of, number, switch, text, text_map, texts

Reader = Callable[[Part, bool], Any]


def _filter(part: Part, capital: bool) -> Any:
    """Read which objects count: ``{Key: {Prefix, Suffix}}``."""
    return _known(part, {"key": ("key", lambda key, _: _known(key, _PREFIX, capital))}, capital)


def _lower(part: Part, capital: bool) -> Any:
    """Read a word; templates write it in capitals."""
    found = text(part, capital)
    return found.lower() if found else found


_PREFIX: Mapping[str, tuple[str, Reader]] = {"prefix": ("prefix", text), "suffix": ("suffix", text)}

_CONFIGS: Mapping[str, Mapping[str, tuple[str, Reader]]] = {
    "http": {
        "authtype": ("authType", _lower),
        "methods": ("methods", texts),
        "disableurlinternet": ("disableURLInternet", switch),
        "authconfig": ("authConfig", anything),
        "corsconfig": ("corsConfig", anything),
    },
    "timer": {
        "cronexpression": ("cronExpression", text),
        "payload": ("payload", text),
        "enable": ("enable", switch),
    },
    "oss": {"events": ("events", texts), "filter": ("filter", _filter)},
    "mns_topic": {
        "filtertag": ("filterTag", text),
        "notifycontentformat": ("notifyContentFormat", text),
        "notifystrategy": ("notifyStrategy", text),
    },
    "log": {
        "sourceconfig": ("sourceConfig", anything),
        "jobconfig": ("jobConfig", anything),
        "logconfig": ("logConfig", anything),
        "functionparameter": ("functionParameter", text_map),
        "enable": ("enable", switch),
    },
    "cdn_events": {
        "eventname": ("eventName", text),
        "eventversion": ("eventVersion", text),
        "notes": ("notes", text),
        "filter": ("filter", anything),
    },
    "rds": {
        "subscriptionobjects": ("subscriptionObjects", list_of(text)),
        "retry": ("retry", number),
        "concurrency": ("concurrency", number),
        "eventformat": ("eventFormat", text),
    },
    "tablestore": {},
}
"""Names in lower case -> the API's name and the reader. A type that is missing here (eventbridge) takes anything."""

TYPES = frozenset({*_CONFIGS, "eventbridge"})


def config(part: Part, kind: str) -> Any:
    """Return the configuration of a trigger of type *kind*."""
    table = _CONFIGS.get(kind)
    return part.value if table is None else _known(part, table, capital=False)


def _known(part: Part, table: Mapping[str, tuple[str, Reader]], capital: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for entry in part.entries():
        name, read = table.get(entry.name.lower(), ("", anything))
        if not name:
            known = [name for name, _ in table.values()]
            entry.problem(f"there is no such property{suggestion(entry.name, known)}")
        elif entry.value is not None:
            found[name] = read(entry, capital)
    return found
