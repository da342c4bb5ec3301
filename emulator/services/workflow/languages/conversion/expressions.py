"""Expressions of the new language as texts: constants, paths, a choice between two values."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from emulator.services.workflow.languages.statemachine.expressions import SUFFIX

State = dict[str, Any]
"""A state, or members of one, as a definition writes them."""


class Expression:
    """An expression in place of a value."""

    def __init__(self, text: str) -> None:
        self.text = text


class Found(NamedTuple):
    """The place of a value: an expression for it, and one for whether it exists, empty when it certainly does."""

    text: str
    there: str = ""


def chosen(test: str, value: str, other: str) -> str:
    """Return an expression whose value is *value* where *test* holds, else *other*."""
    return f'get({{"true": {value}, "false": {other}}}, format("{{}}", {test}))'


def quoted(text: str) -> str:
    """Return a text as a string literal of an expression."""
    return json.dumps(text, ensure_ascii=False)


def member(key: str) -> str:
    """Return the segment of a path for a key."""
    return f".{key}" if key.isidentifier() and key.isascii() else f"[{quoted(key)}]"


def members(segments: Iterable[Any]) -> str:
    """Return the segments of a path for keys and indexes."""
    return "".join(f"[{each}]" if isinstance(each, int) else member(str(each)) for each in segments)


def literal(value: Any) -> str:
    """Return a template as an expression."""
    if isinstance(value, dict):
        parts = []
        for key, item in value.items():
            name = key.removesuffix(SUFFIX)
            parts.append(f"{quoted(name)}: {item if name != key else literal(item)}")
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, list):
        return f"[{', '.join(literal(item) for item in value)}]"
    return json.dumps(value, ensure_ascii=False)


def under(name: str, template: Any) -> State:
    """Return a template as the member *name* of a constructor, with the suffix when it is an expression."""
    return {name + SUFFIX: template.text} if isinstance(template, Expression) else {name: template}
