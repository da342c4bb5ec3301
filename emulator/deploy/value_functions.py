"""The functions of a template whose value follows from their arguments alone.

Each takes the evaluated argument and may raise ValueError, TypeError or LookupError when it makes no sense;
`Misuse` says so in words of its own.

Source: Resource Orchestration Service, functions of templates.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any

NOTHING = object()
"""What ``ALIYUN::NoValue`` stands for: the property is not there."""

_LARGEST_TEXT = 1024 * 1024


class Misuse(ValueError):
    """Arguments that make no sense, described in the function's own words."""


def written(value: Any) -> str:
    """Return a value as it is written into a text."""
    if value is None or value is NOTHING:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _join(argument: Any) -> str:
    delimiter, items = argument
    if not isinstance(delimiter, str) or not isinstance(items, list):
        raise Misuse("takes a text and a list")
    return delimiter.join(map(written, items))


def _split(argument: Any) -> list[str]:
    delimiter, text = argument
    if not isinstance(delimiter, str) or not isinstance(text, str) or not delimiter:
        raise Misuse("takes two texts, the first of which is not empty")
    return text.split(delimiter)


def _select(argument: Any) -> Any:
    index, items, *default = argument
    if isinstance(items, str):
        items = items.split(",")
    if isinstance(items, dict):
        if str(index) in items:
            return items[str(index)]
    elif isinstance(items, list):
        number = int(str(index)[:9])
        if -len(items) <= number < len(items):
            return items[number]
    else:
        raise Misuse("takes an index and a list or a map")
    if not default:
        raise Misuse(f"there is no item {str(index)[:40]}")
    return default[0]


def _replace(argument: Any) -> str:
    changes, text = argument
    if not isinstance(changes, dict) or not isinstance(text, str):
        raise Misuse("takes a map and a text")
    for old, new in changes.items():
        if old:
            text = text.replace(old, written(new))
        if len(text) > _LARGEST_TEXT:
            raise Misuse("the text becomes too large")
    return text


def _equals(argument: Any) -> bool:
    first, second = argument
    return first is second or written(first) == written(second)


def _encode(argument: Any) -> str:
    return b64encode(written(argument).encode()).decode()


def _decode(argument: Any) -> str:
    return b64decode(str(argument), validate=True).decode()


def _merged(argument: Any) -> list[Any]:
    return [item for items in argument for item in items]


def _add(argument: Any) -> Any:
    first, *others = argument
    if isinstance(first, dict):
        return {key: item for each in argument for key, item in each.items()}
    return _merged(argument) if isinstance(first, list) else first + sum(others)


def _contains(argument: Any) -> bool:
    items, item = argument
    return item in items


AROUND_TOKENS = frozenset({"Fn::Join", "Fn::Str", "Fn::ListMerge", "Fn::Equals", "Fn::Replace"})
"""Functions that may have tokens among their values: they look at none of them."""

VALUE_FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
    "Fn::Join": _join,
    "Fn::Split": _split,
    "Fn::Select": _select,
    "Fn::Replace": _replace,
    "Fn::Equals": _equals,
    "Fn::Base64Encode": _encode,
    "Fn::Base64": _encode,
    "Fn::Base64Decode": _decode,
    "Fn::Str": written,
    "Fn::Length": len,
    "Fn::ListMerge": _merged,
    "Fn::Add": _add,
    "Fn::Contains": _contains,
}
