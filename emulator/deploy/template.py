"""ROS and Funcraft templates -> a blueprint: parameters, conditions, and resources in the order of their dependencies.

The types of resources are in the tables of `emulator.deploy.serverless_types` and `emulator.deploy.ros_types`.

Source: Resource Orchestration Service, structure of a template; Funcraft, specification 2018-04-03.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from emulator.deploy.build import Build, Builder, in_order
from emulator.deploy.files import Files
from emulator.deploy.functions import Scope, names_in
from emulator.deploy.model import Blueprint, Target, unset
from emulator.deploy.notation import number
from emulator.deploy.places import LocatedValue
from emulator.deploy.ros_types import ROS_TYPES
from emulator.deploy.serverless_types import (
    FLOW_TYPE,
    REFUSED,
    SERVERLESS_TYPES,
    SERVICE_TYPE,
    TOPIC_TYPE,
    names_in_file,
    topics_in_events,
)
from emulator.deploy.value_functions import NOTHING
from emulator.kernel.phrases import Phrase
from emulator.kernel.spelling import suggestion

SECTIONS = (
    "ROSTemplateFormatVersion", "Transform", "Description", "Parameters", "Mappings", "Conditions", "Resources",
    "Outputs", "Metadata", "Rules",
)  # fmt: skip
TYPES: Mapping[str, Builder] = {**SERVERLESS_TYPES, **ROS_TYPES}

_RESOURCE = ("Type", "Properties", "DependsOn", "Condition", "Metadata", "Description", "DeletionPolicy", "Count")


def read_template(root: LocatedValue, target: Target, files: Files, parameters: Mapping[str, str]) -> Blueprint:
    """Return the blueprint of a template; *parameters* are the values of its parameters by name.

    Raises: FileProblems.
    """
    for entry in root.entries():
        if entry.name not in SECTIONS:
            entry.problem("there is no such section", suggestion(entry.name, list(SECTIONS)))
    resources = root.member("Resources")
    if not resources.entries():
        resources.problem("there are no resources")
    if root.member("Rules").value:
        root.member("Rules").note("rules for parameters are not checked")
    root.findings.check()
    scope = Scope(
        target,
        _parameters(root.member("Parameters"), parameters),
        root.member("Mappings").value,
        root.member("Conditions"),
    )
    build = Build(scope=scope, files=files, findings=root.findings)
    wanted = {part.name: part for part in resources.entries() if _is_wanted(part, scope)}
    names = _names(wanted)
    for part in in_order(wanted, lambda part: _needs(part, names, build)):
        _add(build, part)
    outputs = _outputs(root.member("Outputs"), scope)
    root.findings.check()
    return Blueprint(resources=tuple(build.resources), outputs=outputs)


def _parameters(section: LocatedValue, parameters: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    declared = {part.name: part for part in section.entries()}
    for name in parameters:
        if name not in declared:
            section.problem(Phrase("the template has no parameter {name}", name=name), suggestion(name, list(declared)))
    for name, part in declared.items():
        if not isinstance(part.value, dict):
            part.problem("must be a map with a Type")
            continue
        value = parameters.get(name, part.value.get("Default"))
        if value is None:
            if not (part.findings.may_lack_values and _text(part.value.get("NoEcho", False)).lower() == "true"):
                part.problem(Phrase("needs a value: --parameter {name}=...", name=name))
            values[name] = unset(name)  # what refers to it is not reported too
            continue
        values[name] = _typed(part, value)
        _check_allowed(part, values[name])
    return values


def _typed(part: LocatedValue, value: Any) -> Any:
    kind = str(part.value.get("Type", "String"))
    match kind:
        case "Number":
            return number(part.with_value(value))
        case "Boolean":
            return value.lower() == "true" if isinstance(value, str) else bool(value)
        case "CommaDelimitedList":
            return [item.strip() for item in value.split(",")] if isinstance(value, str) else value
        case "Json":
            return _json(part, value)
        case _:
            return value if isinstance(value, (dict, list)) else _text(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _json(part: LocatedValue, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        part.problem("the value is not JSON")
        return None


def _check_allowed(part: LocatedValue, value: Any) -> None:
    allowed = part.value.get("AllowedValues")
    if isinstance(allowed, list) and value not in allowed and _text(value) not in map(_text, allowed):
        part.problem(
            Phrase(
                "{value!r} is none of the allowed values: {choices}",
                value=_text(value)[:80],
                choices=", ".join(map(_text, allowed)),
            )
        )
    pattern = part.value.get("AllowedPattern")
    if isinstance(pattern, str) and isinstance(value, str):
        try:
            fits = re.match(pattern, value[:1000]) is not None
        except (re.error, RecursionError, OverflowError):
            part.problem("AllowedPattern is not a regular expression")
        else:
            if not fits:
                part.problem(Phrase("{value!r} does not match {pattern}", value=value[:80], pattern=pattern))


def _is_wanted(part: LocatedValue, scope: Scope) -> bool:
    if not isinstance(part.value, dict):
        part.problem("must be a map with a Type")
        return False
    condition = part.member("Condition")
    return condition.value is None or scope.holds(condition)


class _Names(NamedTuple):
    """The names in a template: resources, and functions within services.

    ``inside`` is a function's service by the joined name of both; ``owners`` by the function's own name too.
    """

    resources: Mapping[str, LocatedValue]
    inside: Mapping[str, str]
    owners: Mapping[str, str]


def _needs(part: LocatedValue, names: _Names, build: Build) -> set[str]:
    depends = part.value.get("DependsOn") or []
    named = [str(name) for name in (depends if isinstance(depends, list) else [depends])]
    for name in named:
        if name not in names.resources and name not in names.owners:
            absent = Phrase("there is no resource {name}", name=name)
            if part.value.get("Type") == FLOW_TYPE:
                part.member("DependsOn").note(absent)
            else:
                part.member("DependsOn").problem(absent)
    content = {key: item for key, item in part.value.items() if key not in {"Type", "DependsOn", "Condition"}}
    mentioned = names_in(content)
    if part.value.get("Type") == FLOW_TYPE:
        mentioned |= names_in_file(build, part)
    elif part.value.get("Type") == SERVICE_TYPE:
        there = ((topic, names.resources.get(topic)) for topic in topics_in_events(part))
        mentioned |= {topic for topic, made in there if made is not None and made.value.get("Type") == TOPIC_TYPE}
    mentioned |= {name.partition("/")[0] for name in mentioned}  # of service/function, the service
    inner = {names.owners[name] for name in named if name in names.owners}
    inner |= {names.inside[name] for name in mentioned if name in names.inside}
    return mentioned.union(named, inner - {part.name})


def _names(wanted: Mapping[str, LocatedValue]) -> _Names:
    functions = [
        (name, member)
        for name, part in wanted.items()
        if part.value.get("Type") == SERVICE_TYPE
        for member in part.value
        if member not in _RESOURCE
    ]
    inside = {f"{name}{member}": name for name, member in functions}
    owners = {member: name for name, member in functions} | inside
    return _Names(wanted, inside, owners)


def _add(build: Build, part: LocatedValue) -> None:
    kind = part.value.get("Type")
    if not isinstance(kind, str):
        part.problem("Type is missing")
        return
    type_part = part.member("Type")
    if kind in REFUSED:
        type_part.note(Phrase("{kind} has no counterpart here; left out", kind=kind))
        build.scope.attributes[part.name] = {"": part.name}
        return
    builder = TYPES.get(kind)
    if builder is None:
        type_part.problem(
            Phrase("the resource type {kind} is not known", kind=kind), suggestion(kind, [*TYPES, *REFUSED])
        )
        build.scope.attributes[part.name] = {"": part.name}
        return
    if kind not in SERVERLESS_TYPES:
        for entry in part.entries():
            if entry.name not in _RESOURCE:
                entry.problem("there is no such part of a resource", suggestion(entry.name, list(_RESOURCE)))
    if part.value.get("Count", 1) != 1:
        part.member("Count").problem("repeated resources are not supported")
    if part.value.get("DeletionPolicy", "Delete") != "Delete":
        part.member("DeletionPolicy").note("--remove takes the resource away all the same")
    builder(build, part, kind)


def _outputs(section: LocatedValue, scope: Scope) -> dict[str, Any]:
    outputs: dict[str, Any] = {}
    for part in section.entries():
        if not isinstance(part.value, dict) or "Value" not in part.value:
            part.problem("Value is missing")
            continue
        condition = part.member("Condition")
        if condition.value is None or scope.holds(condition):
            value = scope.value(part.member("Value"))
            outputs[part.name] = None if value is NOTHING else value
    return outputs
