"""The top level of a definition: version, type, steps, mappings, time-out."""

from typing import Final

from emulator.services.workflow.definition.check import Outline, unreachable_steps
from emulator.services.workflow.definition.document import read_document
from emulator.services.workflow.definition.fields import Fields, Part
from emulator.services.workflow.definition.limits import TIMEOUT_S, VERSIONS
from emulator.services.workflow.definition.mappings import read_mappings
from emulator.services.workflow.definition.nodes import Flow
from emulator.services.workflow.definition.steps import read_steps

_FLOW: Final = frozenset(
    {"version", "type", "name", "description", "steps", "inputMappings", "outputMappings", "timeoutSeconds"}
)


def read_flow(text: str) -> Flow:
    """Return the flow that *text* defines; see `emulator.services.workflow.definition.parse.parse_flow`.

    Raises: DefinitionError.
    """
    root = Part(read_document(text), "")
    if (kind := Fields(root).find("Type")) is not None:
        raise kind.failure("this is the state machine language, which is not supported; flows have `type: flow`")
    fields = Fields(root, _FLOW)
    version = fields.need("version")
    if version.text() not in VERSIONS:
        raise version.failure(f"unknown version; there are {', '.join(VERSIONS)}")
    kind = fields.need("type")
    if kind.text() != "flow":
        raise kind.failure("must be flow")
    fields.text("name")
    outline = Outline()
    steps = read_steps(fields.need("steps"), outline)
    for name in unreachable_steps(steps):
        outline.warnings.append(f"nothing leads to the step {name!r} (line {outline.names[name]})")
    return Flow(
        steps=steps,
        input_mappings=read_mappings(fields.find("inputMappings")),
        output_mappings=read_mappings(fields.find("outputMappings")),
        timeout_s=fields.whole("timeoutSeconds", TIMEOUT_S),
        warnings=tuple(outline.warnings),
    )
