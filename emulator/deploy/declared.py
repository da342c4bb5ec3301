"""The notation of ``localyun.yaml``: values have the types of YAML; an invalid value is a problem at its place."""

from collections.abc import Callable
from typing import Any

from emulator.deploy.places import LocatedValue
from emulator.kernel.phrases import Phrase, alternatives
from emulator.kernel.spelling import suggestion
from emulator.wire.schema.kinds import (
    Flag,
    Items,
    Json,
    JsonText,
    OneOf,
    Shape,
    Text,
    Whole,
)
from emulator.wire.schema.notation import Notation

Reader = Callable[[LocatedValue], Any]
"""Reads a value; returns None, after reporting a problem, when it is invalid."""


class Declared(Notation[Reader]):
    """The form of the attributes of flows, schedules, buckets and roles in ``localyun.yaml``."""

    def text(self, kind: Text) -> Reader:
        """Take a text that is not too long."""

        def read(part: LocatedValue) -> Any:
            if not isinstance(part.value, str):
                return self.refused(part, "must be a text")
            if kind.longest is not None and len(part.value) > kind.longest:
                return self.refused(part, Phrase("must not be longer than {longest} characters", longest=kind.longest))
            return part.value

        return read

    def one_of(self, kind: OneOf) -> Reader:
        """Read one of the allowed words."""

        def read(part: LocatedValue) -> Any:
            if not isinstance(part.value, str):
                return self.refused(part, "must be a text")
            if part.value not in kind.choices:
                return self.refused(part, Phrase("must be {choices}", choices=alternatives(list(kind.choices))))
            return part.value

        return read

    def flag(self, kind: Flag) -> Reader:
        """Read true or false."""
        return lambda part: part.value if isinstance(part.value, bool) else self.refused(part, "must be true or false")

    def whole(self, kind: Whole) -> Reader:
        """Take a whole number in its range."""

        def read(part: LocatedValue) -> Any:
            value = part.value
            if not isinstance(value, int) or isinstance(value, bool):
                return self.refused(part, "must be a whole number")
            if not kind.allows(value):
                return self.refused(
                    part, Phrase("must be a whole number from {low} to {high}", low=kind.low, high=kind.high)
                )
            return value

        return read

    def items(self, kind: Items) -> Reader:
        """Take a list of names."""

        def read(part: LocatedValue) -> Any:
            if isinstance(part.value, list) and all(isinstance(each, str) for each in part.value):
                return part.value
            return self.refused(part, "must be a list of names")

        return read

    def json_text(self, kind: JsonText) -> Reader:
        """Read a text that holds JSON, or the value itself."""

        def read(part: LocatedValue) -> Any:
            return part.value if isinstance(part.value, str | dict | list) else self.refused(part, _TEXT_OR_MAP)

        return read

    def json(self, kind: Json) -> Reader:
        """Take a text or a map."""
        return self.json_text(JsonText())

    def read(self, shape: Shape, part: LocatedValue) -> dict[str, Any]:
        """Return the values in *part* by their names in the API; "" for a required one that is missing."""
        needed = [field for field in shape.of_form(self.form) if field.required]
        if len(needed) == 1 and isinstance(part.value, str):  # short form, as in flows: {remind: remind.yml}
            return {needed[0].name: part.value}
        known = {field.name: field for field in shape.of_form(self.form)}
        values: dict[str, Any] = {}
        unknown: set[str] = set()
        for entry in part.entries():
            field = known.get(entry.name)
            if field is None:
                entry.problem("there is no such attribute", suggestion(entry.name, list(known)))
                unknown.add(entry.name.lower())
            elif (value := self.reader(field.kind)(entry)) is not None:
                values[field.name] = value
        for field in needed:
            if field.name not in values and not part.member(field.name).value:
                if field.name.lower() not in unknown:  # otherwise the misspelt name has been reported
                    part.problem(Phrase("needs {name}", name=field.name))
                values[field.name] = ""
        return values

    def refused(self, part: LocatedValue, problem: str) -> Any:
        """Report a problem of *part* and return the value to use in its place."""
        part.problem(problem)
        return None


_TEXT_OR_MAP = "must be a text or a map"

DECLARED = Declared("file")
