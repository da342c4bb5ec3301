"""Mappings: the entries of inputMappings, outputMappings and errorMappings, the data they see, the merging of scopes.

For the engine::

    step_input = apply(step.input_mappings, {"input": scope_input, "local": scope_local, "context": context})
    step_output = apply(step.output_mappings, {"input": step_input, "local": step_local, "context": context})
    caught = {"input": step_input, "local": {"error": name, "cause": text}, "context": context}
    step_output = apply(step.error_mappings, caught)
    scope_local = merge(scope_local, step_output)

The results are new objects; the values in them are the given ones, uncopied, and must not be changed in place.
"""

import re
from collections.abc import Collection
from collections.abc import Mapping as AbcMapping
from typing import Any, Final

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen, replace
from emulator.services.workflow.engine.json_text import Json, with_text
from emulator.services.workflow.engine.language import Facts
from emulator.services.workflow.engine.model import Beginning
from emulator.services.workflow.engine.state import ExecutionState
from emulator.services.workflow.languages.fdl.paths import MAPPING_ROOTS, STEP_ROOTS, Path
from emulator.services.workflow.languages.values import MISSING, ExpressionError
from emulator.wire.dates import iso_millis

ERROR_KEYS: Final = ("error", "cause")
"""The members of ``$local`` while errorMappings are applied."""

_MAPPING_PATH = re.compile(r"\$(?:input|local|context)(?:\Z|[.\[])")
_STEP_PATH = re.compile(r"\$(?:\Z|[.\[])")


@frozen
class Mapping:
    """Sets ``target`` to ``source``, a `Path` or a constant JSON value; a dot in the target opens a nested object."""

    target: str
    source: Any

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys from the outermost object to the value."""
        return tuple(self.target.split("."))


def parse_source(value: Any) -> Any:
    """Compile a mapping's source: text that is a path becomes a `Path`, all else stays the constant it is.

    A path is text that is ``$input``, ``$local`` or ``$context``, or one of them followed by ``.`` or ``[``. Text that
    is ``$`` or starts with ``$.`` or ``$[`` is a path on the input merged with the local, if it can be read as one.

    Raises: ExpressionError for text that starts like a path on one of the three roots and is none.
    Source: mapping of inputs and outputs, Serverless Workflow guide; ``$`` and ``$.x`` are assumed.
    """
    if isinstance(value, str) and _MAPPING_PATH.match(value):
        return Path.parse(value, MAPPING_ROOTS)
    return parse_parameter(value)


def parse_error_source(value: Any) -> Any:
    """Compile a source of errorMappings, where ``$local`` has only ``error`` (or ``code``) and ``cause``.

    Raises: ExpressionError, also for any other path on ``$local``.
    Source: error handling, Serverless Workflow guide; ``$input`` and ``$context`` are assumed.
    """
    source = parse_source(value)
    if not isinstance(source, Path) or source.root != "$local":
        return source
    if source.segments[:1] == ("code",):
        return replace(source, segments=("error", *source.segments[1:]))
    if not source.segments or source.segments[0] not in ERROR_KEYS:
        raise ExpressionError("errorMappings know only $local.error and $local.cause", len("$local"))
    return source


def parse_parameter(value: Any) -> Any:
    """Compile a value of serviceParams: ``$``, ``$.x`` and ``$['x']`` are paths on the step input, else a constant."""
    if isinstance(value, str) and _STEP_PATH.match(value):
        try:
            return Path.parse(value, STEP_ROOTS)
        except ExpressionError:
            # The documented rule is that anything which is not such a path is a constant: "$.50 off" stays text.
            return value
    return value


def apply(mappings: Collection[Mapping], scope: AbcMapping[str, Any]) -> dict[str, Any]:
    """Build the object *mappings* describe from *scope*, whose keys are ``input``, ``local`` and ``context``.

    Entries work in order and a later one replaces an earlier one of the same target. A path that matches nothing leaves
    its target out. No mappings give ``{}``.
    """
    built: dict[str, Any] = {}
    for mapping in mappings:
        value = resolve(mapping.source, scope)
        if value is MISSING:
            continue
        if "." in mapping.target:
            _assign(built, mapping.keys, value)
        else:
            built[mapping.target] = value
    return built


def constant_of(mappings: Collection[Mapping] | None) -> Json | None:
    """Return the object that *mappings* build when they have no paths; None when it depends on the data."""
    if mappings is None or any(isinstance(mapping.source, Path) for mapping in mappings):
        return None
    built = apply(mappings, {})
    try:
        return with_text(built)
    except ValueError:
        return None  # a text that cannot be written fails the step


def resolve(source: Any, scope: AbcMapping[str, Any]) -> Any:
    """Return the value of a mapping's *source* in *scope*, or `MISSING`."""
    if not isinstance(source, Path):
        return source
    if source.root == "$":
        return source.find_in(merge(scope.get("input"), scope.get("local")))
    return source.find(scope)


def merge(under: Any, over: Any) -> dict[str, Any]:
    """Return the keys of both objects, those of *over* winning; shallow. What is not an object counts as ``{}``."""
    return {**(under if isinstance(under, dict) else {}), **(over if isinstance(over, dict) else {})}


def _assign(built: dict[str, Any], keys: tuple[str, ...], value: Any) -> None:
    """Set a nested key; objects on the way are copied, because they may be parts of another step's data."""
    *parents, last = keys
    for key in parents:
        child = built.get(key)
        built[key] = dict(child) if isinstance(child, dict) else {}
        built = built[key]
    built[last] = value


def context_of(beginning: Beginning, now: Millis) -> dict[str, Any]:
    """Return the members of ``$context`` that exist inside and outside steps."""
    return {
        "flow": {"name": beginning.flow},
        "execution": {
            "id": f"{beginning.flow}:{beginning.execution}",
            "name": beginning.execution,
            "startedTime": iso_millis(beginning.at),
        },
        "currentTime": iso_millis(now),
    }


class Data(dict[str, Any]):
    """The data that mappings read: ``input``, ``local``, and ``context``, which is made when a path reads it.

    Making the context costs a token and two dates, more than the rest of a step.
    """

    __slots__ = ("_entry", "_facts", "_retries", "_state", "_step")

    def __init__(
        self, facts: Facts, state: ExecutionState, step: str, entry: int, retries: int, step_input: Any, local: Any
    ) -> None:
        self["input"] = step_input
        self["local"] = local
        self._facts = facts
        self._state = state
        self._step = step
        self._entry = entry
        self._retries = retries

    def get(self, key: str, default: Any = None) -> Any:
        """Return a root's value."""
        if key == "context":
            return self._context()
        return super().get(key, default)

    def _context(self) -> dict[str, Any]:
        facts, state = self._facts, self._state
        context = context_of(Beginning(facts.flow_name, facts.execution_name, state.started_at), state.at)
        if self._entry:
            context["step"] = {"name": self._step, "retryCount": self._retries}
            context["task"] = {"token": facts.token(self._entry, self._retries)}
        return context


def reads_context(mappings: tuple[Mapping, ...] | None) -> bool:
    """Whether a source is a path on ``$context``: its value may differ from one attempt to the next."""
    return any(isinstance(mapping.source, Path) and mapping.source.root == "$context" for mapping in mappings or ())
