"""The notation of JSON Schema: what a kind allows, for editors and for the description of the admin API."""

from typing import Any

from emulator.wire.schema.kinds import (
    Also,
    Binary,
    Flag,
    Folder,
    Items,
    Json,
    JsonText,
    MapOf,
    Noted,
    Number,
    OneOf,
    Shape,
    Text,
    Time,
    Whole,
)
from emulator.wire.schema.notation import Notation

Schema = dict[str, Any]


class Schemas(Notation[Schema]):
    """JSON Schemas of kinds; the "reader" of a kind is its schema."""

    def text(self, kind: Text) -> Schema:
        """A string."""
        least = {"minLength": kind.shortest} if kind.shortest else {}
        return {"type": "string", **least, **({} if kind.longest is None else {"maxLength": kind.longest})}

    def whole(self, kind: Whole) -> Schema:
        """An integer, or its digits."""
        number = {"type": "integer", **_ends(kind.low, kind.high)}
        return {"anyOf": [number, {"type": "string", "pattern": "^[0-9]+$"}]} if kind.digits else number

    def number(self, kind: Number) -> Schema:
        """A number."""
        return {"type": "number", **_ends(kind.low, kind.high)}

    def flag(self, kind: Flag) -> Schema:
        """A boolean, or one of two words."""
        return {"enum": sorted(kind.words)} if kind.words else {"type": "boolean"}

    def one_of(self, kind: OneOf) -> Schema:
        """One of some words."""
        return {"enum": sorted(kind.choices)}

    def time(self, kind: Time) -> Schema:
        """An instant."""
        return {"type": "string", "format": "date-time"}

    def binary(self, kind: Binary) -> Schema:
        """Base64."""
        return {"type": "string", "contentEncoding": "base64"}

    def items(self, kind: Items) -> Schema:
        """A list."""
        least = {"minItems": kind.least} if kind.least else {}
        most = {} if kind.most is None else {"maxItems": kind.most}
        return {"type": "array", "items": self.reader(kind.kind), **least, **most}

    def map_of(self, kind: MapOf) -> Schema:
        """An object with any names."""
        return {"type": "object", "additionalProperties": self.reader(kind.kind)}

    def json(self, kind: Json) -> Schema:
        """Anything, an object or a list."""
        match kind.only:
            case "object":
                return {"type": "object"}
            case "list":
                return {"type": "array", "items": {}}
            case _:
                return {}

    def json_text(self, kind: JsonText) -> Schema:
        """A text that holds JSON, or the value."""
        return {}

    def folder(self, kind: Folder) -> Schema:
        """A path."""
        return {"type": "string"}

    def also(self, kind: Also) -> Schema:
        """The usual form, or the other one that files also allow."""
        usual = self.reader(kind.kind)
        return usual if kind.other is None else {"anyOf": [usual, self.reader(kind.other)]}

    def noted(self, kind: Noted) -> Schema:
        """The kind that is kept; without one, any value."""
        return {} if kind.kind is None else self.reader(kind.kind)

    def shape(self, kind: Shape) -> Schema:
        """An object whose members may be null."""
        return {"type": "object", "properties": {each.name: nullable(self.reader(each.kind)) for each in kind}}


SCHEMAS = Schemas("schema")


def nullable(schema: Schema) -> Schema:
    """Return the schema of an optional field, which may be null."""
    return {"anyOf": [schema, {"type": "null"}]} if schema else schema


def _ends(low: float | None, high: float | None) -> Schema:
    least = {} if low is None else {"minimum": low}
    return {**least, **({} if high is None else {"maximum": high})}
