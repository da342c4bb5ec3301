"""The notation of JSON bodies whose types count: ``"3"`` is no number. What is refused is named by its place.

Names of members match without regard to case, because official clients differ in it; null counts as absent. Members
that are in no shape are dropped.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from emulator.kernel.spelling import suggestion
from emulator.wire.schema.kinds import (
    ABSENT,
    Flag,
    Items,
    Json,
    JsonText,
    MapOf,
    Noted,
    Number,
    OneOf,
    Rule,
    Ruled,
    Shape,
    Text,
    Whole,
)
from emulator.wire.schema.notation import Notation

_DEEPEST = 32
_SHOWN = 80
"""Characters of a refused value that a message repeats."""


class JsonBodies(Notation[Rule]):
    """A form of JSON; *refuse* makes its error of a sentence. A reader takes a value and its name, for the sentence."""

    def __init__(self, form: str, refuse: Callable[[str], Exception]) -> None:
        super().__init__(form)
        self._refuse = refuse
        self._tables: dict[Shape, list[tuple[str, str, str, Rule]]] = {}

    def read(self, shape: Shape, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return attribute -> checked value for the fields that *body* has.

        Raises: the form's error.
        """
        table = self._tables.get(shape)
        if table is None:
            rows = ((each.name, each.attribute, self.reader(each.kind)) for each in shape)
            table = self._tables[shape] = [(name.lower(), name, attribute, read) for name, attribute, read in rows]
        values = {key.lower(): value for key, value in body.items() if value is not None}
        return {attribute: read(values[key], name) for key, name, attribute, read in table if key in values}

    def write(self, shape: Shape, config: object) -> dict[str, Any]:
        """Return name -> value as an answer shows it; see `Field` for values that are not set."""
        written = {}
        for field in shape.fields:
            value, unset = getattr(config, field.attribute), field.unset
            if value is None or (unset is None and value == {}):
                value = unset
            if value is ABSENT:
                continue
            if field.members is not None:
                value = {**field.members, **value}
            written[field.name] = list(value) if isinstance(value, tuple) else value
        return written

    def text(self, kind: Text) -> Rule:
        """Take a string of the right length."""
        shortest, longest = kind.shortest, kind.longest

        def read(value: Any, name: str) -> str:
            if not isinstance(value, str):
                raise self._refuse(f"{name} must be a string")
            if len(value) < shortest:
                raise self._refuse(f"{name} must not be empty")
            if longest is not None and len(value) > longest:
                raise self._refuse(f"{name} must not be longer than {longest} characters")
            return value

        return read

    def one_of(self, kind: OneOf) -> Rule:
        """Read one of the allowed words."""
        fold, choices = kind.fold, frozenset(kind.choices)

        def read(value: Any, name: str) -> str:
            if fold is not None and isinstance(value, str):
                value = fold(value)
            if isinstance(value, str) and value in choices:
                return value
            if kind.label:
                raise self._refuse(not_allowed(kind.label, sorted(choices), value))
            raise self._refuse(f"{name} '{short(value)}' is invalid: it must be one of {', '.join(sorted(choices))}")

        return read

    def flag(self, kind: Flag) -> Rule:
        """Read true or false."""

        def read(value: Any, name: str) -> bool:
            if not isinstance(value, bool):
                raise self._refuse(f"{name} must be true or false")
            return value

        return read

    def whole(self, kind: Whole) -> Rule:
        """Read a whole number in its range, also one written as ``1.0``."""

        def read(value: Any, name: str) -> int:
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if not isinstance(value, int) or isinstance(value, bool):
                raise self._refuse(f"{name} must be a whole number")
            if not kind.allows(value):
                raise self._refuse(f"{name} {value} is out of range: it must be from {kind.low} to {kind.high}")
            return value

        return read

    def number(self, kind: Number) -> Rule:
        """Take a number in its range."""
        low, high = kind.low, kind.high
        span = f"above {low} and up to {high}" if kind.open else f"from {low} to {high}"

        def read(value: Any, name: str) -> float:
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise self._refuse(f"{name} must be a number" + (f" {span}" if low is not None else ""))
            too_small = low is not None and (value < low or (kind.open and value == low))
            if too_small or (high is not None and value > high):
                raise self._refuse(f"{name} must be a number {span}")
            return float(value)

        return read

    def items(self, kind: Items) -> Rule:
        """Take a list that is not too long."""
        most = kind.most
        item = self.reader(kind.kind)

        def read(value: Any, name: str) -> list[Any]:
            if not isinstance(value, list):
                raise self._refuse(f"{name} must be a list")
            if most is not None and len(value) > most:
                if kind.titled:
                    raise self._refuse(f"{titled(name)} contains too many values (max: {most}, actual: {len(value)})")
                raise self._refuse(f"{name} must not have more than {most} items")
            return [item(each, f"{name}[{index}]") for index, each in enumerate(value)]

        return read

    def map_of(self, kind: MapOf) -> Rule:
        """Take an object with any names."""
        item = self.reader(kind.kind)

        def read(value: Any, name: str) -> dict[str, Any]:
            return {key: item(content, f"{name}.{key}") for key, content in self.object(value, name).items()}

        return read

    def json(self, kind: Json) -> Rule:
        """Read any JSON value that is not nested too deeply."""

        def read(value: Any, name: str) -> Any:
            level = [value]
            for _ in range(_DEEPEST):
                level = [item for part in level for item in _inside(part)]
                if not level:
                    return value
            raise self._refuse(f"{name} is nested too deeply")

        return read

    def json_text(self, kind: JsonText) -> Rule:
        """Take a string that holds JSON; an object or array given directly is written as text."""

        def read(value: Any, name: str) -> str:
            if isinstance(value, dict | list):
                return json.dumps(value, separators=(",", ":"))
            if not isinstance(value, str):
                raise self._refuse(f"{name} must be a string")
            if value:
                try:
                    json.loads(value)
                except ValueError:
                    raise self._refuse(f"{name} must be a string that holds JSON") from None
            return value

        return read

    def ruled(self, kind: Ruled) -> Rule:
        """Read a value of the inner kind, then check it with the rule; some rules read the value alone."""
        rule = kind.rule
        if kind.alone:
            return rule
        first = self.reader(kind.kind)
        return lambda value, name: rule(first(value, name), name)

    def noted(self, kind: Noted) -> Rule:
        """Read a value that is stored without effect."""
        return self.reader(kind.kind if kind.kind is not None else Json())

    def shape(self, kind: Shape) -> Rule:
        """Take an object; its members are kept as the shape spells them. A whole body has no name."""
        known = {each.name.lower(): (each.name, self.reader(each.kind)) for each in kind}

        def read(value: Any, name: str) -> dict[str, Any]:
            kept = {}
            for key, content in self.object(value, name).items():
                found = known.get(key.lower())
                if found is not None and content is not None:
                    kept[found[0]] = found[1](content, f"{name}.{found[0]}" if name else found[0])
            return kept

        return read

    def object(self, value: Any, name: str) -> Mapping[str, Any]:
        """Return a value that must be an object.

        Raises: the form's error.
        """
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            raise self._refuse(f"{name} must be an object")
        return value


def titled(name: str) -> str:
    """Return the last part of a name with a capital letter, as some messages of Function Compute have it."""
    last = name.rpartition(".")[2]
    return last[:1].upper() + last[1:]


def not_allowed(label: str, choices: Iterable[str], value: Any) -> str:
    """Return Function Compute's text for a value that is none of *choices*.

    Source: fc-nodejs-sdk and fc-java-sdk, their suites.
    """
    return f"{label} is set to an invalid value (allowed: {' | '.join(choices)}, actual: '{short(value)}')"


def unknown_names(content: Iterable[str], known: Collection[str]) -> list[tuple[str, str]]:
    """Return, of each name in *content* that is not one of *known* in any case, a sentence about it and the name."""
    names = sorted(set(known))
    lower = {name.lower() for name in names}
    return [
        (f"the field '{name}' is not known and ignored{suggestion(name, names)}", name)
        for name in content
        if name.lower() not in lower
    ]


def short(value: Any) -> str:
    """Return *value* fit for a message."""
    shown = str(value)
    return shown[:_SHOWN] + "..." if len(shown) > _SHOWN else shown


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
