"""JSON as the engine writes and reads it: compact, keys sorted, text not escaped beyond what JSON demands.

A value is kept together with its text (`Json`), because the text is measured against limits, shown and stored.
"""

import json
from json import encoder
from typing import Any

from emulator.services.workflow.limits import NESTING

quote = encoder.encode_basestring
"""Return a text as a JSON string."""


class Json:
    """A JSON value and its canonical text, both immutable. Not a tuple, as one is made for every step."""

    __slots__ = ("text", "value")

    def __init__(self, value: Any, text: str) -> None:
        self.value = value
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Json) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Json({self.text})"


_slow = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False).encode
_make_encoder = getattr(encoder, "c_make_encoder", None)
# JSONEncoder.encode builds this encoder anew for every value, which takes as long as writing a small object
_chunks = (
    _make_encoder(None, _slow, encoder.encode_basestring, None, ":", ",", True, False, False) if _make_encoder else None
)


def canonical(value: Any) -> str:
    """Return *value* as the engine writes JSON: compact, keys sorted, text unescaped.

    Raises: ValueError for what JSON or UTF-8 cannot hold (NaN, half a surrogate pair, keys that are no text) or what
    nests too deep.
    """
    if value == {}:
        return "{}"
    try:
        text = "".join(_chunks(value, 0)) if _chunks else _slow(value)
    except (RecursionError, TypeError) as error:
        raise ValueError("the data is nested too deeply or has keys that are not text") from error
    if not text.isascii():
        text.encode()
    return text


def member_texts(value: dict[str, Any]) -> dict[str, str]:
    """Return the canonical text of every member of *value*, for `joined`.

    Raises: ValueError, as `canonical`.
    """
    return {name: f"{quote(name)}:{canonical(item)}" for name, item in value.items()}


def member_bytes(members: dict[str, str]) -> dict[str, int]:
    """Return how many bytes each of *members*, made by `member_texts`, takes in an object: itself and a comma."""
    return {name: len(text.encode()) + 1 for name, text in members.items()}


def joined(members: dict[str, str]) -> str:
    """Return the canonical text of the object that has these members."""
    return "{" + ",".join([members[name] for name in sorted(members)]) + "}"


class NotAnObject(ValueError):
    """A text that is no JSON object."""


def _refuse_constant(name: str) -> Any:
    raise NotAnObject(f"{name} is no JSON")


_KINDS = {
    list: "it is an array",
    str: "it is a text",
    int: "it is a number",
    float: "it is a number",
    bool: "it is true or false",
    type(None): "it is null",
}

_decoder = json.JSONDecoder(parse_constant=_refuse_constant)


def parse_object(text: str) -> dict[str, Any]:
    """Read the text of a JSON object.

    Raises: NotAnObject.
    """
    if text.count("[") + text.count("{") > NESTING and _depth(text) > NESTING:
        raise NotAnObject(f"nests deeper than {NESTING} levels")
    try:
        value = _decoder.decode(text)
        if isinstance(value, dict):
            canonical(value)  # what cannot be written again (1e999, half a surrogate pair) must not come in
            return value
    except NotAnObject:
        raise
    except (ValueError, RecursionError) as error:
        raise NotAnObject(str(error)) from error
    raise NotAnObject(_KINDS[type(value)])


def parse_value(text: str) -> Any:
    """Read the text of any JSON value.

    Raises: NotAnObject.
    """
    members = parse_object(f'{{"value":{text}}}')
    if members.keys() != {"value"}:  # text such as 1,"x":2
        raise NotAnObject("more than one value")
    return members["value"]


def _depth(text: str) -> int:
    depth = deepest = 0
    inside = escaped = False
    for character in text:
        if inside:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                inside = False
        elif character == '"':
            inside = True
        elif character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


def with_text(value: Any) -> Json:
    """Return *value* with its text.

    Raises: ValueError, as `canonical`.
    """
    return Json(value, canonical(value))


NOTHING = Json({}, "{}")
"""An object without members."""


def written(**members: str | None) -> str:
    """Return the text of an object with *members*, JSON texts in the given order; None leaves a member out."""
    return "{" + ",".join([f'"{name}":{text}' for name, text in members.items() if text is not None]) + "}"


def quoted(text: str | None) -> str | None:
    """Return *text* as a JSON string, None when there is none."""
    return quote(text) if text else None
