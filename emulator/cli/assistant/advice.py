"""Advice added to the errors an assistant gets: the names that exist, or a remedy."""

import json
from typing import Any, Final

from emulator.cli import error_codes, pages
from emulator.cli.output import CommandFailed

Words = tuple[str, ...]

_LISTS: Final[dict[str, Words]] = {
    "FlowNotExists": ("flow", "list"),
    "QueueNotExist": ("queue", "list"),
    "TopicNotExist": ("topic", "list"),
    "FunctionNotFound": ("status",),
    "ServiceNotFound": ("status",),
}
"""By the code of an error for a missing resource: the command that lists the existing ones."""

_KEPT: Final = frozenset({"mock", "fault", "checkpoint"})
"""Commands for resources of the lab that have ids; each has ``list``."""

_SAID: Final = frozenset({"InvalidArgument", "InvalidParameter"})
"""Codes whose texts say what is allowed, so that the page of errors adds nothing."""


def listing(code: str, words: Words) -> Words | None:
    """Return the command that lists existing resources, after *words* failed with *code*; None when there is none."""
    match code, words:
        case "NotFound", (group, *_) if group in _KEPT:
            return (group, "list")
        case "ExecutionNotExists", ("flow", "history", flow, *_):
            return ("flow", "list", flow)
        case "ExecutionNotExists", (*_, option) if option.startswith("--execution="):
            return ("flow", "list", option.removeprefix("--execution=").partition("/")[0])
        case "InvalidArgument", ("usage", *options) if any(each.startswith("--deployment=") for each in options):
            return ("deployments",)
        case _:
            return _LISTS.get(code)


def names_in(content: str) -> list[str]:
    """Return the names, or else the ids, in the JSON of a list."""
    read = json.loads(content)
    rows = read.get("functions", []) if isinstance(read, dict) else read
    return [_name(row) for row in rows]


def _name(row: Any) -> str:
    if not isinstance(row, dict):
        return str(row)
    return str(next((row[key] for key in ("name", "Name", "QueueName", "TopicName", "id") if key in row), row))


def instead(text: str, names: list[str]) -> str:
    """Return an error followed by the existing names."""
    return f"{_sentence(text)} There are: {', '.join(names) or 'none'}."


def with_remedy(text: str, words: Words) -> str:
    """Return an error followed by the advice of the page of errors."""
    code = text.partition(":")[0]
    if code == "NotFound" and words[0] == "trace":
        return f"{_sentence(text)} trace takes an id that a tool has returned, or FLOW/EXECUTION."
    if code in _SAID:
        return text
    if words[0] == "export":
        return text.removesuffix(", or overwrite it with --overwrite")
    try:
        return f"{_sentence(text)} What to do: {pages.plain(error_codes.explain(code).remedy)}."
    except CommandFailed:
        return text


def explained(code: str) -> str:
    """Return the explanation of an error code, "" for a word that is not one."""
    try:
        told = error_codes.explain(code)
    except CommandFailed:
        return ""
    parts = (("meaning", told.meaning), ("causes", told.causes), ("what to do", told.remedy))
    lines = [told.code, *(f"{name}: {pages.plain(text)}" for name, text in parts)]
    return "\n".join([*lines, *(f"{each.service} {each.status}: {each.text}" for each in told.answered)])


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
