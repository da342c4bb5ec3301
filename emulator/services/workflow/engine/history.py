"""The stored form of a history: one text for the events of a turn, with a line for each event."""

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple, Protocol

from emulator.kernel.clock import Millis
from emulator.services.workflow.engine.json_text import joined, member_texts, quote


class Recorded(NamedTuple):
    """One event of a history in stored form; `events.read` turns it into an `Event`.

    ``detail`` is the JSON text of the API, ``mark`` one number that the API does not show: the option that a choice
    took; of an iteration the id of the foreach's StepEntered, because its detail leaves out the input that iterations
    share, which would make a history grow with the square of the items (`whole_iteration`).
    """

    id: int
    type: str
    strand: int
    scheduled: int
    step: str
    detail: str
    mark: int | None
    at: Millis

    @property
    def head(self) -> tuple[int, int, int, str]:
        """The members of every kind of event: id, strand, scheduled and step."""
        return self.id, self.strand, self.scheduled, self.step


class Line(Protocol):
    """The members of an event that `line_of` writes."""

    @property
    def type(self) -> str: ...  # noqa: D102 - as in `Recorded`
    @property
    def strand(self) -> int: ...  # noqa: D102 - as above
    @property
    def scheduled(self) -> int: ...  # noqa: D102 - as above
    @property
    def step(self) -> str: ...  # noqa: D102 - as above
    @property
    def mark(self) -> int | None: ...  # noqa: D102 - as above


_name = lru_cache(1024)(quote)
"""Cached, because a line is written for every event and names of steps recur."""


def line_of(event: Line, detail: str) -> str:
    """Return the line that stores *event* with its *detail*: fields separated by tabs.

    JSON text has neither tabs nor line ends, as it escapes them; hence the name of the step is written as JSON, too.
    The id is left out, because those of a turn are consecutive.
    """
    mark = event.mark
    shown = "" if mark is None else mark
    return f"{event.type}\t{event.strand}\t{event.scheduled}\t{_name(event.step)}\t{shown}\t{detail}"


def packed(lines: Iterable[str]) -> str:
    """Join the *lines* of a turn's events to the text that is stored."""
    return "\n".join(lines)


def unpacked(first: int, at: int, text: str, start: int) -> Iterator[Recorded]:
    """Yield the events in a text of `packed` from id *start* on; *first* is the id of its first one, *at* its time."""
    skipped = max(0, start - first)
    for number, line in enumerate(text.split("\n")[skipped:], first + skipped):
        kind, strand, scheduled, step, mark, detail = line.split("\t")
        choice = int(mark) if mark else None
        yield Recorded(number, kind, int(strand), int(scheduled), json.loads(step), detail, choice, Millis(at))


def whole_iteration(detail: str, shared: dict[str, str]) -> str:
    """Return the detail of IterationEntered as the API shows it.

    *detail* is the stored one: ``index``, and the members of ``input`` that the iteration does not share. *shared* are
    the members of the foreach's own input, as `json_text.member_texts` writes them.
    """
    members = json.loads(detail)
    whole = joined({**shared, **member_texts(members["input"])})
    return f'{{"index":{members["index"]},"input":{whole}}}'
