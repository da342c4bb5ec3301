"""Message properties: which are allowed, and their form in the tables."""

import json
import re

from emulator.services.mns.errors import InvalidArgument, SchemaViolation
from emulator.services.mns.limits import PROPERTY_NAME_LENGTH, PROPERTY_VALUE_LENGTH, USER_PROPERTIES
from emulator.services.mns.model import SYSTEM_PROPERTY_NAMES, Properties, Property, PropertyType

_TYPES = frozenset(kind.value for kind in PropertyType)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)


def check_user_properties(properties: Properties) -> None:
    """Check the properties a sender chose.

    Raises: InvalidArgument. Source: numbers from a client citing the limits page; the code is assumed.
    """
    if len(properties) > USER_PROPERTIES:
        raise InvalidArgument(name="UserProperties", low=0, high=USER_PROPERTIES, unit="")
    for name, value, kind in properties:
        if not 1 <= len(name) <= PROPERTY_NAME_LENGTH:
            raise InvalidArgument(name="Name", low=1, high=PROPERTY_NAME_LENGTH, unit=" characters")
        if len(value) > PROPERTY_VALUE_LENGTH:
            raise InvalidArgument(name="Value", low=0, high=PROPERTY_VALUE_LENGTH, unit=" characters")
        if kind not in _TYPES:
            raise SchemaViolation(name="Type")
        wrong_number = kind == PropertyType.NUMBER.value and _NUMBER.fullmatch(value.strip()) is None
        wrong_boolean = kind == PropertyType.BOOLEAN.value and value.strip().lower() not in {"true", "false"}
        if wrong_number or wrong_boolean:
            raise SchemaViolation(name="Value")


def check_system_properties(properties: Properties) -> None:
    """Check system properties.

    Raises: SchemaViolation for one that is no text; InvalidArgument for a value that is too long.
    """
    for _, value, kind in properties:
        if kind != PropertyType.STRING.value:
            raise SchemaViolation(name="Type")
        if len(value) > PROPERTY_VALUE_LENGTH:
            raise InvalidArgument(name="Value", low=0, high=PROPERTY_VALUE_LENGTH, unit=" characters")


def known_system_properties(properties: Properties) -> Properties:
    """Return those whose names the service knows: the Java client fails on a message that carries any other."""
    return tuple(item for item in properties if item.name in SYSTEM_PROPERTY_NAMES)


def stored(properties: Properties) -> str | None:
    """Return the form for the tables."""
    return json.dumps(properties, ensure_ascii=False, separators=(",", ":")) if properties else None


def restored(text: str | None) -> Properties:
    """Read the form of the tables."""
    return tuple(Property._make(item) for item in json.loads(text)) if text else ()


def appended(text: str | None, more: Properties) -> str | None:
    """Return stored system properties with *more*, which replace those of the same names."""
    names = {item.name for item in more}
    return stored(tuple(item for item in restored(text) if item.name not in names) + more)
