"""The events of steps, and of the branches and iterations that they open."""

from typing import Any, Self

from emulator.kernel.clock import Millis
from emulator.services.workflow.engine.events.kind import Failure, Members, OutputEvent, StepEvent
from emulator.services.workflow.engine.history import Recorded
from emulator.services.workflow.engine.json_text import Json, canonical, quote, quoted, written
from emulator.services.workflow.engine.model import Entry, Phase, Scope, Strand
from emulator.services.workflow.engine.notation import Notation
from emulator.services.workflow.engine.state import ExecutionState


class StepEntered(StepEvent):
    """A step is entered with *input*. ``local_text`` is the scope's local, if shown; ``target`` what a task calls."""

    __slots__ = ("input", "local_text", "target")

    def __init__(
        self,
        number: int,
        strand: int,
        scheduled: int,
        step: str,
        input: Json,
        local_text: str | None = None,
        target: str | None = None,
    ) -> None:
        self.id = number
        self.strand = strand
        self.scheduled = scheduled
        self.step = step
        self.input = input
        self.local_text = local_text
        self.target = target

    @classmethod
    def read(cls, kept: Recorded, members: Members, notation: Notation) -> Self:
        local_text = members.json("local").text if "local" in members else None
        target = members.get(notation.target)
        return cls(*kept.head, members.json("input"), local_text, target)

    def detail(self, notation: Notation) -> str:
        if self.target is not None:
            return written(input=self.input.text, local=self.local_text, **{notation.target: quoted(self.target)})
        if self.local_text is None:
            return f'{{"input":{self.input.text}}}'
        return f'{{"input":{self.input.text},"local":{self.local_text}}}'

    def _go_on(self, state: ExecutionState, strand: Strand, at: Millis) -> None:
        scope = strand.scopes[-1]
        scope.entry = Entry(scope.steps.steps[scope.position], self.id, at, self.input)


class StepStarted(StepEvent):
    """A step begins, or begins once more after one of its strands has failed.

    ``mark`` is the number of the option that a choice took, ``seconds`` or ``timestamp`` what a wait waits for,
    ``items`` the elements to iterate over when they do not follow from the input, ``retries`` how often it has begun
    before.
    """

    __slots__ = ("input", "items", "mark", "retries", "seconds", "timestamp")

    def __init__(
        self,
        number: int,
        strand: int,
        scheduled: int,
        step: str,
        input: Json,
        mark: int | None = None,
        seconds: int | None = None,
        timestamp: str | None = None,
        items: list[Any] | None = None,
        retries: int = 0,
    ) -> None:
        self.id = number
        self.strand = strand
        self.scheduled = scheduled
        self.step = step
        self.input = input
        self.mark = mark
        self.seconds = seconds
        self.timestamp = timestamp
        self.items = items
        self.retries = retries

    @classmethod
    def read(cls, kept: Recorded, members: Members, notation: Notation) -> Self:
        seconds, timestamp, retries = (members.get(name) for name in (notation.seconds, "timestamp", "retryCount"))
        mark = kept.mark if seconds is None else None
        return cls(*kept.head, members.json("input"), mark, seconds, timestamp, members.get("items"), retries or 0)

    def detail(self, notation: Notation) -> str:
        if self.items is None and self.seconds is None and self.timestamp is None and not self.retries:
            return f'{{"input":{self.input.text}}}'
        return written(
            input=self.input.text,
            items=None if self.items is None else canonical(self.items),
            **{notation.seconds: None if self.seconds is None else str(self.seconds)},
            timestamp=None if self.timestamp is None else quote(self.timestamp),
            retryCount=str(self.retries) if self.retries else None,
        )

    def _go_on(self, state: ExecutionState, strand: Strand, at: Millis) -> None:
        entry = strand.entry
        if entry.phase is Phase.FAILING:  # what the step opened is opened once more
            entry.retries += 1
            entry.error = entry.cause = ""
        entry.phase = Phase.STARTED
        entry.at = at
        entry.given = self.input
        if self.seconds is not None:
            entry.mark = self.seconds
        elif self.mark is not None:
            entry.mark = self.mark
            nested = entry.step.nested(self.mark)
            if nested is not None and nested.steps:
                strand.scopes.append(Scope(nested, entry.input))
        entry.fork = entry.step.fork(entry.input, self.id, self.items)


class StepSucceeded(OutputEvent):
    """A step has ended well, with its output."""

    __slots__ = ()

    def _go_on(self, state: ExecutionState, strand: Strand, at: Millis) -> None:
        entry = strand.entry
        entry.phase = Phase.SUCCEEDED
        entry.output = self.output


class StepFailed(Failure):
    """A step has failed for good."""

    __slots__ = ()

    def _go_on(self, state: ExecutionState, strand: Strand, at: Millis) -> None:
        entry = strand.entry
        entry.phase = Phase.FAILED
        entry.error, entry.cause = self.error, self.cause


class StepExited(StepEvent):
    """A step is left.

    ``left`` is its output, ``goto`` the step that follows when it is not the next one of the list, ``variables`` the
    changes to the execution's variables. The other members are only shown: the error that the step failed with or that
    was caught, its retries, and for some tasks input, output and target.
    """

    __slots__ = ("cause", "error", "goto", "input_text", "left", "output_text", "retries", "target", "variables")

    def __init__(
        self,
        number: int,
        strand: int,
        scheduled: int,
        step: str,
        left: Json,
        goto: str | None = None,
        variables: dict[str, Any] | None = None,
        *,
        error: str = "",
        cause: str = "",
        retries: int | None = None,
        input_text: str | None = None,
        output_text: str | None = None,
        target: str | None = None,
    ) -> None:
        self.id = number
        self.strand = strand
        self.scheduled = scheduled
        self.step = step
        self.left = left
        self.goto = goto
        self.variables = variables
        self.error = error
        self.cause = cause
        self.retries = retries
        self.input_text = input_text
        self.output_text = output_text
        self.target = target

    @classmethod
    def read(cls, kept: Recorded, members: Members, notation: Notation) -> Self:
        shown = "output" if notation.left != "output" else ""  # else it is what the step hands on
        return cls(
            *kept.head,
            members.json(notation.left),
            members.get("goto"),
            members.get("global"),
            error=members.text("error"),
            cause=members.text("cause"),
            retries=members.get("retryCount"),
            input_text=members.json("input").text if "input" in members else None,
            output_text=members.json(shown).text if shown in members else None,
            target=members.get(notation.target),
        )

    def detail(self, notation: Notation) -> str:
        is_plain = self.retries is None and self.target is None and not self.error and not self.cause
        if is_plain and self.goto is None and not self.variables:
            return f'{{"{notation.left}":{self.left.text}}}'
        return written(
            input=self.input_text,
            **{notation.left: self.left.text},
            **({"output": self.output_text} if self.output_text is not None else {}),
            **{notation.target: quoted(self.target)},
            cause=quoted(self.cause),
            error=quoted(self.error),
            retryCount=None if self.retries is None else str(self.retries),
            goto=quoted(self.goto),
            **{"global": canonical(self.variables) if self.variables else None},
        )

    def _go_on(self, state: ExecutionState, strand: Strand, at: Millis) -> None:
        scope = strand.scopes[-1]
        entry = strand.entry
        scope.entry = None
        scope.left = self.left
        if entry.phase is Phase.FAILED:
            state.fail_scope(strand, self.id, at, entry.error, entry.cause)
            return
        if self.variables:
            state.variables = {**state.variables, **self.variables}
        if self.goto is not None:
            scope.position = scope.steps.index[self.goto]
        else:
            scope.position = entry.step.next_position(scope.steps, scope.position)
        if len(strand.scopes) > 1 and scope.is_over():
            strand.scopes.pop()
            owner = strand.entry
            owner.phase = Phase.JOINED
            owner.local = scope.local


class StrandEntered(StepEvent):
    """A step opens its strand number *index*. ``input_text`` is the strand's input as far as the event shows it.

    ``step`` is the step's name, or that of the strand where the language gives it one.
    """

    __slots__ = ("index", "input_text")

    def _go_on(self, state: ExecutionState, strand: Strand, at: Millis) -> None:
        entry = strand.entry
        fork = entry.fork
        if fork is None:
            raise LookupError("the history opens a branch of a step that has none")
        steps, value = entry.step.branch(entry, fork.opened)
        opened = Strand(self.id, strand.id, fork.opened, Scope(steps, value))
        fork.opened += 1
        fork.running += 1
        state.open(opened)


class BranchEntered(StrandEntered):
    """A branch of a parallel begins."""

    __slots__ = ()

    def __init__(self, number: int, strand: int, scheduled: int, step: str, index: int, input_text: str) -> None:
        self.id = number
        self.strand = strand
        self.scheduled = scheduled
        self.step = step
        self.index = index
        self.input_text = input_text

    @classmethod
    def read(cls, kept: Recorded, members: Members, notation: Notation) -> Self:
        return cls(*kept.head, members.get("index"), members.json("input").text)

    def detail(self, notation: Notation) -> str:
        return f'{{"index":{self.index},"input":{self.input_text}}}'


class IterationEntered(StrandEntered):
    """An iteration of a foreach begins.

    ``mark`` is the id of the foreach's StepEntered when ``input_text`` leaves out the members that iterations share.
    """

    __slots__ = ("mark",)

    def __init__(
        self, number: int, strand: int, scheduled: int, step: str, index: int, input_text: str, mark: int | None = None
    ) -> None:
        self.id = number
        self.strand = strand
        self.scheduled = scheduled
        self.step = step
        self.index = index
        self.input_text = input_text
        self.mark = mark

    @classmethod
    def read(cls, kept: Recorded, members: Members, notation: Notation) -> Self:
        return cls(*kept.head, members.get("index"), members.json("input").text, kept.mark)

    def detail(self, notation: Notation) -> str:
        return f'{{"index":{self.index},"input":{self.input_text}}}'


class StrandExited(StepEvent):
    """Strand number *index* of a step has ended with the data *left*."""

    __slots__ = ("index", "left")

    def __init__(self, number: int, strand: int, scheduled: int, step: str, index: int, left: Json) -> None:
        self.id = number
        self.strand = strand
        self.scheduled = scheduled
        self.step = step
        self.index = index
        self.left = left

    @classmethod
    def read(cls, kept: Recorded, members: Members, notation: Notation) -> Self:
        return cls(*kept.head, members.get("index"), members.json(notation.left))

    def detail(self, notation: Notation) -> str:
        return f'{{"index":{self.index},"{notation.left}":{self.left.text}}}'

    def _go_on(self, state: ExecutionState, strand: Strand, at: Millis) -> None:
        owner = state.strands[strand.parent]
        entry = owner.entry
        fork = entry.fork
        if fork is None:
            raise LookupError("the history ends a branch of a step that has none")
        state.close(strand)
        fork.results[strand.index] = self.left.value
        fork.running -= 1
        fork.freed = owner.last = self.id
        if len(fork.results) == fork.total:
            entry.phase = Phase.JOINED
            entry.local = [fork.results[index] for index in range(fork.total)]
            entry.fork = None
        state.unpark(owner)


class BranchExited(StrandExited):
    """A branch of a parallel has ended well."""

    __slots__ = ()


class IterationExited(StrandExited):
    """An iteration of a foreach has ended well."""

    __slots__ = ()
