"""Lists of mappings: inputMappings, outputMappings, errorMappings."""

from collections.abc import Callable
from typing import Any, Final

from emulator.services.workflow.definition.fields import Fields, Part
from emulator.services.workflow.expression.errors import ExpressionError
from emulator.services.workflow.expression.mappings import Mapping, parse_error_source, parse_source

_KNOWN: Final = frozenset({"target", "source"})


def read_mappings(part: Part | None) -> tuple[Mapping, ...] | None:
    """Return the entries of inputMappings or outputMappings; None when the field is absent, () when it is empty.

    Raises: DefinitionError.
    """
    return _read(part, parse_source)


def read_error_mappings(part: Part | None) -> tuple[Mapping, ...] | None:
    """Return the entries of errorMappings.

    Raises: DefinitionError.
    """
    return _read(part, parse_error_source)


def _read(part: Part | None, parse: Callable[[Any], Any]) -> tuple[Mapping, ...] | None:
    return tuple(_entry(item, parse) for item in part.items()) if part else None


def _entry(part: Part, parse: Callable[[Any], Any]) -> Mapping:
    fields = Fields(part, _KNOWN)
    target = fields.need("target")
    if not all(target.text().split(".")):
        raise target.failure("a target is a key, or keys joined by dots")
    source = fields.raw("source")
    if source is None:
        raise part.failure("the field 'source' is required")
    value = source.value()
    try:
        return Mapping(target=target.text(), source=parse(value))
    except ExpressionError as error:
        raise source.failure(str(error)) from error
