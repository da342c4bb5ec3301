"""The names that each language gives to the members of an event's detail."""

from collections.abc import Mapping
from typing import Final, Literal

from emulator.kernel.frozen import frozen

Pattern = Literal["requestResponse", "sync", "waitForCallback"]
"""What a task waits for: the reply to its call, the end of the work it has started, or a report with its token."""


@frozen
class Notation:
    """The names of members that differ between languages.

    ``target`` holds what a task calls, ``mode`` what it waits for, by the words of ``modes``; ``seconds`` how long a
    step waits; ``left`` the output of a step, a branch or an iteration.
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
"""The names of the flow definition language.

Source: viewing the execution history, Serverless Workflow guide.
"""
