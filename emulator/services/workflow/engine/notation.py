"""How languages name the members of events' details."""

from collections.abc import Mapping
from typing import Final, Literal

from emulator.kernel.frozen import frozen

Pattern = Literal["requestResponse", "sync", "waitForCallback"]
"""What a task waits for: the reply of its call, the end of what it has started, or a report with its token."""


@frozen
class Notation:
    """How a language names the members of details that another one names otherwise.

    ``target`` has what a task calls, ``mode`` what it waits for, in the words of ``modes``; ``seconds`` how long a step
    waits; ``left`` what a step, a branch or an iteration hands on.
    """

    target: str
    mode: str
    modes: Mapping[Pattern, str]
    seconds: str
    left: str


DOCUMENTED: Final = Notation(
    target="resourceArn",
    mode="pattern",
    modes={"requestResponse": "requestResponse", "sync": "sync", "waitForCallback": "waitForCallback"},
    seconds="duration",
    left="local",
)
"""That of the flow definition language.

Source: viewing the execution history, Serverless Workflow guide.
"""
