"""The kinds of values that only Function Compute has, and the rules for its names.

Raises everywhere: InvalidArgument, naming the field and what it takes.
"""

import re
from operator import attrgetter
from typing import Any

from emulator.kernel.digits import read_digits
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.services.fc import limits
from emulator.services.fc.codec import BODY, check_name
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.model import FunctionRef, Scope
from emulator.wire.schema.json_bodies import short
from emulator.wire.schema.kinds import NUMBER, TEXT, TEXT_MAP, WHOLE, Held, MapOf, Number, OneOf, Rule, Ruled, whole

_VARIABLE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_RESERVED_VARIABLES = frozenset({"accessKeyID", "accessKeySecret", "securityToken", "topic"})

RUNTIMES = frozenset(
    {
        "python2.7", "python3", "python3.9", "python3.10", "python3.12",
        "nodejs4.4", "nodejs6", "nodejs8", "nodejs10", "nodejs12", "nodejs14", "nodejs16", "nodejs18", "nodejs20",
        "java8", "java11", "go1", "php7.2", "dotnetcore2.1", "dotnetcore3.1",
        "custom", "custom.debian10", "custom.debian11", "custom.debian12", "custom-container",
    }
)  # fmt: skip
NEWEST_PYTHON = {"2.0": "python3.10", "3.0": "python3.12"}


METHOD = OneOf({"GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS"}, fold=str.upper)
"""An HTTP method."""


def check_alias_name(value: Any, field: str) -> str:
    """Check the name of an alias, which must not be LATEST."""
    if check_name(value, field, limits.ALIAS_NAME_LENGTH) == "LATEST":
        raise InvalidArgument(f"{field} must not be LATEST")
    return str(value)


def check_version_id(value: Any, field: str) -> str:
    """Check a version id: one to ten digits; a whole number is taken too."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    number = read_digits(text, limits.VERSION_ID_DIGITS) if isinstance(text, str) else None
    if number is None:
        raise InvalidArgument(f"{field} '{short(value)}' is invalid: it must be a decimal number of 1 to 10 digits")
    return str(number)


def version_or_latest(value: Any, field: str) -> str:
    """Check a version id or ``LATEST``, which an alias may point to in 2.0."""
    return "LATEST" if value == "LATEST" else check_version_id(value, field)


VERSION_ID = Ruled(TEXT, version_or_latest, alone=True)
"""The kind of ``versionId`` of an alias."""


def _multiple_of(step: int) -> Rule:
    def check(size: int, field: str) -> int:
        if size <= 0 or size % step:
            raise InvalidArgument(f"{field} {size} is invalid: it must be a multiple of {step} MB")
        return size

    return check


def _disk_size(size: int, field: str) -> int:
    if size not in limits.GPU_DISK_MB:
        raise InvalidArgument(f"{field} {size} is invalid: it must be one of {', '.join(map(str, limits.GPU_DISK_MB))}")
    return size


MEMORY = Ruled(whole(limits.MEMORY_MB, "MB"), _multiple_of(limits.MEMORY_STEP_MB))
GPU_MEMORY = Ruled(WHOLE, _multiple_of(limits.GPU_MEMORY_STEP_MB))
DISK = Ruled(WHOLE, _disk_size)


def _cpu(value: Any, field: str) -> float:
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


def _environment(value: Any, field: str) -> dict[str, str]:
    """Check environment variables: names, those that begin with FC_, 4 KB in all."""
    size = 0
    for key, content in BODY.object(value, field).items():
        if not _VARIABLE.fullmatch(key):
            raise InvalidArgument(
                f"{field} has an invalid name '{short(key)}': it must start with a letter "
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


def _environment_2(value: Any, field: str) -> dict[str, str]:
    """Check environment variables as 2.0 does, which keeps more names for itself.

    Source: Function Compute, environment variables, of both generations.
    """
    checked = _environment(value, field)
    for key in _RESERVED_VARIABLES & checked.keys():
        raise InvalidArgument(f"{field} must not contain the reserved name '{key}'")
    return checked


CPU = Ruled(Number(limits.CPU_LOW, limits.CPU_HIGH), _cpu, alone=True)
ENVIRONMENT = Ruled(TEXT_MAP, _environment, alone=True)
ENVIRONMENT_2 = Ruled(TEXT_MAP, _environment_2, alone=True)


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


WEIGHTS = Ruled(MapOf(NUMBER), check_weights, alone=True)

SCOPE = Held(attrgetter("service", "function"), Scope, ("scope_service", "scope_function"))
TENANT = Held(tuple, Tenant, ("account", "region"))
PLACE = Held(
    lambda place: (*place.tenant, *place[1:]),
    lambda account, region, *place: FunctionRef(Tenant(AccountId(account), Region(region)), *place),
    ("account", "region", "service", "function", "qualifier"),
)
"""The conversion between a `FunctionRef` and its five columns: account, region, service, function, qualifier."""
