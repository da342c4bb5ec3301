"""JSON Schemas of the files that users write, from the tables that read them.

    python -m website.schemas     writes emulator/schemas/*.json

Names, ranges and choices come from the tables; what a table only names has its form here, and a name without one is an
error. The schemas are for editors: they take what the emulator takes, and say most of what it refuses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from emulator.config import (
    OPTIONS,
    RESOURCE_KEYS,
    Option,
    read_account,
    read_days,
    read_folder,
    read_hosts,
    read_key_id,
    read_key_secret,
    read_path,
    read_port,
    read_region,
    read_runtimes,
    read_scale,
)
from emulator.deploy import seeds
from emulator.gateway import admin
from emulator.kernel.paging import Range
from emulator.services.fc import attributes
from emulator.services.fc.attributes import Field
from emulator.services.fc.catalog import fields as fc
from emulator.services.mns.queues.model import QUEUE
from emulator.services.mns.topics.model import SUBSCRIPTION, TOPIC
from emulator.services.workflow.languages.fdl import reader as fdl
from emulator.services.workflow.languages.fdl import tasks
from emulator.services.workflow.languages.fields import NAME
from emulator.services.workflow.languages.statemachine import actions, nodes, reading
from emulator.services.workflow.languages.statemachine import reader as machine
from emulator.services.workflow.limits import NAME_MAX
from emulator.wire.attributes import Attribute, Resource

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]

TEXT: Schema = {"type": ["string", "number", "boolean"]}
"""What a definition takes for text: a number or a boolean without quotes, too."""

ANYTHING: Schema = {}
NAME_TEXT: Schema = {"type": "string", "pattern": NAME.pattern.replace(r"\Z", "$")}
OBJECT: Schema = {"type": "object"}
FLAG: Schema = {"type": "boolean"}
EXPRESSION: Schema = {"type": ["string", "number", "boolean"], "description": "an expression"}


def listing(items: Schema, least: int = 0, most: int | None = None) -> Schema:
    """Return the schema of a list."""
    ends = ({"minItems": least} if least else {}) | ({"maxItems": most} if most is not None else {})
    return {"type": "array", "items": items, **ends}


def number(limit: Range, kind: str = "integer") -> Schema:
    """Return the schema of a number in a range."""
    return {"type": kind, "minimum": limit.low, "maximum": limit.high}


def choice(words: Iterable[str]) -> Schema:
    """Return the schema of one of some words."""
    return {"enum": sorted(words)}


def nullable(schema: Schema) -> Schema:
    """Return the schema of an optional field, which may be null."""
    return {"anyOf": [schema, {"type": "null"}]} if schema else schema


def closed(forms: dict[str, Schema], names: Iterable[str], needed: Iterable[str] = ()) -> Schema:
    """Return the schema of an object that has these fields, whose forms are in *forms*, and no others."""
    needed = sorted(needed)
    properties = {name: forms[name] if name in needed else nullable(forms[name]) for name in sorted(names)}
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


def by_type(kinds: dict[str, Schema], key: str) -> Schema:
    """Return the schema of an object whose field *key* says which of *kinds* it is."""
    head = {"type": "object", "properties": {key: {"enum": list(kinds)}, "name" if key == "type" else "Name": TEXT}}
    ways = [
        {"if": {"properties": {key: {"const": name}}, "required": [key]}, "then": schema}
        for name, schema in kinds.items()
    ]
    return {**head, "required": [key, "name" if key == "type" else "Name"], "allOf": ways}


def flow() -> Schema:
    """Return the schema of a flow of the flow definition language."""
    mapping = {
        "type": "object",
        "properties": {"target": TEXT, "source": {"description": "$input.x, $local.x, $context.x, or a constant"}},
        "required": ["target", "source"],
        "additionalProperties": False,
    }
    steps = listing({"$ref": "#/$defs/step"}, 1)
    retry = {
        "errors": listing(TEXT, 1), "intervalSeconds": number(tasks.RETRY_INTERVAL_S, "number"),
        "maxIntervalSeconds": number(tasks.RETRY_MAX_INTERVAL_S, "number"),
        "maxAttempts": number(tasks.RETRY_ATTEMPTS), "multiplier": number(tasks.RETRY_MULTIPLIER, "number"),
    }  # fmt: skip
    catch = {"errors": listing(TEXT, 1), "goto": TEXT}
    option = {"condition": TEXT, "steps": steps, "goto": TEXT}
    forms: dict[str, Schema] = {
        "type": TEXT, "name": NAME_TEXT, "description": ANYTHING, "end": FLAG, "version": choice(fdl.VERSIONS),
        "inputMappings": listing(mapping), "outputMappings": listing(mapping), "errorMappings": listing(mapping),
        "resourceArn": {"type": "string", "pattern": "^acs:"}, "action": {"type": "string"},
        "pattern": choice(["requestResponse", "requestComplete", "sync", "waitForCallback"]),
        "timeoutSeconds": number(tasks.TIMEOUT_S), "serviceParams": OBJECT,
        "retry": listing(closed(retry, tasks._RETRY, ["errors"])),
        "catch": listing(closed(catch, tasks._CATCH, catch)),
        "duration": {"anyOf": [number(fdl.WAIT_S), {"type": "string", "pattern": r"^\$"}]},
        "timestamp": {"type": "string"},
        "choices": listing(closed(option, fdl._OPTION, ["condition"]), 1), "default": closed(option, fdl._DEFAULT),
        "branches": listing(closed({"steps": steps}, fdl._BRANCH, ["steps"]), 1, fdl.BRANCHES.high),
        "iterationMapping": closed(dict.fromkeys(fdl._ITERATION, TEXT), fdl._ITERATION, ["collection", "item"]),
        "steps": steps, "error": TEXT, "cause": TEXT,
    }  # fmt: skip
    needed = {"choice": ["choices"], "parallel": ["branches"], "foreach": ["iterationMapping", "steps"]}
    kinds = {
        name: closed(forms, fdl._EVERY_STEP | own, ["type", "name", *needed.get(name, [])])
        for name, (_, own, _) in fdl._KINDS.items()
    }
    kinds["wait"]["oneOf"] = [{"required": ["duration"]}, {"required": ["timestamp"]}]
    kinds["task"]["oneOf"] = [{"required": ["resourceArn"]}, {"required": ["action"]}]
    root = closed({**forms, "type": {"const": "flow"}, "name": TEXT}, fdl._FLOW, ["version", "type", "steps"])
    return {**root, "$defs": {"step": by_type(kinds, "type")}}


def state_machine() -> Schema:
    """Return the schema of a state machine."""
    name = {"type": ["string", "number", "boolean"], "maxLength": NAME_MAX}
    states = listing({"$ref": "#/$defs/state"}, 1)
    scope = _open({"StartAt": TEXT, "States": states, "Name": TEXT, "Description": TEXT}, ["StartAt", "States"])
    retry = {
        "Errors": listing(TEXT, 1), "Description": TEXT, "MaxAttempts": number(reading.RETRY_ATTEMPTS),
        "IntervalSeconds": number(reading.RETRY_S), "BackoffRate": number(reading.RETRY_RATE, "number"),
        "MaxBackoffSeconds": number(reading.RETRY_S),
    }  # fmt: skip
    catch = {"Errors": listing(TEXT, 1), "Description": TEXT, "OutputConstructor": OBJECT, "Next": TEXT}
    at_once = number(machine.DISTRIBUTED_AT_ONCE)
    timeout = {"anyOf": [number(machine.TIMEOUT_S), {"type": "string", "pattern": "^[0-9]{1,9}$"}]}
    rule = _open(retry, ["Errors", "MaxAttempts", "IntervalSeconds"])
    parallel = listing({"$ref": "#/$defs/scope"}, machine.BRANCHES.low, machine.BRANCHES.high)
    branch = {"Condition": EXPRESSION, "Next": TEXT, "Description": TEXT}
    processor = _open(
        {
            **scope["properties"],
            "ProcessorConfig": _open({"ExecutionMode": choice(["Inline", "Standard", "Express"])}, []),
        },
        ["StartAt", "States"],
    )
    forms: dict[str, Schema] = {
        "Type": TEXT, "Name": name, "Description": TEXT, "Next": TEXT, "End": FLAG, "InputConstructor": OBJECT,
        "OutputConstructor": OBJECT, "GlobalConstructor": OBJECT, "ItemConstructor": OBJECT, "Parameters": OBJECT,
        "Retry": listing({"$ref": "#/$defs/rule"}),
        "Catch": listing(_open(catch, ["Errors", "Next"])), "Seconds": number(machine.WAIT_S), "Seconds.$": EXPRESSION,
        "Code": TEXT, "Code.$": EXPRESSION, "Detail": TEXT, "Detail.$": EXPRESSION, "Default": TEXT,
        "ItemsPath": EXPRESSION, "Processor": processor, "MaxConcurrency": at_once, "MaxConcuccency": at_once,
        "Action": {"type": "string", "pattern": "^[^:]+:[^:]+$", "examples": list(actions.ACTIONS)},
        **dict.fromkeys(machine.TOLERANCES[:2], number(machine.DISTRIBUTED_FAILURES)),
        **dict.fromkeys(machine.TOLERANCES[2:], number(Range(0, 100, 0), "number")),
        "TaskMode": choice(nodes.PATTERNS), "Timeout": timeout, "Timeout.$": EXPRESSION, "Branches": parallel,
    }  # fmt: skip
    needed = {
        "Choice": ["Branches", "Default"], "Parallel": ["Branches"], "Map": ["ItemsPath", "Processor"],
        "Task": ["Action"],
    }  # fmt: skip
    kinds = {}
    for kind, (_, own, _) in machine._KINDS.items():
        own_forms = forms
        if kind == "Choice":
            own_forms = {**forms, "Branches": listing(_open(branch, ["Condition", "Next"]), 1)}
        names = machine._EVERY_STATE | own
        kinds[kind] = _open({each: own_forms[each] for each in sorted(names)}, needed.get(kind, []))
        if "Next" in own:
            kinds[kind]["oneOf"] = [
                {"required": ["Next"], "not": {"properties": {"End": {"const": True}}, "required": ["End"]}},
                {"properties": {"End": {"const": True}}, "required": ["End"], "not": {"required": ["Next"]}},
            ]
    kinds["Wait"]["anyOf"] = [{"required": ["Seconds"]}, {"required": ["Seconds.$"]}]
    root = {
        "Type": {"const": "StateMachine"}, "SpecVersion": {"const": "v1"}, "Name": NAME_TEXT, "StartAt": TEXT,
        "States": states, "Description": TEXT,
    }  # fmt: skip
    document = _open({each: root[each] for each in sorted(machine._DOCUMENT)}, set(root) - {"Description"})
    foreign = {name: {"not": {}, "description": why} for name, why in reading.FOREIGN.items()}
    shared = {"state": by_type(kinds, "Type"), "scope": scope, "rule": rule, "foreign": {"properties": foreign}}
    return {**document, "$defs": shared}


def _open(properties: dict[str, Schema], needed: Iterable[str]) -> Schema:
    """Return the schema of an object that may have unknown fields, but none of other languages."""
    needed = sorted(needed)
    own = {name: form if name in needed else nullable(form) for name, form in properties.items()}
    return {"type": "object", "properties": own, "required": needed, "allOf": [{"$ref": "#/$defs/foreign"}]}


_LIST_OF_TEXTS: Schema = {"anyOf": [{"type": "string"}, listing({"type": "string"})]}
_BY_READER: dict[Callable[..., Any], Schema] = {
    read_hosts: _LIST_OF_TEXTS,
    read_port: {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 65_535}, {"const": "auto"}]},
    read_days: {"type": "integer", "minimum": 0},
    read_scale: {"type": "number", "exclusiveMinimum": 0},
    read_path: {"type": "string"},
    read_folder: {"type": "string"},
    read_key_id: {"type": "string"},
    read_key_secret: {"type": "string"},
    read_account: {"type": ["string", "integer"]},
    read_region: {"type": "string"},
    read_runtimes: {"type": "object", "additionalProperties": {"type": "string"}},
}
_SEED_KINDS: dict[str, Schema] = {
    "text": TEXT, "flag": FLAG, "number": {"type": "integer"}, "data": ANYTHING, "names": listing({"type": "string"}),
}  # fmt: skip


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
        **{kind: _named(nullable(_seed(fields))) for kind, fields in seeds._KINDS.items()},
    }
    resources["flows"] = _named({"anyOf": [{"type": "string"}, _seed(seeds.FLOW)]})
    properties = {option.name: _option(option) for option in OPTIONS}
    properties |= {key: nullable(resources[key]) for key in RESOURCE_KEYS}
    return {"type": ["object", "null"], "properties": properties, "additionalProperties": False}


def _option(option: Option) -> Schema:
    if option.is_switch:
        form: Schema = {"type": ["boolean", "string", "integer"]}
    else:
        form = choice(option.choices) if option.choices else _BY_READER[option.read]
    return {**nullable(form), "description": option.help}


def _named(form: Schema) -> Schema:
    return {"type": "object", "additionalProperties": form}


def _seed(fields: Iterable[seeds.Field]) -> Schema:
    forms = {each.name: choice(each.choices) if each.choices else _SEED_KINDS[each.kind] for each in fields}
    return closed(forms, forms, [each.name for each in fields if each.needed])


def _attributes(resource: Resource[Any]) -> Schema:
    forms = {each.name: _attribute(each) for each in resource.of_form("file")}
    return closed(forms, forms)


def _attribute(attribute: Attribute) -> Schema:
    if attribute.members:
        forms = {each.name: _attribute(each) for each in attribute.members}
        return closed(forms, forms)
    if attribute.words:
        return choice(attribute.words)
    if attribute.kind is bool:
        return {"type": ["boolean", "string"]}
    if attribute.kind is int:
        whole = number(attribute.range) if attribute.range is not None else {"type": "integer"}
        return {"anyOf": [whole, {"type": "string", "pattern": "^[0-9]+$"}]}
    return {"type": ["string", "number", "boolean"]}


_BY_RULE: dict[str, Schema] = {
    "cpu": {"type": "number", "exclusiveMinimum": 0},
    "environment": {"type": "object", "additionalProperties": {"type": "string"}},
    "environment_2": {"type": "object", "additionalProperties": {"type": "string"}},
    "json_text": ANYTHING,
    "_layers": listing({"type": "string"}),
}


def function() -> Schema:
    """Return the schema of ``function.yml``, in a service and without one."""
    forms = _fields((*fc.FUNCTION_2, *fc.FUNCTION_3))
    forms |= {"triggers": ANYTHING, "aliases": ANYTHING}
    return {"type": ["object", "null"], "properties": forms, "additionalProperties": False}


def service() -> Schema:
    """Return the schema of ``service.yml``."""
    forms = {**_fields(fc.SERVICE), "aliases": ANYTHING}
    return {"type": ["object", "null"], "properties": forms, "additionalProperties": False}


def _fields(rows: Iterable[Field]) -> dict[str, Schema]:
    forms: dict[str, Schema] = {}
    for row in rows:
        form = _kind(row[2])
        known = forms.get(row.wire)
        same = known is None or known == nullable(form)
        forms[row.wire] = nullable(form) if same else {"anyOf": [known, form]}
    return forms


def _kind(kind: Any) -> Schema:
    match kind:
        case attributes.Text():
            most = {"maxLength": kind.longest} if kind.longest is not None else {}
            return {"type": "string", "minLength": kind.shortest, **most}
        case attributes.OneOf():
            return choice(kind.choices)
        case attributes.Flag():
            return FLAG
        case attributes.Whole():
            return number(kind.range) if kind.range is not None else {"type": "integer"}
        case attributes.Items():
            return listing(_kind(kind.kind), most=kind.most)
        case attributes.TextMap():
            return {"type": "object", "additionalProperties": {"type": "string"}}
        case attributes.Shape():
            return {"type": "object", "properties": {name: nullable(_kind(each)) for name, each in kind.fields.items()}}
        case attributes.Ruled():
            return _kind(kind.kind)
        case attributes.Anything():
            return ANYTHING
        case _:
            return _BY_RULE[kind.__name__]


SCHEMAS = {
    "fdl": (flow, "A flow of the flow definition language"),
    "statemachine": (state_machine, "A flow of the state machine language"),
    "localyun": (localyun, "Settings and resources of an emulator"),
    "function": (function, "Settings of a function, beside its code"),
    "service": (service, "Settings of a service, in its folder"),
}
"""By the name of the file that has it."""


def written(name: str) -> str:
    """Return the text of a schema's file."""
    made, title = SCHEMAS[name]
    document = {"$schema": DIALECT, "title": title, **made()}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for each in SCHEMAS:
        (admin.SCHEMAS / f"{each}.json").write_text(written(each), encoding="utf-8")
