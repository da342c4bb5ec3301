"""Template functions: ``Ref``, ``Fn::Join``, ``Fn::If`` and their like, evaluated without calling the emulator.

An attribute that is known only after its resource was created is a token (`emulator.deploy.model`). Texts may be joined
around tokens; a function that would need the token's value is a problem.

Source: Resource Orchestration Service, functions and pseudo parameters of templates.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from emulator.deploy.model import Target, has_token, member_of
from emulator.deploy.places import LocatedValue
from emulator.deploy.value_functions import AROUND_TOKENS, NOTHING, REFUSALS, VALUE_FUNCTIONS, Misuse, written
from emulator.kernel.phrases import Phrase
from emulator.kernel.spelling import suggestion

_VARIABLE = re.compile(r"\$\{([^${}]*)\}")


class Scope:
    """The values of names in a template.

    *parameters* by name; *mappings* and *conditions* as written; ``attributes`` of resources by logical name, with the
    value of ``Ref`` under ``""``. Attributes are added while resources are read in the order of their references.
    """

    def __init__(self, target: Target, parameters: Mapping[str, Any], mappings: Any, conditions: LocatedValue) -> None:
        self.target = target
        self.parameters = parameters
        self.attributes: dict[str, Mapping[str, Any]] = {}
        self._mappings = mappings if isinstance(mappings, dict) else {}
        self._conditions = conditions
        self._deciding: list[str] = []
        self._preferred = ""

    @contextmanager
    def giving(self, attribute: str) -> Iterator[None]:
        """Make ``Ref`` return *attribute* of the resources that have it, while the context lasts."""
        before, self._preferred = self._preferred, attribute
        try:
            yield
        finally:
            self._preferred = before

    def value(self, part: LocatedValue) -> Any:
        """Return the value of a part with every function in it evaluated."""
        value = part.value
        if isinstance(value, dict):
            if len(value) == 1:
                name = next(iter(value))
                if name == "Ref" or name.startswith("Fn::"):
                    return self._call(name, part.member(name))
            values = {entry.name: self.value(entry) for entry in part.entries()}
            return {key: item for key, item in values.items() if item is not NOTHING}
        if isinstance(value, list):
            return [item for item in map(self.value, part.items()) if item is not NOTHING]
        return value

    def holds(self, part: LocatedValue) -> bool:
        """Whether a condition is true, given by its name or as a function."""
        if isinstance(part.value, str) and part.value.lower() not in {"true", "false"}:
            return self._named(part, part.value)
        if isinstance(part.value, dict) and list(part.value) == ["Condition"]:
            return self._named(part, str(part.value["Condition"]))
        value = self.value(part)
        if isinstance(value, str):
            value = {"true": True, "false": False}.get(value.lower())
        if not isinstance(value, bool):
            part.problem("must be a condition")
            return False
        return value

    def _named(self, part: LocatedValue, name: str) -> bool:
        conditions = self._conditions.value
        if not isinstance(conditions, dict) or name not in conditions:
            part.problem(Phrase("there is no condition {name}", name=name))
            return False
        if name in self._deciding:
            part.problem(Phrase("the condition {name} refers to itself", name=name))
            return False
        self._deciding.append(name)
        try:
            return self.holds(self._conditions.member(name))
        finally:
            self._deciding.pop()

    def _call(self, name: str, part: LocatedValue) -> Any:
        lazy = _LAZY.get(name)
        if lazy is not None:
            return lazy(self, part)
        eager = VALUE_FUNCTIONS.get(name)
        if eager is None:
            part.problem(
                Phrase("the function {name} is not known", name=name), suggestion(name, [*_LAZY, *VALUE_FUNCTIONS])
            )
            return None
        if (argument := self.value(part)) is NOTHING:
            return NOTHING
        if name not in AROUND_TOKENS and has_token(argument):
            match name, argument:
                case "Fn::GetJsonValue", [str(key), str(text)] if later := member_of(text, key):
                    return later
                case _:
                    pass
            part.problem(Phrase("{name} needs values that are known before anything is made", name=name))
            return None
        try:
            return eager(argument)
        except REFUSALS as error:
            if isinstance(error, Misuse):
                part.problem(Phrase("{name}: {problem}", name=name, problem=str(error)))
            else:
                part.problem(Phrase("{name} cannot be applied to this", name=name))
            return None

    def reference(self, part: LocatedValue, name: str) -> Any:
        """Return the value of ``Ref`` of *name*."""
        if name in self.parameters:
            return self.parameters[name]
        if name.startswith("ALIYUN::"):
            return self._pseudo(part, name)
        if name in self.attributes:
            return self.attribute(part, name, self._preferred if self._preferred in self.attributes[name] else "")
        part.problem(
            Phrase("there is no parameter or resource {name}", name=name),
            suggestion(name, [*self.parameters, *self.attributes]),
        )
        return None

    def attribute(self, part: LocatedValue, name: str, attribute: str) -> Any:
        """Return an attribute of a resource."""
        known = self.attributes.get(name)
        if known is None:
            part.problem(Phrase("there is no resource {name}", name=name), suggestion(name, list(self.attributes)))
            return None
        if attribute not in known:
            listed = ", ".join(sorted(key for key in known if key))
            text = (
                "{name} has no attribute {attribute}; there are: {names}"
                if listed
                else "{name} has no attribute {attribute}"
            )
            part.problem(Phrase(text, name=name, attribute=attribute, names=listed))
            return None
        return known[attribute]

    def _pseudo(self, part: LocatedValue, name: str) -> Any:
        target = self.target
        known = {
            "ALIYUN::Region": target.region,
            "ALIYUN::AccountId": target.account,
            "ALIYUN::TenantId": target.account,
            "ALIYUN::StackName": target.stack or target.name,
            "ALIYUN::StackId": target.name,
            "ALIYUN::NoValue": NOTHING,
        }
        if name not in known:
            part.problem(Phrase("the pseudo parameter {name} is not known", name=name), suggestion(name, list(known)))
            return None
        return known[name]


def _ref(scope: Scope, part: LocatedValue) -> Any:
    if not isinstance(part.value, str):
        part.problem("Ref takes the name of a parameter or resource")
        return None
    return scope.reference(part, part.value)


def _get_att(scope: Scope, part: LocatedValue) -> Any:
    names = part.value.split(".", 1) if isinstance(part.value, str) else part.value
    if not (isinstance(names, list) and len(names) == 2 and all(isinstance(name, str) for name in names)):
        part.problem("Fn::GetAtt takes a resource and an attribute")
        return None
    return scope.attribute(part, names[0], names[1])


def _sub(scope: Scope, part: LocatedValue) -> Any:
    own: dict[str, Any] = {}
    text: Any = part.value
    if isinstance(text, list) and len(text) == 2:
        values = scope.value(part.items()[1])
        own = values if isinstance(values, dict) else {}
        text = text[0]
    if not isinstance(text, str):
        part.problem("Fn::Sub takes a text, or a text and a map")
        return None

    def replaced(match: re.Match[str]) -> str:
        name = match[1]
        if name.startswith("!"):
            return "${" + name[1:] + "}"
        if name in own:
            return written(own[name])
        if "." in name and name not in scope.attributes:
            resource, _, attribute = name.partition(".")
            return written(scope.attribute(part, resource, attribute))
        return written(scope.reference(part, name))

    return _VARIABLE.sub(replaced, text)


def _if(scope: Scope, part: LocatedValue) -> Any:
    items = part.items()
    if len(items) != 3:
        part.problem("Fn::If takes a condition and two values")
        return None
    return scope.value(items[1] if scope.holds(items[0]) else items[2])


def _find_in_map(scope: Scope, part: LocatedValue) -> Any:
    names = scope.value(part)
    if not isinstance(names, list) or len(names) != 3 or not all(isinstance(name, (str, int)) for name in names):
        part.problem("Fn::FindInMap takes a mapping and two keys")
        return None
    value: Any = scope._mappings
    for name in map(str, names):
        if not isinstance(value, dict) or name not in value:
            part.problem(Phrase("Fn::FindInMap: there is no {name!r} in the mapping", name=name))
            return None
        value = value[name]
    return value


def _all_hold(scope: Scope, part: LocatedValue) -> bool:
    return min(map(scope.holds, part.items()), default=True)  # not all(), which would stop at the first problem


def _one_holds(scope: Scope, part: LocatedValue) -> bool:
    return max(map(scope.holds, part.items()), default=False)


def _not(scope: Scope, part: LocatedValue) -> bool:
    items = part.items() if isinstance(part.value, list) else [part]
    if len(items) != 1:
        part.problem("Fn::Not takes one condition")
        return False
    return not scope.holds(items[0])


def _stack_output(scope: Scope, part: LocatedValue) -> Any:
    names = scope.value(part)
    if not isinstance(names, list) or len(names) not in {2, 3} or not all(isinstance(name, str) for name in names):
        part.problem("Fn::GetStackOutput takes the name of a deployment and of one of its outputs")
        return None
    outputs = scope.target.outputs_of(names[0])
    if outputs is None or names[1] not in outputs:
        if outputs is None:
            part.problem(Phrase("Fn::GetStackOutput: there is no deployment {name}", name=names[0]))
        else:
            part.problem(Phrase("Fn::GetStackOutput: the deployment has no output {name}", name=names[1]))
        return None
    return outputs[names[1]]


def _format_time(scope: Scope, part: LocatedValue) -> Any:
    """Return the time of the deployment as text, in UTC unless a zone is given."""
    match scope.value(part):
        case str(pattern) | [str(pattern)]:
            zone = "UTC"
        case [str(pattern), str(zone)]:
            pass
        case _:
            part.problem("Fn::FormatTime takes a format and, optionally, a time zone")
            return None
    from datetime import UTC, datetime, timedelta  # rarely needed
    from zoneinfo import ZoneInfo

    try:
        time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=scope.target.now)
        return time.astimezone(ZoneInfo(zone)).strftime(pattern)
    except (ValueError, OSError, LookupError, UnicodeError):
        part.problem(
            Phrase("Fn::FormatTime: {pattern!r} in {zone!r} cannot be written", pattern=pattern[:40], zone=zone[:40])
        )
        return None


def _marketplace_image(scope: Scope, part: LocatedValue) -> Any:
    part.note("there is no marketplace here; the image's code stands for its id")
    return scope.value(part)


_LAZY: Mapping[str, Callable[[Scope, LocatedValue], Any]] = {
    "Ref": _ref,
    "Fn::GetAtt": _get_att,
    "Fn::Sub": _sub,
    "Fn::If": _if,
    "Fn::FindInMap": _find_in_map,
    "Fn::And": _all_hold,
    "Fn::Or": _one_holds,
    "Fn::Not": _not,
    "Fn::Any": _one_holds,
    "Fn::GetStackOutput": _stack_output,
    "Fn::FormatTime": _format_time,
    "Fn::MarketplaceImage": _marketplace_image,
    "Fn::GetAZs": lambda scope, part: [f"{scope.target.region}-f"],
}


def names_in(value: Any) -> set[str]:
    """Return every name that a value refers to, not only names of resources."""
    if isinstance(value, list):
        return set().union(*map(names_in, value))
    if not isinstance(value, dict):
        return set()
    names: set[str] = set()
    for key, item in value.items():
        if key == "Ref" and isinstance(item, str):
            names.add(item)
        elif key == "Fn::GetAtt":
            first = item[0] if isinstance(item, list) and item else item
            names.add(first.partition(".")[0] if isinstance(first, str) else "")
        elif key == "Fn::Sub":
            text = item[0] if isinstance(item, list) and item else item
            if isinstance(text, str):
                names |= {name.partition(".")[0] for name in _VARIABLE.findall(text)}
        names |= names_in(item)
    return names
