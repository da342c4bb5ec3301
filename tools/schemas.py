"""JSON Schemas of the files that users write, from the tables that read them.

python -m tools.schemas     writes emulator/schemas/*.json

Names, ranges and choices come from the rows that also read the files. The schemas are for editors: they accept all that
the emulator accepts, and refuse most of what it refuses.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from emulator.config import OPTIONS, RESOURCE_KEYS
from emulator.deploy import seeds
from emulator.gateway import admin
from emulator.services.fc.catalog import fields as fc
from emulator.services.mns.queues.model import QUEUE
from emulator.services.mns.topics.model import SUBSCRIPTION, TOPIC
from emulator.services.workflow.languages.fdl import reader as fdl
from emulator.services.workflow.languages.notation import FORM
from emulator.services.workflow.languages.statemachine import actions, reading
from emulator.services.workflow.languages.statemachine import reader as machine
from emulator.wire.schema import kinds
from emulator.wire.schema.json_schema import SCHEMAS as SCHEMAS_OF
from emulator.wire.schema.json_schema import Schemas, nullable

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]

TEXT: Schema = {"type": ["string", "number", "boolean"]}
"""A text in a definition; a number or a boolean without quotes is accepted too."""

ANYTHING: Schema = {}
OBJECT: Schema = {"type": "object"}


def listing(items: Schema, least: int = 0, most: int | None = None) -> Schema:
    """Return the schema of a list."""
    ends = ({"minItems": least} if least else {}) | ({"maxItems": most} if most is not None else {})
    return {"type": "array", "items": items, **ends}


def choice(words: Iterable[str]) -> Schema:
    """Return the schema of one of several words."""
    return {"enum": sorted(words)}


def closed(forms: dict[str, Schema], names: Iterable[str], needed: Iterable[str] = ()) -> Schema:
    """Return the schema of an object with the fields *names*, whose schemas are in *forms*, and no others."""
    needed = sorted(needed)
    properties = {name: forms[name] if name in needed else nullable(forms[name]) for name in sorted(names)}
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


class Definitions(Schemas):
    """The schemas of definitions of flows. A number or a boolean without quotes is accepted as text.

    Objects with a tag are defined once and referred to, as they contain each other. With *closed*, unknown fields are
    refused; else only those of other languages.
    """

    def __init__(self, *, closed: bool) -> None:
        super().__init__(FORM)
        self._closed = closed

    def text(self, kind: kinds.Text) -> Schema:
        """A text of a form, or any text, number or boolean."""
        if kind.form:
            return {"type": "string", "pattern": f"^(?:{kind.form})$"}
        about = {"description": kind.expected} if kind.expected and kind.longest is None else {}
        longest = {"maxLength": kind.longest} if kind.longest is not None else {}
        return {**TEXT, **about, **longest}

    def tagged(self, kind: kinds.Tagged) -> Schema:
        """One of the shapes, by reference."""
        return {"$ref": f"#/$defs/{kind.title}"}

    def definition(self, kind: kinds.Tagged, name: str) -> Schema:
        """Return the schema of an object whose tag selects its shape; the member *name* has its name."""
        head = {"type": "object", "properties": {kind.tag: {"enum": list(kind.shapes)}, name: TEXT}}
        ways = [
            {"if": {"properties": {kind.tag: {"const": tag}}, "required": [kind.tag]}, "then": self.reader(shape)}
            for tag, shape in kind.shapes.items()
        ]
        return {**head, "required": [kind.tag, name], "allOf": ways}

    def shape(self, kind: kinds.Shape) -> Schema:
        """An object with the fields of the shape; optional ones may be null."""
        properties = {
            name: {**form, "description": each.help[0]} if each.help[0] else form
            for each in kind
            for form in [self.reader(each.kind) if each.required else nullable(self.reader(each.kind))]
            for name in each.names.get(FORM, (each.name,))
        }
        needed = sorted(each.name for each in kind if each.required)
        schema: Schema = {"type": "object", "properties": dict(sorted(properties.items())), "required": needed}
        if self._closed:
            schema["additionalProperties"] = False
        together = [] if self._closed else [{"$ref": "#/$defs/foreign"}]
        together += [_chosen(group) for group in kind.either]
        return {**schema, "allOf": together} if together else schema


def _chosen(group: kinds.Either) -> Schema:
    if group.needed:
        return {"oneOf": [{"required": [name]} for name in group.names]}
    return {"not": {"required": list(group.names)}}


def flow() -> Schema:
    """Return the schema of a flow of the flow definition language."""
    forms = Definitions(closed=True)
    return {**forms.shape(fdl.FLOW), "$defs": {"step": forms.definition(fdl.STEP, "name")}}


def state_machine() -> Schema:
    """Return the schema of a state machine."""
    forms = Definitions(closed=False)
    state = forms.definition(machine.STATE, "Name")
    for (name, shape), way in zip(machine.STATE.shapes.items(), state["allOf"], strict=True):
        if "Next" in {each.name for each in shape}:
            way["then"]["oneOf"] = [
                {"required": ["Next"], "not": {"properties": {"End": {"const": True}}, "required": ["End"]}},
                {"properties": {"End": {"const": True}}, "required": ["End"], "not": {"required": ["Next"]}},
            ]
        if name == "Task":
            way["then"]["properties"]["Action"]["examples"] = list(actions.ACTIONS)
    foreign = {name: {"not": {}, "description": why} for name, why in reading.FOREIGN.items()}
    return {**forms.shape(machine.MACHINE), "$defs": {"state": state, "foreign": {"properties": foreign}}}


def localyun() -> Schema:
    """Return the schema of ``localyun.yaml``."""
    subscription = _attributes(SUBSCRIPTION)
    subscription["required"] = ["Endpoint"]
    topic = _attributes(TOPIC)
    topic["properties"]["subscriptions"] = nullable({"type": "object", "additionalProperties": subscription})
    resources = {
        "queues": _named(nullable(_attributes(QUEUE))),
        "topics": _named(nullable(topic)),
        "deploy": listing({"type": "string"}),
        "hooks": closed({"ready": listing({"type": "string"})}, ["ready"]),
        "faults": listing(OBJECT),
        **{kind: _named(nullable(_seed(shape))) for kind, shape in seeds.SHAPES.items()},
    }
    resources["flows"] = _named({"anyOf": [{"type": "string"}, _seed(seeds.FLOW)]})
    properties = {option.name: _option(option) for option in OPTIONS}
    properties |= {key: nullable(resources[key]) for key in RESOURCE_KEYS}
    return {"type": ["object", "null"], "properties": properties, "additionalProperties": False}


def _option(option: kinds.Field) -> Schema:
    return {**nullable(_setting(option.kind)), "description": option.help[0]}


def _setting(kind: kinds.Kind) -> Schema:
    match kind:
        case kinds.Flag():
            return {"type": ["boolean", "string", "integer"]}
        case kinds.Items():
            return {"anyOf": [{"type": "string"}, listing({"type": "string"})]}
        case kinds.Whole(words=words) if words:
            return {"anyOf": [SCHEMAS_OF.reader(kind), *({"const": word} for word in words)]}
        case kinds.Text(digits=True):
            return {"type": ["string", "integer"]}
        case _:
            return SCHEMAS_OF.reader(kind)


def _named(form: Schema) -> Schema:
    """Return the schema of named resources: a map, or a list of names and of maps with a name."""
    item = {"anyOf": [{"type": "string"}, {"type": "object", "required": ["name"]}]}
    return {"anyOf": [{"type": "object", "additionalProperties": form}, listing(item)]}


def _seed(shape: kinds.Shape) -> Schema:
    fields = list(shape.of_form("file"))
    forms = {each.name: _declared(each.kind) for each in fields}
    return closed(forms, forms, [each.name for each in fields if each.required])


def _declared(kind: kinds.Kind) -> Schema:
    match kind:
        case kinds.Text():
            return TEXT
        case kinds.JsonText() | kinds.Json():
            return ANYTHING
        case kinds.Items():
            return listing({"type": "string"})
        case _:
            return SCHEMAS_OF.reader(kind)


def _attributes(resource: kinds.Shape) -> Schema:
    forms = {each.name: _attribute(each) for each in resource.of_form("file")}
    return closed(forms, forms)


def _attribute(attribute: kinds.Field) -> Schema:
    match attribute.kind:
        case kinds.Shape() as shape:
            forms = {each.name: _attribute(each) for each in shape}
            return closed(forms, forms)
        case kinds.Flag(words=words) if words:
            return choice(words)
        case kinds.Flag():
            return {"type": ["boolean", "string"]}
        case kinds.Whole(low=low, high=high):
            whole = {"type": "integer"} if low is None else {"type": "integer", "minimum": low, "maximum": high}
            return {"anyOf": [whole, {"type": "string", "pattern": "^[0-9]+$"}]}
        case _:
            return {"type": ["string", "number", "boolean"]}


def function() -> Schema:
    """Return the schema of ``function.yml``, inside a service and without one."""
    forms = _fields((*fc.FUNCTION_2, *fc.FUNCTION_3))
    forms |= {"triggers": ANYTHING, "aliases": ANYTHING}
    return {"type": ["object", "null"], "properties": forms, "additionalProperties": False}


def service() -> Schema:
    """Return the schema of ``service.yml``."""
    forms = {**_fields(fc.SERVICE_FILE), "aliases": ANYTHING}
    return {"type": ["object", "null"], "properties": forms, "additionalProperties": False}


def _fields(rows: Iterable[kinds.Field]) -> dict[str, Schema]:
    forms: dict[str, Schema] = {}
    for row in rows:
        form = SCHEMAS_OF.reader(row.kind)
        known = forms.get(row.name)
        same = known is None or known == nullable(form)
        forms[row.name] = nullable(form) if same else {"anyOf": [known, form]}
    return forms


SCHEMAS = {
    "fdl": (flow, "A flow of the flow definition language"),
    "statemachine": (state_machine, "A flow of the state machine language"),
    "localyun": (localyun, "Settings and resources of an emulator"),
    "function": (function, "Settings of a function, beside its code"),
    "service": (service, "Settings of a service, in its folder"),
}
"""The schemas by the name of their file."""


def written(name: str) -> str:
    """Return the text of a schema's file."""
    made, title = SCHEMAS[name]
    document = {"$schema": DIALECT, "title": title, **made()}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for each in SCHEMAS:
        (admin.SCHEMAS / f"{each}.json").write_text(written(each), encoding="utf-8")
