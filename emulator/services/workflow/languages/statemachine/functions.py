"""The functions of expressions; the table `FUNCTIONS` has their names and numbers of arguments.

Source: intrinsic functions, CloudFlow documentation. Assumed: the names ``toBase64`` and ``jsonToString``, the order of
the arguments of ``regexMatchString``, ``get`` and ``randomInt``, that the upper end of ``randomInt`` is left out, the
order of ``mapKeys`` and ``mapValues``, and all that happens for arguments of a wrong kind.
"""

import base64
import hashlib
from collections.abc import Callable
from functools import lru_cache
from itertools import chain
from typing import Any, Final, NamedTuple

from emulator.services.workflow.engine.json_text import NotAnObject, canonical, parse_value
from emulator.services.workflow.engine.language import EvaluationError
from emulator.services.workflow.languages.statemachine.patterns import Pattern, PatternError
from emulator.services.workflow.languages.terms import Evaluation
from emulator.services.workflow.languages.values import compare

Function = Callable[[list[Any], Evaluation], Any]
"""A function of the language: takes its arguments, whose number was checked, and may raise EvaluationError."""

MANY: Final = 1_000
"""The most arguments of a function that takes any number; assumed."""


class Known(NamedTuple):
    """A function and how many arguments it takes."""

    function: Function
    least: int
    most: int


def _kind(value: Any) -> str:
    for kind, name in ((bool, "a boolean"), (str, "text"), (list, "an array"), (dict, "a map"), (type(None), "null")):
        if isinstance(value, kind):
            return name
    return "a number"


def _wrong(name: str, takes: str, value: Any) -> EvaluationError:
    return EvaluationError(f"{name}() takes {takes}, not {_kind(value)}")


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(name, "text", value)
    return value


def _array(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(name, "an array", value)
    return value


def _map(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(name, "a map", value)
    return value


def _whole(name: str, value: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(name, "whole numbers", value)
    return value


def _written(value: Any, evaluation: Evaluation) -> str:
    """Return *value* as JSON text."""
    evaluation.budget.weigh(value)
    return canonical(value)


def _array_contains(arguments: list[Any], evaluation: Evaluation) -> Any:
    array = _array("arrayContains", arguments[0])
    evaluation.budget.weigh(arguments)
    return any(_same(item, arguments[1]) for item in array)


def _same(left: Any, right: Any) -> bool:
    return type(left) is type(right) and left == right if _plain(left, right) else compare("==", left, right)


def _plain(left: Any, right: Any) -> bool:
    """Whether one of the two is text or a boolean, which equals only a value of its own type."""
    return isinstance(left, str | bool) or isinstance(right, str | bool)


def _array_unique(arguments: list[Any], evaluation: Evaluation) -> Any:
    seen: dict[str, Any] = {}
    for item in _array("arrayUnique", arguments[0]):
        seen.setdefault(_written(item, evaluation), item)
    return list(seen.values())


def _to_array(arguments: list[Any], evaluation: Evaluation) -> Any:
    evaluation.budget.weigh(arguments)
    return arguments


def _format(arguments: list[Any], evaluation: Evaluation) -> Any:
    pieces = _text("format", arguments[0]).split("{}")
    values = [each if isinstance(each, str) else _written(each, evaluation) for each in arguments[1:]]
    gaps = [*values[: len(pieces) - 1], *["{}"] * (len(pieces) - 1 - len(values))]
    evaluation.budget.spend(sum(len(each) for each in chain(pieces, gaps)))
    return "".join(chain.from_iterable(zip(pieces, [*gaps, ""], strict=True)))


def _length(arguments: list[Any], evaluation: Evaluation) -> Any:
    if not isinstance(arguments[0], str | list | dict):
        raise _wrong("length", "text, an array or a map", arguments[0])
    return len(arguments[0])


def _split(arguments: list[Any], evaluation: Evaluation) -> Any:
    text, separator = (_text("split", each) for each in arguments)
    evaluation.budget.spend(2 * len(text))
    return text.split(separator) if separator else list(text)


@lru_cache(maxsize=64)
def _compiled(text: str) -> Pattern:
    return Pattern(text)


def _regex_match(arguments: list[Any], evaluation: Evaluation) -> Any:
    pattern, text = (_text("regexMatchString", each) for each in arguments)
    evaluation.budget.spend(10 * len(pattern))
    try:
        compiled = _compiled(pattern)
    except PatternError as error:
        raise EvaluationError(f"regexMatchString(): {error}") from error
    return compiled.found_in(text, lambda work: evaluation.budget.spend(10 * work))


def _map_keys(arguments: list[Any], evaluation: Evaluation) -> Any:
    evaluation.budget.weigh(arguments[0])
    return sorted(_map("mapKeys", arguments[0]))


def _map_values(arguments: list[Any], evaluation: Evaluation) -> Any:
    evaluation.budget.weigh(arguments[0])
    return [value for _, value in sorted(_map("mapValues", arguments[0]).items())]


def _from_base64(arguments: list[Any], evaluation: Evaluation) -> Any:
    text = _text("fromBase64", arguments[0])
    evaluation.budget.spend(len(text))
    try:
        return base64.b64decode(text, validate=True).decode()
    except ValueError as error:
        raise EvaluationError("fromBase64() takes the Base64 form of UTF-8 text") from error


def _to_base64(arguments: list[Any], evaluation: Evaluation) -> Any:
    text = _text("toBase64", arguments[0])
    evaluation.budget.spend(2 * len(text))
    return base64.b64encode(text.encode()).decode("ascii")


_ALGORITHMS: Final = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-512": "sha512"}


def _hash(arguments: list[Any], evaluation: Evaluation) -> Any:
    text, algorithm = (_text("hash", each) for each in arguments)
    evaluation.budget.spend(2 * len(text))
    if algorithm not in _ALGORITHMS:
        raise EvaluationError(f"hash() knows {', '.join(_ALGORITHMS)}, not {algorithm[:40]!r}")
    return hashlib.new(_ALGORITHMS[algorithm], text.encode(), usedforsecurity=False).hexdigest()


def _uuid(arguments: list[Any], evaluation: Evaluation) -> Any:
    digits = f"{evaluation.chance.number():032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def _random_int(arguments: list[Any], evaluation: Evaluation) -> Any:
    low, high = (_whole("randomInt", each) for each in arguments)
    if low >= high:
        raise EvaluationError("randomInt() takes a lower end and a greater upper end")
    return low + evaluation.chance.number() % (high - low)


def _string_to_json(arguments: list[Any], evaluation: Evaluation) -> Any:
    text = _text("stringToJson", arguments[0])
    evaluation.budget.spend(2 * len(text))
    try:
        return parse_value(text)
    except NotAnObject as error:
        raise EvaluationError(f"stringToJson() takes JSON text: {error}") from error


def _json_to_string(arguments: list[Any], evaluation: Evaluation) -> Any:
    return _written(arguments[0], evaluation)


def _json_merge(arguments: list[Any], evaluation: Evaluation) -> Any:
    left, right = (_map("jsonMerge", each) for each in arguments)
    evaluation.budget.weigh(arguments)
    return {**left, **right}


def _get(arguments: list[Any], evaluation: Evaluation) -> Any:
    container, key = arguments
    if isinstance(container, dict):
        return container.get(_text("get", key))
    position = _whole("get", key)
    array = _array("get", container)
    return array[position] if 0 <= position < len(array) else None


def _int_add(arguments: list[Any], evaluation: Evaluation) -> Any:
    left, right = (_whole("intAdd", each) for each in arguments)
    evaluation.budget.weigh(arguments)
    return left + right


def _takes(function: Function, least: int, most: int | None = None) -> Known:
    return Known(function, least, least if most is None else most)


FUNCTIONS: Final[dict[str, Known]] = {
    "arrayContains": _takes(_array_contains, 2),
    "arrayUnique": _takes(_array_unique, 1),
    "toArray": _takes(_to_array, 0, MANY),
    "format": _takes(_format, 1, MANY),
    "length": _takes(_length, 1),
    "split": _takes(_split, 2),
    "regexMatchString": _takes(_regex_match, 2),
    "mapKeys": _takes(_map_keys, 1),
    "mapValues": _takes(_map_values, 1),
    "fromBase64": _takes(_from_base64, 1),
    "toBase64": _takes(_to_base64, 1),
    "hash": _takes(_hash, 2),
    "uuid": _takes(_uuid, 0),
    "stringToJson": _takes(_string_to_json, 1),
    "fromJSON": _takes(_string_to_json, 1),
    "jsonToString": _takes(_json_to_string, 1),
    "toJSON": _takes(_json_to_string, 1),
    "jsonMerge": _takes(_json_merge, 2),
    "get": _takes(_get, 2),
    "intAdd": _takes(_int_add, 2),
    "randomInt": _takes(_random_int, 2),
}
