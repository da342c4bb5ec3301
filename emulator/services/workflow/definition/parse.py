"""A definition's text -> a `Flow`, or the first thing that is wrong with it."""

from emulator.services.workflow.definition.nodes import Flow


def parse_flow(text: str) -> Flow:
    """Return the flow that *text*, YAML or JSON, defines.

    Takes about half a millisecond for ten steps and grows with the text, and some 20 ms more on the first call, which
    loads the reader; the caller keeps the result.

    Raises: DefinitionError, for everything that would keep the flow from running as written.
    Source: flow definition language, Serverless Workflow guide; that unknown fields are refused is assumed.
    """
    # Here, because an emulator that has no flows starts faster without the reader and YAML.
    from emulator.services.workflow.definition.flows import read_flow

    return read_flow(text)
