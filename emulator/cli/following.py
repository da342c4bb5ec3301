"""A running execution as lines that appear while it runs: one per step when it ends, one per wait when it begins."""

from collections.abc import Iterator, Sequence

from emulator.cli.history import Event
from emulator.cli.tree import MARGIN, Style, attempt_result, duration, offset, outcome_words, value_text
from emulator.cli.visits import FAILED_ATTEMPT, Execution, Visit
from emulator.wire.dates import parse_iso

_WAITING = {"waitForCallback": "waits for its callback", "sync": "waits for the end of what it started"}
_OPENS = frozenset({"StepEntered", "BranchEntered", "IterationEntered"})


class Follower:
    """Turns the events of one execution, as they come, into lines: when, how long, the step, and what to say of it."""

    def __init__(self, style: Style) -> None:
        self.execution = Execution()
        self._style = style

    def lines(self, events: Sequence[Event]) -> Iterator[str]:
        """Yield the lines for the next *events*.

        A wait that is over with the same batch of events is told by the step's own line alone, and so is an attempt
        that fails for good.
        """
        next_kind = {event.get("ScheduleEventId"): event["Type"] for event in reversed(events)}
        for event in events:
            visit = self.execution.add(event)
            if visit is None:
                continue
            for about, took, remark in self._remarks(event, visit, next_kind.get(event["EventId"], "")):
                yield self._style.fit(self._line(event, about, took, remark))

    def _remarks(self, event: Event, visit: Visit, then: str) -> Iterator[tuple[Visit, str, str]]:
        """Yield what there is to say of an event: the visit, the span and the words. *then* is the event it caused."""
        kind = event["Type"]
        if kind == "StepExited":
            yield visit, duration((visit.ended or 0) - visit.entered), " ".join(_end_words(visit))
        elif kind in FAILED_ATTEMPT and not then.startswith("Step"):
            attempt = visit.attempts[-1]
            took = duration((attempt.ended or 0) - attempt.started)
            yield visit, took, f"attempt {len(visit.attempts)} failed: {attempt_result(attempt)}"
        elif kind == "TaskSubmitted" and not then:
            yield visit, "", _WAITING.get(visit.attempts[-1].pattern, "submitted")
        elif kind == "StepStarted" and visit.waits_for and not then:
            yield visit, "", f"waits: {visit.waits_for}"
        elif kind in _OPENS and (owner := _just_opened(visit, kind)) is not None:
            yield owner, "", "begins"

    def _line(self, event: Event, visit: Visit, took: str, remark: str) -> str:
        at = offset(parse_iso(event["Time"]) - self.execution.started)
        part = visit.part
        place = f"[{part.index}] " if part.kind in {"branch", "iteration"} else ""
        return f"{at:>9}  {took:>8}  {MARGIN * visit.depth}{place}{visit.step}  {remark}".rstrip()


def _just_opened(visit: Visit, kind: str) -> Visit | None:
    """Return the step whose first nested part or step this is."""
    if kind != "StepEntered":
        return visit if len(visit.parts) == 1 else None
    part = visit.part
    return part.owner if part.kind == "option" and part.visits[0] is visit else None


def _end_words(visit: Visit) -> Iterator[str]:
    yield from outcome_words(visit)
    if visit.cause:
        yield value_text(visit.cause)
    elif visit.output not in (None, {}):
        yield value_text(visit.output)
