"""Attributes of resources as data: what each is called on the wire, of what kind it is, what it becomes inside.

A resource has one table of `Field` rows; requests, answers, ``service.yml`` and ``function.yml`` read it, and so can
every other form. A *kind* is a value that can be looked into (`Whole.range`, `Shape.fields`) and that checks: called
with a value and its name it returns the value to keep.

Raises everywhere: InvalidArgument, naming the field and what it takes. JSON types are not coerced: ``"3"`` is no
number.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any, NamedTuple

from emulator.kernel.frozen import frozen
from emulator.kernel.paging import Range
from emulator.kernel.spelling import suggestion
from emulator.services.fc import limits
from emulator.services.fc.errors import InvalidArgument

Check = Callable[[Any, str], Any]
"""(value, name) -> the value to keep."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_VARIABLE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_RESERVED_VARIABLES = frozenset({"accessKeyID", "accessKeySecret", "securityToken", "topic"})

_DEEPEST = 32

RUNTIMES = frozenset(
    {
        "python2.7", "python3", "python3.9", "python3.10", "python3.12",
        "nodejs4.4", "nodejs6", "nodejs8", "nodejs10", "nodejs12", "nodejs14", "nodejs16", "nodejs18", "nodejs20",
        "java8", "java11", "go1", "php7.2", "dotnetcore2.1", "dotnetcore3.1",
        "custom", "custom.debian10", "custom.debian11", "custom.debian12", "custom-container",
    }
)  # fmt: skip
NEWEST_PYTHON = {"2.0": "python3.10", "3.0": "python3.12"}


def is_custom(runtime: str) -> bool:
    """Whether the code brings its own server, so that the handler means nothing."""
    return runtime.startswith("custom")


@frozen(kw_only=False)
class Text:
    """A string of *shortest* to *longest* characters."""

    longest: int | None = None
    shortest: int = 0

    def __call__(self, value: Any, field: str) -> str:
        """Check a value."""
        if not isinstance(value, str):
            raise InvalidArgument(f"{field} must be a string")
        if len(value) < self.shortest:
            raise InvalidArgument(f"{field} must not be empty")
        if self.longest is not None and len(value) > self.longest:
            raise InvalidArgument(f"{field} must not be longer than {self.longest} characters")
        return value


def not_allowed(label: str, choices: Iterable[str], value: Any) -> str:
    """Return the service's text for a value that is none of *choices*.

    Source: fc-nodejs-sdk and fc-java-sdk, their suites.
    """
    return f"{label} is set to an invalid value (allowed: {' | '.join(choices)}, actual: '{_shown(value)}')"


@frozen(kw_only=False)
class OneOf:
    """A string out of *choices*, in the spelling that *fold* makes of every one.

    With *label* a refusal has the form that clients of the service look for.
    """

    choices: Set[str]
    label: str = ""
    fold: Callable[[str], str] | None = None

    def __call__(self, value: Any, field: str) -> str:
        """Check a value."""
        if self.fold is not None and isinstance(value, str):
            value = self.fold(value)
        if not isinstance(value, str) or value not in self.choices:
            if self.label:
                raise InvalidArgument(not_allowed(self.label, sorted(self.choices), value))
            raise InvalidArgument(
                f"{field} '{_shown(value)}' is invalid: it must be one of {', '.join(sorted(self.choices))}"
            )
        return value


@frozen(kw_only=False)
class Flag:
    """A boolean."""

    def __call__(self, value: Any, field: str) -> bool:
        """Check a value."""
        if not isinstance(value, bool):
            raise InvalidArgument(f"{field} must be true or false")
        return value


@frozen(kw_only=False)
class Whole:
    """A whole number in *range*."""

    range: Range | None = None

    def __call__(self, value: Any, field: str) -> int:
        """Check a value."""
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise InvalidArgument(f"{field} must be a whole number")
        allowed = self.range
        if allowed is not None and not allowed.contains(value):
            raise InvalidArgument(f"{field} {value} is out of range: it must be from {allowed.low} to {allowed.high}")
        return value


@frozen(kw_only=False)
class Items:
    """A list of at most *most* values of a kind. With *titled* a refusal has the form that clients look for.

    Source of that form: fc-java-sdk FunctionComputeClientTest.
    """

    kind: Check
    most: int | None = None
    titled: bool = False

    def __call__(self, value: Any, field: str) -> list[Any]:
        """Check a value."""
        if not isinstance(value, list):
            raise InvalidArgument(f"{field} must be a list")
        if self.most is not None and len(value) > self.most:
            if self.titled:
                raise InvalidArgument(
                    f"{titled(field)} contains too many values (max: {self.most}, actual: {len(value)})"
                )
            raise InvalidArgument(f"{field} must not have more than {self.most} items")
        return [self.kind(item, f"{field}[{index}]") for index, item in enumerate(value)]


def titled(field: str) -> str:
    """Return the last name of a field with a capital letter, as some messages of the service have it."""
    name = field.rpartition(".")[2]
    return name[:1].upper() + name[1:]


@frozen(kw_only=False)
class TextMap:
    """An object whose values are strings."""

    def __call__(self, value: Any, field: str) -> dict[str, str]:
        """Check a value."""
        return {key: TEXT(content, f"{field}.{key}") for key, content in _object(value, field).items()}


@frozen(kw_only=False)
class Anything:
    """Any JSON value of reasonable depth: kept and shown, never looked into."""

    def __call__(self, value: Any, field: str) -> Any:
        """Check a value."""
        level = [value]
        for _ in range(_DEEPEST):
            level = [item for part in level for item in _inside(part)]
            if not level:
                return value
        raise InvalidArgument(f"{field} is nested too deeply")


class Shape:
    """An object with these fields, all optional; unknown fields and nulls are dropped.

    Names match without regard to case, because official clients differ in it (``vSwitchIds``, ``vswitchIds``); they are
    kept as spelled here. ``fields`` maps names to kinds.
    """

    def __init__(self, **fields: Check) -> None:
        self.fields = fields
        self._known = {spelling.lower(): (spelling, kind) for spelling, kind in fields.items()}

    def __call__(self, value: Any, field: str) -> dict[str, Any]:
        """Check a value."""
        kept = {}
        for key, content in _object(value, field).items():
            known = self._known.get(key.lower())
            if known is not None and content is not None:
                kept[known[0]] = known[1](content, f"{field}.{known[0]}")
        return kept


@frozen(kw_only=False)
class Ruled:
    """A value of *kind* for which *rule* has the last word; the rule gets and returns what the kind has kept."""

    kind: Check
    rule: Check

    def __call__(self, value: Any, field: str) -> Any:
        """Check a value."""
        return self.rule(self.kind(value, field), field)


TEXT = Text()
TEXTS = Items(TEXT)
FLAG = Flag()
WHOLE = Whole()
TEXT_MAP = TextMap()
ANYTHING = Anything()
METHOD = OneOf({"GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS"}, fold=str.upper)
"""An HTTP method."""


ABSENT: Any = object()
"""How an answer shows a field that has not been set: not at all."""


class Field(NamedTuple):
    """A field on the wire, the attribute it becomes inside, its kind, and what answers show while it is not set.

    *unset* is `ABSENT`, None for null (then also shown for an empty object), or a value. *members* are those that an
    object shows for what it leaves out. Clients of typed languages tell these apart: one follows a pointer without
    looking, another asks for null. A field that differs between versions of the API has a row in the table of each.
    """

    wire: str
    attribute: str
    kind: Check
    unset: Any = ABSENT
    members: Mapping[str, Any] | None = None


def unknown_names(content: Iterable[str], known: Iterable[str]) -> list[tuple[str, str]]:
    """Return, of each name in *content* that is not one of *known* in any case, a sentence about it and the name."""
    names = sorted(set(known))
    lower = {name.lower() for name in names}
    return [
        (f"the field '{name}' is not known and ignored{suggestion(name, names)}", name)
        for name in content
        if name.lower() not in lower
    ]


def read(fields: tuple[Field, ...], body: Mapping[str, Any]) -> dict[str, Any]:
    """Return attribute -> checked value for the fields *body* has; null counts as absent, unknown names are ignored.

    Names match without regard to case: one official client sends ``InstanceConcurrency``.

    Raises: InvalidArgument.
    """
    values = {key.lower(): value for key, value in body.items() if value is not None}
    return {
        field.attribute: field.kind(values[field.wire.lower()], field.wire)
        for field in fields
        if field.wire.lower() in values
    }


def write(fields: tuple[Field, ...], config: object) -> dict[str, Any]:
    """Return wire name -> value as an answer shows it; see `Field` for fields that are not set."""
    written = {}
    for field in fields:
        value, unset = getattr(config, field.attribute), field.unset
        if value is None or (unset is None and value == {}):
            value = unset
        if value is ABSENT:
            continue
        if field.members is not None:
            value = {**field.members, **value}
        written[field.wire] = list(value) if isinstance(value, tuple) else value
    return written


def check_name(value: Any, field: str, longest: int = limits.SERVICE_NAME_LENGTH) -> str:
    """Check the name of a service, function or alias."""
    if not isinstance(value, str) or not value:
        raise InvalidArgument(f"{field} is required")
    if len(value) > longest or not _NAME.fullmatch(value):
        raise InvalidArgument(
            f"{field} '{_shown(value)}' is invalid: it must have 1 to {longest} letters, digits, '_' and '-' "
            "and must not start with a digit or '-'"
        )
    return value


def check_alias_name(value: Any, field: str) -> str:
    """Check the name of an alias, which must not be LATEST."""
    if check_name(value, field, limits.ALIAS_NAME_LENGTH) == "LATEST":
        raise InvalidArgument(f"{field} must not be LATEST")
    return str(value)


def check_version_id(value: Any, field: str) -> str:
    """Check a version id: one to ten digits; a whole number is taken too."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not text.isascii() or not text.isdigit() or len(text) > limits.VERSION_ID_DIGITS:
        raise InvalidArgument(f"{field} '{_shown(value)}' is invalid: it must be a decimal number of 1 to 10 digits")
    return str(int(text))


def version_or_latest(value: Any, field: str) -> str:
    """Check a version id or ``LATEST``, which an alias may point to in 2.0."""
    return "LATEST" if value == "LATEST" else check_version_id(value, field)


def _multiple_of(step: int) -> Check:
    def check(size: int, field: str) -> int:
        if size <= 0 or size % step:
            raise InvalidArgument(f"{field} {size} is invalid: it must be a multiple of {step} MB")
        return size

    return check


def _disk_size(size: int, field: str) -> int:
    if size not in limits.GPU_DISK_MB:
        raise InvalidArgument(f"{field} {size} is invalid: it must be one of {', '.join(map(str, limits.GPU_DISK_MB))}")
    return size


MEMORY = Ruled(Whole(limits.MEMORY_MB), _multiple_of(limits.MEMORY_STEP_MB))
GPU_MEMORY = Ruled(WHOLE, _multiple_of(limits.GPU_MEMORY_STEP_MB))
DISK = Ruled(WHOLE, _disk_size)


def cpu(value: Any, field: str) -> float:
    """Check a number of virtual CPUs."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise InvalidArgument(f"{field} must be a number")
    steps = value / limits.CPU_STEP
    if not limits.CPU_LOW <= value <= limits.CPU_HIGH or abs(steps - round(steps)) > 1e-6:
        raise InvalidArgument(
            f"{field} {value} is invalid: it must be a multiple of {limits.CPU_STEP} "
            f"from {limits.CPU_LOW} to {limits.CPU_HIGH:g}"
        )
    return float(value)


def environment(value: Any, field: str) -> dict[str, str]:
    """Check environment variables: names, those that begin with FC_, 4 KB in all."""
    size = 0
    for key, content in _object(value, field).items():
        if not _VARIABLE.fullmatch(key):
            raise InvalidArgument(
                f"{field} has an invalid name '{_shown(key)}': it must start with a letter "
                "and consist of letters, digits and '_'"
            )
        if key.startswith("FC_"):
            raise InvalidArgument(f"{field} must not contain the reserved name '{key}'")
        if not isinstance(content, str):
            raise InvalidArgument(f"{field}.{key} must be a string")
        size += len(key.encode("utf-8", "replace")) + len(content.encode("utf-8", "replace"))
    if size > limits.ENVIRONMENT_BYTES:
        raise InvalidArgument(f"{field} must not be larger than {limits.ENVIRONMENT_BYTES} bytes in all")
    return dict(value)


def environment_2(value: Any, field: str) -> dict[str, str]:
    """Check environment variables as 2.0 does, which keeps more names for itself.

    Source: Function Compute, environment variables, of both generations.
    """
    checked = environment(value, field)
    for key in _RESERVED_VARIABLES & checked.keys():
        raise InvalidArgument(f"{field} must not contain the reserved name '{key}'")
    return checked


def json_text(value: Any, field: str) -> str:
    """Check a string that holds JSON; an object or array given directly is written as text."""
    if isinstance(value, (dict, list)):
        return json.dumps(value, separators=(",", ":"))
    if not isinstance(value, str):
        raise InvalidArgument(f"{field} must be a string")
    if value:
        try:
            json.loads(value)
        except ValueError:
            raise InvalidArgument(f"{field} must be a string that holds JSON") from None
    return value


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _object(value: Any, field: str) -> Mapping[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise InvalidArgument(f"{field} must be an object")
    return value


def _shown(value: Any) -> str:
    """Return *value* fit for a message: short, printable."""
    shown = str(value)
    return shown[:80] + "..." if len(shown) > 80 else shown


def check_weights(value: Any, field: str) -> dict[str, float]:
    """Check an alias's additional versions: at most one, weight 0..1.

    Raises: InvalidArgument.
    Source: API reference; the limit of one is from the console.
    """
    if not isinstance(value, dict):
        raise InvalidArgument(f"{field} must be an object")
    if len(value) > 1:
        raise InvalidArgument(f"{field} must not have more than one version")
    weights = {}
    for version_id, weight in value.items():
        if not isinstance(weight, (int, float)) or isinstance(weight, bool) or not 0 <= weight <= 1:
            raise InvalidArgument(f"{field}.{version_id} must be a number from 0 to 1")
        weights[check_version_id(version_id, field)] = float(weight)
    return weights
