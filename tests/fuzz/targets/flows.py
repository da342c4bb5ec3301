"""The flow definition language: documents, flows, conditions, mappings."""

import contextlib
import json

from emulator.services.workflow.engine.language import DefinitionError, EvaluationError
from emulator.services.workflow.languages.document import read_document
from emulator.services.workflow.languages.fdl.conditions import Condition
from emulator.services.workflow.languages.fdl.mappings import parse_error_source, parse_parameter, parse_source, resolve
from emulator.services.workflow.languages.fdl.paths import Path
from emulator.services.workflow.languages.programs import read_program as parse_flow
from emulator.services.workflow.languages.values import ExpressionError
from emulator.wire.yaml import UnreadableYaml, plain_value

_INPUT = {
    "a": 1, "b": "x", "c": [1, 2.5, "3", None, {"d": True}], "d": {"e": {"f": []}}, "status": "Failed", "n": None,
    "": 0,
}  # fmt: skip


def flow(data: bytes) -> None:
    """A definition is a flow, and then always the same one, or is refused with a place inside the text."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        found = parse_flow(text)
    except DefinitionError as error:
        assert 1 <= error.line <= len(text) + 2
        assert error.column >= 1
        str(error).encode("utf-8", "surrogateescape")
        return

    assert parse_flow(text) == found


def document(data: bytes) -> None:
    """The values of a document, put into an object and written as JSON, read back to the same values."""
    try:
        value = plain_value(read_document(data.decode("utf-8", "surrogateescape")))
    except (DefinitionError, UnreadableYaml):
        return
    written = json.dumps({"value": value}, allow_nan=False)

    try:
        again = plain_value(read_document(written))
    except (DefinitionError, UnreadableYaml) as error:
        raise AssertionError(f"{written!r} does not read back: {error}") from error
    assert again == {"value": value}


def condition(data: bytes) -> None:
    """A condition that is printed and read again is the same condition, with the same outcome."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        compiled = Condition.parse(text)
    except ExpressionError as error:
        assert 0 <= error.position <= len(text)
        return

    again = Condition.parse(str(compiled))
    assert again == compiled
    assert _holds(again) == _holds(compiled)


def _holds(compiled: Condition):
    try:
        return compiled.holds(_INPUT)
    except EvaluationError:
        return "impossible"


def mapping(data: bytes) -> None:
    """Every text is a path or a constant, or is refused; a path that is printed reads back."""
    text = data.decode("utf-8", "surrogateescape")
    for parse in (parse_source, parse_error_source, parse_parameter):
        with contextlib.suppress(ExpressionError):
            source = parse(text)
            resolve(source, {"input": _INPUT, "local": _INPUT, "context": {}})
            if isinstance(source, Path):
                assert Path.parse(str(source), (source.root,)) == source
            else:
                assert source == text
