"""Coverage of a definition by executions: steps, ways, conditions, retries, timeouts, loops.

Everything that can be covered is an `Item`. A `Tracer` receives the events of one execution and collects the items it
covers. Steps are identified by the lists they are in, because names may repeat in other scopes of a state machine.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple

from emulator.services.workflow.engine.decide import catch_for, matches
from emulator.services.workflow.engine.events import (
    Event,
    StepEntered,
    StepExited,
    StepStarted,
    TaskScheduled,
    TaskTimedOut,
)
from emulator.services.workflow.engine.model import Definition, Entry, Phase, Step, StepList, Task
from emulator.services.workflow.engine.outline import Way
from emulator.services.workflow.engine.state import ExecutionState

ItemKind = Literal["step", "transition", "condition", "retry", "timeout", "loop"]

KINDS: Final[tuple[ItemKind, ...]] = ("step", "transition", "condition", "retry", "timeout", "loop")

END: Final = "end"


PHRASES: Final = (
    *("{label} is true", "{label} is false", "{errors} tried again", "{errors} after the last of {limit} retries"),
    *("not in time", "with no element", "with several elements"),
    *("on {label} to {target}", "to {target} when {label}", "to {target}", "{step}: {what}"),
)
"""Every text that `Item.said` looks up."""


class Phrase(str):
    """A text made of a pattern and names, which can be translated; equal to the English text itself."""

    __slots__ = ("fields", "pattern")

    pattern: str
    fields: dict[str, object]

    @classmethod
    def of(cls, pattern: str, **fields: object) -> "Phrase":
        """Return *pattern* with *fields* in the places of its ``{names}``."""
        made = cls(pattern.format(**fields))
        made.pattern, made.fields = pattern, fields
        return made

    def said(self, say: Callable[[str], str]) -> str:
        """Return the text, its pattern translated by *say*."""
        return say(self.pattern).format(**self.fields)


class Item(NamedTuple):
    """An item of coverage: a step, and ``what`` of the step is covered, empty for the step itself."""

    kind: ItemKind
    step: str
    what: str

    @property
    def text(self) -> str:
        """The item in English words."""
        return self.said(str)

    def said(self, say: Callable[[str], str]) -> str:
        """Return the item in words, translated by *say*."""
        if not self.what:
            return self.step
        what = self.what.said(say) if isinstance(self.what, Phrase) else self.what
        return say("{step}: {what}").format(step=self.step, what=what)


class Coverage:
    """The items of a definition, and how often each was taken."""

    def __init__(self, program: Definition) -> None:
        self.items: dict[Item, None] = {}
        self.taken: Counter[Item] = Counter()
        self.places: dict[int, tuple[str, StepList, int]] = {}
        """By the identity of a step: its path, its list and its position there."""
        self._collect(program.steps, "")

    def missing(self) -> list[Item]:
        """Return the items that no execution has covered."""
        return [item for item in self.items if not self.taken[item]]

    def counts(self, kind: ItemKind | None = None) -> tuple[int, int]:
        """Return how many items of a kind, or of all kinds, are covered, and how many there are."""
        items = [item for item in self.items if kind in {None, item.kind}]
        return sum(bool(self.taken[item]) for item in items), len(items)

    @property
    def percentage(self) -> float:
        """The covered items in percent; 100 for a definition without items."""
        taken, there = self.counts()
        return 100.0 * taken / there if there else 100.0

    def add(self, taken: Counter[Item]) -> None:
        """Add the items that executions have covered."""
        self.taken.update(taken)

    def _collect(self, steps: StepList, path: str) -> None:
        for position, step in enumerate(steps.steps):
            name = f"{path}{step.name}"
            self.places[id(step)] = (name, steps, position)
            self.items |= dict.fromkeys(_items(step, name, steps, position))
            for number, (_, inner) in enumerate(step.parts()):
                many = len(step.parts()) > 1
                self._collect(inner, f"{name}[{number}]/" if many else f"{name}/")


def _items(step: Step, name: str, steps: StepList, position: int) -> Iterator[Item]:
    yield Item("step", name, "")
    ways = step.ways(steps, position)
    for way in ways:
        yield item_of(name, way)
    options = [way for way in ways if way.option is not None]
    for way in options[:-1]:
        yield Item("condition", name, Phrase.of("{label} is true", label=way.label))
        yield Item("condition", name, Phrase.of("{label} is false", label=way.label))
    retries, _ = step.policies()
    for rule in retries:
        if rule.max_attempts:
            errors = ", ".join(rule.errors)
            yield Item("retry", name, Phrase.of("{errors} tried again", errors=errors))
            last = Phrase.of("{errors} after the last of {limit} retries", errors=errors, limit=rule.max_attempts)
            yield Item("retry", name, last)
    if isinstance(step, Task) and (step.timeout_s is not None or getattr(step, "timeout", None) is not None):
        yield Item("timeout", name, Phrase.of("not in time"))
    if step.kind == "foreach" and not isinstance(step, Task):
        yield Item("loop", name, Phrase.of("with no element"))
        yield Item("loop", name, Phrase.of("with several elements"))


def item_of(name: str, way: Way) -> Item:
    """Return the item of a way out of the step *name*."""
    target = END if way.target is None else way.target
    if way.caught is not None:
        return Item("transition", name, Phrase.of("on {label} to {target}", label=way.label, target=target))
    pattern = "to {target} when {label}" if way.label else "to {target}"
    return Item("transition", name, Phrase.of(pattern, label=way.label, target=target))


class Tracer:
    """Collects the items that one execution covers (`drive.Observer`)."""

    def __init__(self, coverage: Coverage) -> None:
        self._places = coverage.places
        self.taken: Counter[Item] = Counter()

    def before(self, state: ExecutionState, event: Event) -> None:
        """Note the way by which a step is left, and the error for which an attempt is retried."""
        if isinstance(event, StepExited):
            scope = state.strands[event.strand].scopes[-1]
            if scope.entry is not None:
                self._exited(scope.entry, event)
        elif isinstance(event, TaskScheduled | StepStarted):
            entry = state.strands[event.strand].scopes[-1].entry
            if entry is not None and entry.phase in {Phase.TROUBLED, Phase.FAILING}:
                self._retried(entry, "tried again")

    def after(self, state: ExecutionState, event: Event) -> None:
        """Note a step that was entered, an option that was chosen, and iterations that were opened."""
        if not isinstance(event, StepEntered | StepStarted | TaskTimedOut):
            return
        scopes = state.strands[event.strand].scopes  # a choice that has started may have opened one more
        entry = next(each for scope in reversed(scopes) if (each := scope.entry) is not None)
        name = self._name(entry)
        if isinstance(event, StepEntered):
            self.taken[Item("step", name, "")] += 1
        elif isinstance(event, TaskTimedOut):
            self.taken[Item("timeout", name, "not in time")] += 1
        else:
            self._started(entry, name)

    def _started(self, entry: Entry, name: str) -> None:
        if entry.step.kind == "choice":
            options = [way for way in self._ways(entry) if way.option is not None]
            chosen = len(options) - 1 if entry.mark is None else entry.mark
            for number, way in enumerate(options[:-1][: chosen + 1]):
                self.taken[Item("condition", name, f"{way.label} is {'true' if number == chosen else 'false'}")] += 1
        elif entry.fork is not None and entry.step.kind == "foreach" and entry.fork.total != 1:
            self.taken[Item("loop", name, "with several elements" if entry.fork.total else "with no element")] += 1

    def _exited(self, entry: Entry, event: StepExited) -> None:
        if event.error:
            self._retried(entry, "after the last of")
        if entry.phase is Phase.FAILED:
            return  # it leads nowhere
        _, catch = entry.step.policies()
        rule = catch_for(catch, event.error) if event.error else None
        ways = self._ways(entry)
        if rule is not None:
            way = next(each for each in ways if each.caught == catch.index(rule))
        elif entry.step.kind == "choice":
            way = ways[len(ways) - 1 if entry.mark is None else entry.mark]
        else:
            way = ways[0]
        self.taken[item_of(self._name(entry), way)] += 1

    def _retried(self, entry: Entry, what: str) -> None:
        retries, _ = entry.step.policies()
        rule = next((each for each in retries if matches(each.errors, entry.error)), None)
        if rule is None:
            return
        errors = ", ".join(rule.errors)
        if what == "tried again":
            self.taken[Item("retry", self._name(entry), f"{errors} tried again")] += 1
        elif rule.max_attempts and entry.retries >= rule.max_attempts:
            text = f"{errors} after the last of {rule.max_attempts} retries"
            self.taken[Item("retry", self._name(entry), text)] += 1

    def _name(self, entry: Entry) -> str:
        return self._places[id(entry.step)][0]

    def _ways(self, entry: Entry) -> list[Way]:
        _, steps, position = self._places[id(entry.step)]
        return entry.step.ways(steps, position)
