"""Rules for single values: each takes the value and its name and returns the value to keep.

Raises everywhere: InvalidArgument, naming the field and what it takes. JSON types are not coerced: ``"3"`` is
no number.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

from emulator.kernel.paging import Range
from emulator.services.fc import limits
from emulator.services.fc.errors import InvalidArgument

Check = Callable[[Any, str], Any]

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
    """Tell whether the code brings its own server, so that the handler means nothing."""
    return runtime.startswith("custom")


# --- names -------------------------------------------------------------------------------------------------------


def name(value: Any, field: str, longest: int = limits.SERVICE_NAME_LENGTH) -> str:
    """Check the name of a service, function or alias."""
    if not isinstance(value, str) or not value:
        raise InvalidArgument(f"{field} is required")
    if len(value) > longest or not _NAME.fullmatch(value):
        raise InvalidArgument(
            f"{field} '{_shown(value)}' is invalid: it must have 1 to {longest} letters, digits, '_' and '-' "
            "and must not start with a digit or '-'"
        )
    return value


def alias_name(value: Any, field: str) -> str:
    """Check the name of an alias, which must not be LATEST."""
    if name(value, field, limits.ALIAS_NAME_LENGTH) == "LATEST":
        raise InvalidArgument(f"{field} must not be LATEST")
    return str(value)


def version_id(value: Any, field: str) -> str:
    """Check a version id: one to ten digits; a whole number is taken too."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not text.isascii() or not text.isdigit() or len(text) > limits.VERSION_ID_DIGITS:
        raise InvalidArgument(f"{field} '{_shown(value)}' is invalid: it must be a decimal number of 1 to 10 digits")
    return str(int(text))


def version_or_latest(value: Any, field: str) -> str:
    """Check a version id or ``LATEST``, which an alias may point to in 2.0."""
    return "LATEST" if value == "LATEST" else version_id(value, field)


# --- plain values ------------------------------------------------------------------------------------------------


def text(longest: int | None = None, shortest: int = 0) -> Check:
    """Make a check for a string of *shortest* to *longest* characters."""

    def check(value: Any, field: str) -> str:
        if not isinstance(value, str):
            raise InvalidArgument(f"{field} must be a string")
        if len(value) < shortest:
            raise InvalidArgument(f"{field} must not be empty")
        if longest is not None and len(value) > longest:
            raise InvalidArgument(f"{field} must not be longer than {longest} characters")
        return value

    return check


def one_of(choices: Set[str]) -> Check:
    """Make a check for a string out of *choices*."""

    def check(value: Any, field: str) -> str:
        if not isinstance(value, str) or value not in choices:
            raise InvalidArgument(
                f"{field} '{_shown(value)}' is invalid: it must be one of {', '.join(sorted(choices))}"
            )
        return value

    return check


def flag(value: Any, field: str) -> bool:
    """Check a boolean."""
    if not isinstance(value, bool):
        raise InvalidArgument(f"{field} must be true or false")
    return value


def whole(allowed: Range | None = None) -> Check:
    """Make a check for a whole number in *allowed*."""

    def check(value: Any, field: str) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise InvalidArgument(f"{field} must be a whole number")
        if allowed is not None and not allowed.contains(value):
            raise InvalidArgument(f"{field} {value} is out of range: it must be from {allowed.low} to {allowed.high}")
        return value

    return check


def memory(value: Any, field: str) -> int:
    """Check a memory size in MB."""
    size: int = whole(limits.MEMORY_MB)(value, field)
    if size % limits.MEMORY_STEP_MB:
        raise InvalidArgument(f"{field} {size} is invalid: it must be a multiple of {limits.MEMORY_STEP_MB} MB")
    return size


def gpu_memory(value: Any, field: str) -> int:
    """Check a GPU memory size in MB."""
    size: int = whole()(value, field)
    if size <= 0 or size % limits.GPU_MEMORY_STEP_MB:
        raise InvalidArgument(f"{field} {size} is invalid: it must be a multiple of {limits.GPU_MEMORY_STEP_MB} MB")
    return size


def disk(value: Any, field: str) -> int:
    """Check a temporary disk size in MB."""
    size: int = whole()(value, field)
    if size not in limits.GPU_DISK_MB:
        raise InvalidArgument(f"{field} {size} is invalid: it must be one of 512, 10240")
    return size


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


# --- structures --------------------------------------------------------------------------------------------------


def items(check: Check, most: int | None = None) -> Check:
    """Make a check for a list whose items pass *check*."""

    def check_list(value: Any, field: str) -> list[Any]:
        if not isinstance(value, list):
            raise InvalidArgument(f"{field} must be a list")
        if most is not None and len(value) > most:
            raise InvalidArgument(f"{field} must not have more than {most} items")
        return [check(item, f"{field}[{index}]") for index, item in enumerate(value)]

    return check_list


def texts(value: Any, field: str) -> list[str]:
    """Check a list of strings."""
    return items(text())(value, field)  # type: ignore[no-any-return] # Check hides the item type


def string_map(value: Any, field: str) -> dict[str, str]:
    """Check an object whose values are strings."""
    return {key: text()(content, f"{field}.{key}") for key, content in _object(value, field).items()}


def anything(value: Any, field: str) -> Any:
    """Take any JSON value of reasonable depth: kept and shown, never looked into."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [item for part in level for item in _inside(part)]
        if not level:
            return value
    raise InvalidArgument(f"{field} is nested too deeply")


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def shape(**fields: Check) -> Check:
    """Make a check for an object with these fields, all optional; unknown fields and nulls are dropped.

    Names match without regard to case, because official clients differ in it (``vSwitchIds``, ``vswitchIds``); they are
    kept as spelled here.
    """
    known = {spelling.lower(): (spelling, check) for spelling, check in fields.items()}

    def check_object(value: Any, field: str) -> dict[str, Any]:
        kept = {}
        for key, content in _object(value, field).items():
            found = known.get(key.lower())
            if found is not None and content is not None:
                kept[found[0]] = found[1](content, f"{field}.{found[0]}")
        return kept

    return check_object


def _object(value: Any, field: str) -> Mapping[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise InvalidArgument(f"{field} must be an object")
    return value


def _shown(value: Any) -> str:
    """Return *value* fit for a message: short, printable."""
    shown = str(value)
    return shown[:80] + "..." if len(shown) > 80 else shown
