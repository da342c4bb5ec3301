"""Test cases of a flow: an input, mocks of tasks, and the expected result.

A file of cases names its flow and the cases, in YAML or JSON. ``mocks`` and ``input`` of the file apply to every case;
a case's own take precedence. Nothing is called and no time passes.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from emulator.kernel.bounds import is_within
from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.phrases import Phrase
from emulator.services.workflow.engine.events import StepEntered, TaskScheduled
from emulator.services.workflow.engine.language import CallService, DefinitionError, Facts, Program
from emulator.services.workflow.engine.model import all_steps
from emulator.services.workflow.engine.tasks import target_of
from emulator.services.workflow.languages.references import standalone
from emulator.services.workflow.model import STATUS_OF, Status
from emulator.services.workflow.rehearsal.answers import Mocks, give
from emulator.services.workflow.rehearsal.coverage import Coverage, Item, Tracer
from emulator.services.workflow.rehearsal.documents import CaseError, DocumentReader, MockReader, reason_of
from emulator.services.workflow.rehearsal.drive import Drive, run
from emulator.services.workflow.rehearsal.matching import differences, problem_of
from emulator.services.workflow.rehearsal.names import nearest
from emulator.wire.answers import Answer, Script, action_key
from emulator.wire.durations import parse_duration
from emulator.wire.yaml import Node, Sequence, Table, plain_value

BEGINNING: Final = Millis(1_704_067_200_000)
"""The time at which every case begins: 2024-01-01T00:00:00Z."""

_FILE: Final = ("flow", "cases", "mocks", "input", "fixtures", "parameters", "strict")
_CASE: Final = ("name", "input", "mocks", "expect", "tags", "use")
_EXPECT: Final = ("status", "error", "cause", "path", "calls", "sent", "output", "lasts")
_STATUSES: Final = ("Succeeded", "Failed", "TimedOut", "Waiting")


@frozen
class Case:
    """One case. ``line`` is its line in the file; ``expected`` has the given members of ``expect``."""

    name: str
    line: int
    input: dict[str, Any]
    scripts: Mapping[str, Script]
    expected: Mapping[str, Any]
    tags: tuple[str, ...] = ()


@frozen
class Suite:
    """A file of cases and its flow; ``doubts`` are messages about mocks with answers that no real service gives.

    ``parameters`` are those with which the definition was read.
    """

    file: Path
    flow: Path
    program: Program
    cases: tuple[Case, ...]
    parameters: Mapping[str, str]
    doubts: tuple[str, ...] = ()


class Outcome(NamedTuple):
    """The result of a case: the reasons why it failed, and what the execution did."""

    case: Case
    reasons: list[str]
    actual: dict[str, Any]
    taken: Counter[Item]
    history: list[dict[str, Any]]

    @property
    def passed(self) -> bool:
        """Whether the execution did everything as expected."""
        return not self.reasons


def read_suite(file: Path, parameters: Mapping[str, str] | None = None, within: Path | None = None) -> Suite:
    """Read a file of cases and the flow it names, whose path is relative to the file's folder.

    *parameters* take precedence over those of the file.

    Raises: CaseError; also for files outside the folder *within*, where one is given.
    """
    return _Reader(file, within).suite(parameters or {})


def load_program(path: Path, parameters: Mapping[str, str]) -> Program:
    """Return the program of the definition in a file, with *parameters* as the values of its references.

    Raises: OSError, UnicodeDecodeError, DefinitionError.
    """
    return standalone(path.read_text(encoding="utf-8"), parameters).program()


class _Reader(DocumentReader):
    def __init__(self, file: Path, within: Path | None) -> None:
        super().__init__(file)
        self._within = within

    def suite(self, given: Mapping[str, str]) -> Suite:
        self._check(self._file, None)
        root = self.root()
        if isinstance(root, Table) and {"steps", "States"} & {key.text for key, _ in root.entries}:
            example = self._file.with_suffix(".test.yaml").name
            problem = Phrase(
                "this is the definition of a flow; name a file of cases, such as {example}", example=example
            )
            raise CaseError(self._file, problem, 0)
        members = self.members(root, _FILE, Phrase("a file of cases"))
        if "flow" not in members or "cases" not in members:
            self.refuse(root, "a file of cases has flow and cases")
        flow = self._file.parent / self.text(members["flow"])
        self._check(flow, members["flow"])
        parameters = {**self._parameters(members.get("parameters")), **given}
        program = self._program(flow, members["flow"], parameters)
        self._steps = [step.name for step in all_steps(program.steps)]
        self._mocks = MockReader(self._file, program, strict=self._is_strict(members.get("strict")))
        shared = self._scripts(members.get("mocks"))
        fixtures = self._fixtures(members.get("fixtures"))
        shared_input = self.object(members.get("input"))
        cases = members["cases"]
        if not isinstance(cases, Sequence) or not cases.items:
            self.refuse(cases, "cases is a list with at least one case")
        read = tuple(self._case(node, n, shared, shared_input, fixtures) for n, node in enumerate(cases.items, 1))
        seen: set[str] = set()
        for case, node in zip(read, cases.items, strict=True):
            if case.name in seen:
                self.refuse(node, Phrase("there are two cases called {name!r}", name=case.name))
            seen.add(case.name)
        return Suite(
            file=self._file, flow=flow, program=program, cases=read, parameters=parameters,
            doubts=tuple(self._mocks.doubts),
        )  # fmt: skip

    def _parameters(self, node: Node | None) -> dict[str, str]:
        return {key.text: self.text(value) for key, value in self.entries(node, "parameters")}

    def _is_strict(self, node: Node | None) -> bool:
        value = False if node is None else plain_value(node)
        if not isinstance(value, bool):
            self.refuse(node, "strict is true or false")
        return value

    def _case(
        self,
        node: Node,
        number: int,
        shared: Mapping[str, Script],
        shared_input: dict[str, Any],
        fixtures: Mapping[str, tuple[dict[str, Any], Mapping[str, Script]]],
    ) -> Case:
        members = self.members(node, _CASE, Phrase("a case"))
        scripts, given = dict(shared), dict(shared_input)
        for used in self.items(members.get("use")):
            name = self.text(used)
            if name not in fixtures:
                self.refuse(
                    used, Phrase("there is no fixture {name!r}; {hint}", name=name, hint=nearest(name, list(fixtures)))
                )
            given |= fixtures[name][0]
            scripts |= fixtures[name][1]
        return Case(
            name=self.text(members["name"]) if "name" in members else f"case {number}",
            line=node.line,
            input={**given, **self.object(members.get("input"))},
            scripts={**scripts, **self._scripts(members.get("mocks"))},
            expected=self._expected(members.get("expect")),
            tags=tuple(self.text(each) for each in self.items(members.get("tags"))),
        )

    def _fixtures(self, node: Node | None) -> dict[str, tuple[dict[str, Any], Mapping[str, Script]]]:
        found: dict[str, tuple[dict[str, Any], Mapping[str, Script]]] = {}
        for key, value in self.entries(node, "fixtures"):
            members = self.members(value, ("input", "mocks"), Phrase("a fixture"))
            found[key.text] = (self.object(members.get("input")), self._scripts(members.get("mocks")))
        return found

    def _scripts(self, node: Node | None) -> Mapping[str, Script]:
        scripts = self._mocks.scripts(node)
        for key, value in self.entries(node, "mocks"):
            if scripts[action_key(key.text) if ":" in key.text else key.text].then == "real":
                self.refuse(value, "there is nothing real to call without an emulator: then is repeat or fail")
        return scripts

    def _expected(self, node: Node | None) -> dict[str, Any]:
        members = self.members(node, _EXPECT, "expect") if node is not None else {}
        expected = {}
        for name, part in members.items():
            expected[name] = value = plain_value(part)
            if problem := problem_of(value):
                self.refuse(part, problem)
            match name:
                case "status" if value not in _STATUSES:
                    hint = nearest(str(value), list(_STATUSES))
                    self.refuse(part, Phrase("there is no status {name!r}; {hint}", name=value, hint=hint))
                case "path":
                    for item in self.items(part):
                        self._known_step(item, self.text(item))
                case "calls" | "sent":
                    for key, _ in self.entries(part, name):
                        self._known_step(key, key.text)
                case "lasts":
                    expected[name] = self._duration(part)
                case _:
                    pass
        return expected

    def _known_step(self, node: Node, name: str) -> None:
        if name not in self._steps:
            self.refuse(
                node, Phrase("the flow has no step {name!r}; {hint}", name=name, hint=nearest(name, self._steps))
            )

    def _duration(self, node: Node) -> int:
        try:
            return parse_duration(self.text(node))
        except ValueError:
            self.refuse(node, "lasts is a duration such as 500ms, 7s or 1h30m")

    def _check(self, path: Path, node: Node | None) -> None:
        if self._within is not None and not is_within(path, self._within):
            self.refuse(node, Phrase("{path} is outside of {folder}", path=path, folder=self._within))

    def _program(self, flow: Path, node: Node, parameters: Mapping[str, str]) -> Program:
        try:
            return load_program(flow, parameters)
        except (OSError, UnicodeDecodeError) as error:
            self.refuse(node, Phrase("the flow {file} cannot be read: {reason}", file=flow, reason=reason_of(error)))
        except DefinitionError as error:
            raise CaseError(flow, error.message, error.line, error.column) from error


_NOTHING = Answer(value={})


class _Unmocked(Exception):
    """A task without a mock."""


def run_case(suite: Suite, case: Case, coverage: Coverage) -> Outcome:
    """Run a case and compare the result with the expected one.

    A task without a mock returns an empty object if the expected path goes through it, else it fails the case.
    """
    tracer = Tracer(coverage)
    drive = Drive(facts_of(suite.program, case.name, case.input), BEGINNING, tracer)
    mocks = Mocks(case.scripts)
    unmocked = ""

    def answer(drive: Drive, call: CallService) -> None:
        given = mocks.next(call)
        if given is None and call.step.name in case.expected.get("path", ()):
            given = _NOTHING
        if given is None:
            raise _Unmocked(_without_mock(call))
        give(drive, call, given)

    try:
        run(drive, answer)
    except _Unmocked as error:
        unmocked = str(error)
    actual = actual_of(drive)
    reasons = [unmocked] if unmocked else list(_reasons(case.expected, actual))
    return Outcome(case, reasons, actual, tracer.taken, [] if not reasons else shown_history(drive))


def facts_of(program: Program, name: str, given: dict[str, Any]) -> Facts:
    """Return the facts of an execution that is not stored; its ids and tokens follow from its *name*."""
    secret = name.encode()
    return Facts(
        program=program,
        flow_name=program.name or "flow",
        execution_name=name,
        input=given,
        token=lambda entry, attempt: f"token-{entry}-{attempt}",
        chance=lambda number: hashlib.sha256(secret + number.to_bytes(8, "big")).digest(),
    )


def actual_of(drive: Drive) -> dict[str, Any]:
    """Return what an execution did, by the members of ``expect``; the status ``Waiting`` means that it never ends."""
    state = drive.state
    scheduled = [event for event in drive.history if isinstance(event, TaskScheduled)]
    sent: dict[str, Any] = {}
    for event in scheduled:
        sent.setdefault(event.step, event.input.value)
    actual: dict[str, Any] = {
        "status": STATUS_OF[state.outcome].value if state.outcome else "Waiting",
        "path": [event.step for event in drive.history if isinstance(event, StepEntered)],
        "calls": dict(Counter(event.step for event in scheduled)),
        "lasts": (drive.times[-1] if drive.times else drive.now) - drive.began,
        "sent": sent,
    }
    if state.outcome == "ExecutionSucceeded":
        actual["output"] = _output(drive)
    elif state.outcome:
        actual |= {"error": state.error, "cause": state.cause}
    return actual


def _output(drive: Drive) -> Any:
    last: Any = drive.history[-1]
    return last.output.value


def shown_history(drive: Drive) -> list[dict[str, Any]]:
    """Return the events of *drive* in the form of GetExecutionHistory, without their times."""
    notation = drive.facts.program.notation
    return [
        {
            "EventId": event.id, "ScheduleEventId": event.scheduled, "StepName": event.step, "Type": event.type,
            "EventDetail": event.detail(notation),
        }
        for event in drive.history
    ]  # fmt: skip


def _without_mock(call: CallService) -> str:
    name, target = call.step.name, target_of(call) or call.step.resource
    text = "no mock is for the task {name!r}, which calls {target}: give mocks: {example}"
    return Phrase(text, name=name, target=target.label, example=f"{{{name}: ...}}")


def _reasons(expected: Mapping[str, Any], actual: Mapping[str, Any]) -> Iterator[str]:
    if "status" not in expected and "error" not in expected and actual["status"] not in {Status.SUCCEEDED.value}:
        why = f"{actual.get('error', '')} {actual.get('cause', '')}"
        yield Phrase("status is {status} ({why}), expected Succeeded", status=actual["status"], why=why)
    for name, wanted in expected.items():
        if name == "lasts":
            if actual["lasts"] != wanted:
                seconds = {"found": actual["lasts"] / 1000, "expected": wanted / 1000}
                yield Phrase("lasts {found:g}s, expected {expected:g}s", **seconds)
        elif name == "path":
            if actual["path"] != wanted:
                yield _path_difference(wanted, actual["path"])
        elif name == "calls":
            yield from differences(wanted, {step: actual["calls"].get(step, 0) for step in wanted}, "calls")
        elif name not in actual:
            if name == "output" and wanted == {}:  # as far as given: nothing is
                continue
            text = "{name} is not there, expected {expected!r}; the status is {status}"
            yield Phrase(text, name=name, expected=wanted, status=actual["status"])
        else:
            yield from differences(wanted, actual[name], name)


_END: Final = Phrase("the end")


def _path_difference(wanted: list[str], found: list[str]) -> str:
    pairs = enumerate(zip(wanted, found, strict=False))
    at = next((number for number, (one, other) in pairs if one != other), min(len(wanted), len(found)))
    there = found[at] if at < len(found) else _END
    hoped = wanted[at] if at < len(wanted) else _END
    before = ", ".join(found[:at]) or Phrase("the start")
    return Phrase("path: after {before} comes {found}, expected {expected}", before=before, found=there, expected=hoped)
