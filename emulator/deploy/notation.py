"""The notation of deployment files: a part of a file becomes a value for the API, or a problem at its place.

Names are those of the API (``memorySize``), which ``s.yaml`` writes as they are and templates with a capital first
letter (``MemorySize``). Numbers and booleans may be texts, as parameters of a file are. An unknown property is a
problem; ranges are left to the service, whose answer names them.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from emulator.deploy.model import has_token
from emulator.deploy.places import LocatedValue
from emulator.kernel.phrases import Phrase
from emulator.kernel.spelling import suggestion
from emulator.wire.schema.kinds import (
    Also,
    Field,
    Flag,
    Items,
    Json,
    JsonText,
    Kind,
    MapOf,
    Noted,
    Number,
    OneOf,
    Ruled,
    Shape,
    Text,
    Whole,
    bare,
)
from emulator.wire.schema.notation import Notation

FORM = "file"

Reader = Callable[[LocatedValue, bool], Any]
"""Reads a value, None where there is a problem; the second argument is true when names begin with a capital letter."""


class Files(Notation[Reader]):
    """The form of values in ``s.yaml`` and templates."""

    def text(self, kind: Text) -> Reader:
        """Read a text, or a scalar that is taken as one."""
        return json_text if kind.holds_json else text

    def json_text(self, kind: JsonText) -> Reader:
        """Read a text that holds JSON, or the value itself."""
        return json_text

    def whole(self, kind: Whole) -> Reader:
        """Read a number."""
        return number

    def number(self, kind: Number) -> Reader:
        """Read a number."""
        return number

    def flag(self, kind: Flag) -> Reader:
        """Read true or false, or one of two words, which the service checks."""
        return text if kind.words else switch

    def one_of(self, kind: OneOf) -> Reader:
        """Read a word in the spelling that the service keeps."""
        fold = kind.fold
        if fold is None:
            return text
        return lambda part, capital: (word := text(part, capital)) and fold(word)

    def items(self, kind: Items) -> Reader:
        """Read a list; of texts, one text is a list of one."""
        read = self.reader(kind.kind)
        if isinstance(bare(kind.kind), Text | OneOf):
            return lambda part, capital: [word for item in _texts(part) if (word := read(item, capital)) is not None]
        return lambda part, capital: [read(item, capital) for item in part.items()]

    def map_of(self, kind: MapOf) -> Reader:
        """Read a map whose keys are the user's own."""
        read = self.reader(kind.kind)
        return lambda part, capital: {entry.name: read(entry, capital) for entry in part.entries()}

    def json(self, kind: Json) -> Reader:
        """Take a value as it is; names in it are changed to the API's spelling unless they are the user's own."""
        if kind.as_written:
            return lambda part, capital: part.value
        return lambda part, capital: _renamed(part.value, uncapitalised) if capital else part.value

    def noted(self, kind: Noted) -> Reader:
        """Record that a value has no effect, unless it asks for nothing; read it if it is kept."""
        read = None if kind.kind is None else self.reader(kind.kind)

        def read_noted(part: LocatedValue, capital: bool) -> Any:
            if kind.or_auto and isinstance(part.value, str) and part.value.partition("|")[0].lower() == "auto":
                part.note(Phrase("auto: {effect}", effect=Phrase(kind.or_auto)))  # also auto|mountDir=/mnt
                return None
            value = None if read is None else read(part, capital)
            if read is None or value != kind.unset:
                part.note(kind.why)
            return value

        return read_noted

    def also(self, kind: Also) -> Reader:
        """Read the value with the kind's own reader."""
        return kind.read

    def shape(self, kind: Shape) -> Reader:
        """Read a map with known members."""
        return lambda part, capital: members(part, kind, capital=capital)


FILES = Files(FORM)


def spellings(field: Field, *, capital: bool) -> tuple[str, ...]:
    """Return the names under which a file may give a field, the usual one first."""
    name, *others = field.names.get(FORM, (field.name,))
    return (capitalised(name) if capital else name, *others)


def members(part: LocatedValue, fields: Iterable[Field], *, capital: bool) -> dict[str, Any]:
    """Return the members of a map by their names in the API; null counts as absent.

    A member that is none of the *fields*, and a required one that is missing, are problems. One that cannot be read is
    left out, with a problem reported by its reader.
    """
    fields = tuple(fields)
    known = {spelling: field for field in fields for spelling in spellings(field, capital=capital)}
    values: dict[str, Any] = {}
    present = set()
    for entry in part.entries():
        field = known.get(entry.name)
        if field is None:
            entry.problem("there is no such property", suggestion(entry.name, list(known)))
        elif entry.value is not None:
            present.add(field.name)
            if (value := FILES.reader(field.kind)(entry, capital)) is not None:
                values[field.name] = value
        elif entry.is_unknown:
            present.add(field.name)
    if part.value is None or isinstance(part.value, dict):
        for field in fields:
            if field.required and field.name not in present:
                part.problem(Phrase("{name} is missing", name=spellings(field, capital=capital)[0]))
    return values


def written_members(fields: Iterable[Field], values: Mapping[str, Any], *, capital: bool) -> dict[str, Any]:
    """Return the members of a file from which `members` reads *values*, in the order of the *fields*."""
    return {
        spellings(field, capital=capital)[0]: written(field.kind, values[field.name], capital=capital)
        for field in fields
        if values.get(field.name) is not None
    }


def written(kind: Kind, value: Any, *, capital: bool) -> Any:
    """Return *value*, in the API's terms, in the form of a file: the inverse of the reader of *kind*."""
    match kind:
        case Ruled() | Also():
            return written(kind.kind, value, capital=capital)
        case Noted(kind=inner) if inner is not None:
            return written(inner, value, capital=capital)
        case Items() if isinstance(value, list):
            return [written(kind.kind, item, capital=capital) for item in value]
        case Shape() if isinstance(value, Mapping):
            return written_members(kind, value, capital=capital)
        case Json(as_written=False) if capital:
            return _renamed(value, capitalised)
        case _:
            return value


def capitalised(name: str) -> str:
    """Return a name of the API in the spelling of templates: ``caPort`` is ``CAPort``."""
    return _CAPITALS.get(name) or name[:1].upper() + name[1:]


_CAPITALS = {"caPort": "CAPort"}


def uncapitalised(name: str) -> str:
    """Return a name of a template or an RPC API in the spelling of ``s.yaml``."""
    return name[:1].lower() + name[1:]


def text(part: LocatedValue, capital: bool = False) -> str | None:
    """Read a text; numbers and booleans are taken as they are written."""
    value = part.value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    placeholder = isinstance(value, dict) and list(value.values()) == [None]
    if placeholder:
        part.problem(Phrase("must be a text; {text} is a map of YAML", text=f"{{{next(iter(value))}}}"))
    else:
        part.problem("must be a text")
    return None


def number(part: LocatedValue, capital: bool = False) -> int | float | str | None:
    """Read a number, also one written as text, as parameters are."""
    value = part.value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        if has_token(value):
            return value
        digits = value.strip()
        if len(digits) <= 20 and digits.isascii():
            try:
                return int(digits) if digits.lstrip("+-").isdigit() else _plain_float(digits)
            except ValueError:
                pass
    part.problem("must be a number")
    return None


def _plain_float(digits: str) -> float:
    if not all(character in "0123456789.+-" for character in digits):
        raise ValueError(digits)
    return float(digits)


_SWITCHES = {"true": True, "false": False, "yes": True, "no": False, "on": True, "off": False, "1": True, "0": False}


def switch(part: LocatedValue, capital: bool = False) -> bool | str | None:
    """Read true or false, also written as text or number."""
    value = part.value
    if isinstance(value, str) and has_token(value):
        return value
    known = _SWITCHES.get(str(value).lower()) if isinstance(value, (str, int)) else None
    if known is not None:
        return known
    part.problem("must be true or false")
    return None


def _renamed(value: Any, rename: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {rename(key): _renamed(item, rename) for key, item in value.items()}
    return [_renamed(item, rename) for item in value] if isinstance(value, list) else value


def json_text(part: LocatedValue, capital: bool = False) -> str | None:
    """Read a text that holds JSON, or any value, which is written as JSON."""
    if isinstance(part.value, (dict, list)):
        return json.dumps(part.value, ensure_ascii=False)
    return text(part, capital)


def payload(part: LocatedValue, capital: bool = False) -> str | None:
    """Read the JSON input of an execution; null is no input, as in the console's forms."""
    values = json_text(part, capital)
    return "" if values is not None and values.strip() in {"null", '""'} else values


def kept(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return *values* without members that are None."""
    return {name: value for name, value in values.items() if value is not None}


def _texts(part: LocatedValue) -> list[LocatedValue]:
    return [part] if isinstance(part.value, str | int | float) else part.items()


def document(text: Any) -> Any:
    """Return the value of a JSON text; a text that is not JSON is returned as it is."""
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text
