"""Converts a flow of the old language to a state machine.

Steps of the old language see two things: the input of their list of steps, which stays, and its local, to which each
step's output is added. A state only gets the output of the state before it; so the states of a converted flow pass on
``Input`` and ``Local``, and inside the steps of a choice ``Outer``, the values of both outside. A state that reads its
input constructs it as ``Step``. The first state of each scope sets these members up, the last one removes them.

A feature that the new language lacks, or that means something else there, becomes a remark beside the state.
"""

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Final, NamedTuple, assert_never

from emulator.kernel.phrases import Phrase, said
from emulator.services.workflow.engine.model import RetryPolicy, StepList, all_steps
from emulator.services.workflow.languages.conversion.calls import Call, NotConvertible
from emulator.services.workflow.languages.conversion.expressions import Found, State, quoted, under
from emulator.services.workflow.languages.conversion.locals import possible_keys, read_of_local, sure_keys, takes_null
from emulator.services.workflow.languages.conversion.places import (
    MOST_ALTERNATIVES,
    Branches,
    CaughtError,
    Items,
    MapAt,
    Nothing,
    Place,
)
from emulator.services.workflow.languages.conversion.sources import Source
from emulator.services.workflow.languages.fdl.decide import FlowProgram
from emulator.services.workflow.languages.fdl.nodes import (
    ChoiceStep,
    FailStep,
    FlowStep,
    ForeachStep,
    Option,
    ParallelStep,
    PassStep,
    Step,
    SucceedStep,
    TaskStep,
    WaitStep,
    flow_step,
)
from emulator.services.workflow.languages.fdl.paths import Path
from emulator.services.workflow.languages.statemachine.expressions import SUFFIX
from emulator.services.workflow.languages.statemachine.nodes import MODES, WAIT_S

MOST_WAITS: Final = 100
"""The most states that replace one long wait; a longer wait is cut, with a remark."""

MERGED: Final = "jsonMerge($Input.Input, $Input.Local)"
"""The input of a step without inputMappings."""


class Converted(NamedTuple):
    """The text of a state machine, and the number of remarks in it."""

    text: str
    remarks: int


def convert(program: FlowProgram, name: str, look_up: Callable[[str], str] = str) -> Converted:
    """Return the definition of a state machine called *name* that does what the flow does, with remarks as comments.

    *look_up* returns a template of a remark in the language that they are to have.

    Raises: NotConvertible.
    """
    import yaml  # slow to import, and the flow that was read has loaded it

    conversion = _Conversion(program, name)
    machine = {"Type": "StateMachine", "Name": name, "SpecVersion": "v1", **conversion.machine()}
    text: str = yaml.safe_dump(machine, sort_keys=False, allow_unicode=True, width=4096)
    count = sum(map(len, conversion.remarks.values()))
    lines = [f"# {said(remark, look_up)}" for remark in conversion.remarks.pop("", [])]
    for line in text.splitlines():
        head, dash, found = line.partition("- Name: ")
        if dash and not head.strip():
            shown = yaml.safe_load(found)
            lines += [f"{head}# {said(remark, look_up)}" for remark in conversion.remarks.get(str(shown), [])]
        lines.append(line)
    return Converted("\n".join(lines) + "\n", count)


class _Scope:
    """A list of steps under conversion: its states so far, the name of its last state, and its depth in choices."""

    def __init__(self, states: list[State], end: str, depth: int) -> None:
        self.states = states
        self.end = end
        self.depth = depth

    def kept(self) -> State:
        """Return the members, without the local, that every state of the scope passes on unchanged."""
        outer = {"Outer.$": "$Input.Outer"} if self.depth else {}
        return {"Input.$": "$Input.Input", **outer}


class _Conversion:
    def __init__(self, program: FlowProgram, flow_name: str) -> None:
        self._program = program
        self._flow_name = flow_name
        self._names = {step.name for step in all_steps(program.steps)}
        self.remarks: dict[str, list[Phrase]] = {}

    def machine(self) -> State:
        program = self._program
        if program.timeout_s is not None:
            text = "the flow had timeoutSeconds: {seconds}; a state machine has no timeout"
            self.remark("", Phrase(text, seconds=program.timeout_s))
        beginning: State = {"Input.$": "$Input"}
        if program.input_mappings is not None:
            source = Source(self.remark, self._flow_name, "", step="$Input", local=Nothing())
            beginning = under("Input", source.template(program.input_mappings))
        if program.output_mappings is not None:
            ended = Source(self.remark, self._flow_name, "", step="$Input.Input", local=MapAt("$Input.Local"))
            output = ended.made(program.output_mappings).members()
        else:
            output = self._taken_off(program.steps, "")
        return self._whole(program.steps, "Flow", beginning, output, "")

    def _whole(
        self, steps: StepList, name: str, beginning: State, output: list[tuple[str, Found]], where: str
    ) -> State:
        """Return a scope of its own: states that begin with *beginning* and end with the members of *output*."""
        begin, end = self._fresh(f"{name} begins"), self._fresh(f"{name} ends")
        scope = _Scope([], end, 0)
        first = steps.steps[0].name
        made = {**beginning, "Local": {}}
        scope.states.append({"Name": begin, "Type": "Pass", "OutputConstructor": made, "Next": first})
        self._list(steps, scope)
        self._last(scope, end, output, where)
        return {"StartAt": begin, "States": scope.states}

    def _last(self, scope: _Scope, name: str, output: list[tuple[str, Found]], where: str) -> None:
        """Add the states that end a scope: the members of a constructor are fixed, so one for each set of members."""
        unsure = [(key, found.there) for key, found in output if found.there]
        if len(unsure) > MOST_ALTERNATIVES:
            lacking = ", ".join(key for key, _ in unsure)
            self.remark(where, Phrase("a missing member is null in the output here: {names}", names=lacking))
            unsure = []
        if not unsure:
            scope.states.append(_ending(name, output))
            return
        branches, ends = [], []
        for present in product((True, False), repeat=len(unsure)):
            pairs = list(zip(unsure, present, strict=True))
            missing = {key for (key, _), is_there in pairs if not is_there}
            kept = [(key, found) for key, found in output if key not in missing]
            ends.append(_ending(self._fresh(name), kept))
            tests = (f"({there})" if is_there else f"!({there})" for (_, there), is_there in pairs)
            branches.append({"Condition": " && ".join(tests), "Next": ends[-1]["Name"]})
        *tried, last = branches
        scope.states += [{"Name": name, "Type": "Choice", "Branches": tried, "Default": last["Next"]}, *ends]

    def _taken_off(self, steps: StepList, where: str) -> list[tuple[str, Found]]:
        """Return the members of a scope's local, which are its output."""
        keys = possible_keys(steps)
        if keys is None:
            text = "the output was the whole local, with results of tasks; here it is the member Local"
            self.remark(where, Phrase(text))
            return [("Local", Found("$Input.Local"))]
        local = MapAt("$Input.Local", sure_keys(steps))
        found = ((key, local.at([key])) for key in sorted(keys))
        return [(key, each) for key, each in found if each is not None]

    def _list(self, steps: StepList, scope: _Scope) -> None:
        for position, step in enumerate(steps.steps):
            each = flow_step(step)
            self._step(each, each.following(steps, position) or scope.end, scope)

    def _fresh(self, name: str) -> str:
        number = 1
        fresh = name
        while fresh in self._names:
            number += 1
            fresh = f"{name} {number}"
        self._names.add(fresh)
        return fresh

    def remark(self, name: str, remark: Phrase) -> None:
        """Note a difference at a state, or of the whole flow for the empty name."""
        remarks = self.remarks.setdefault(name, [])
        if remark not in remarks:
            remarks.append(remark)

    def _source(self, step: Step, local: Place | None = None) -> Source:
        """Return the converter for mappings of *step* that its state evaluates while it runs."""
        return self._sources(step, "$Input.Step", local or Nothing())

    def _outside(self, step: Step) -> Source:
        """Return the converter for mappings of *step* that are evaluated before or after its state."""
        return self._sources(step, "$Input.Input", MapAt("$Input.Local"))

    def _sources(self, step: Step, place: str, local: Place) -> Source:
        has_token = isinstance(step, TaskStep) and step.pattern == "waitForCallback"
        return Source(self.remark, self._flow_name, step.name, step=place, local=local, has_token=has_token)

    def _step(self, step: FlowStep, following: str, scope: _Scope) -> None:
        head: State = {"Name": step.name}
        match step:
            case FailStep():
                scope.states.append({**head, "Type": "Fail", "Code": step.error, "Detail": step.cause})
            case PassStep() | SucceedStep():
                body = {"Type": "Pass", **self._framed(step, scope, Nothing(), "{}")}
                scope.states.append({**head, **body, "Next": following})
            case WaitStep():
                self._wait(step, following, scope)
            case ChoiceStep():
                self._choice(step, following, scope)
            case ParallelStep():
                results = Branches(
                    [
                        MapAt(f"$Output.Branch{index}.Local", sure_keys(steps))
                        for index, steps in enumerate(step.branches)
                    ]
                )
                branches = [self._branch(step, index, steps) for index, steps in enumerate(step.branches)]
                body = {"Branches": branches, **self._framed(step, scope, results, "{}", needs_step=True)}
                scope.states.append({**head, "Type": "Parallel", **body, "Next": following})
            case ForeachStep():
                scope.states.append({**head, **self._foreach(step, scope), "Next": following})
            case TaskStep():
                scope.states.append({**head, **self._task(step, scope), "Next": following})
            case _:
                assert_never(step)

    def _input(self, step: Step, scope: _Scope) -> State:
        """Return the InputConstructor of a state that reads its input as ``$Input.Step``."""
        if step.input_mappings is None:
            made: State = {"Step.$": MERGED}
        else:
            source = self._outside(step)
            members = source.made(step.input_mappings)
            if isinstance(step, ChoiceStep) and members.is_flat and takes_null(step):
                made = {"Step": members.constructor()}
            else:
                made = under("Step", source.template(step.input_mappings))
        return {**scope.kept(), "Local.$": "$Input.Local", **made}

    def _framed(self, step: Step, scope: _Scope, local: Place, default: str, *, needs_step: bool = False) -> State:
        """Return the constructors of a state; *local* is where the local of the step is, *default* its output."""
        mappings = step.output_mappings
        source = self._source(step, local)
        output = default if mappings is None else source.literal(mappings)
        framed: State = {}
        if needs_step or "$Input.Step" in output:
            framed["InputConstructor"] = self._input(step, scope)
        whole = "$Input.Local" if output == "{}" else f"jsonMerge($Input.Local, {output})"
        if framed or output != "{}" or not isinstance(local, Nothing):
            framed["OutputConstructor"] = {**scope.kept(), "Local.$": whole}
        return framed

    def _wait(self, step: WaitStep, following: str, scope: _Scope) -> None:
        framed = self._framed(step, scope, Nothing(), "{}", needs_step=isinstance(step.duration, Path))
        if step.duration is None:
            raise NotConvertible(
                Phrase("the step {name!r} waits for a time of day, which no state does", name=step.name)
            )
        if isinstance(step.duration, Path):
            self.remark(step.name, Phrase("more than {most} seconds, and none at all, fail here", most=WAIT_S))
            seconds = self._source(step).path(step.duration)
            scope.states.append({"Name": step.name, "Type": "Wait", "Seconds.$": seconds, **framed, "Next": following})
            return
        if step.duration == 0:
            scope.states.append({"Name": step.name, "Type": "Pass", **framed, "Next": following})
            return
        left = step.duration
        name = step.name
        if left > WAIT_S * MOST_WAITS:
            left = WAIT_S * MOST_WAITS
            text = "waited {seconds} seconds; {left} here, as a state waits {most} at most"
            self.remark(name, Phrase(text, seconds=step.duration, left=left, most=WAIT_S))
        while left > WAIT_S:
            more = self._fresh(f"{step.name} goes on")
            scope.states.append({"Name": name, "Type": "Wait", "Seconds": WAIT_S, "Next": more})
            name, left = more, left - WAIT_S
        scope.states.append({"Name": name, "Type": "Wait", "Seconds": left, **framed, "Next": following})

    def _choice(self, step: ChoiceStep, following: str, scope: _Scope) -> None:
        branches = []
        nested: list[tuple[str, StepList, str]] = []
        default = self._way_out(step, step.default, following, scope, nested)
        for option in step.options:
            assert option.condition is not None
            condition = self._source(step).condition(option.condition.tree)
            branches.append({"Condition": condition, "Next": self._way_out(step, option, following, scope, nested)})
        body = {"Type": "Choice", "InputConstructor": self._input(step, scope), "Branches": branches}
        scope.states.append({"Name": step.name, **body, "Default": default})
        for begin, steps, target in nested:
            self._option(step, begin, steps, target, scope)

    def _way_out(
        self,
        step: ChoiceStep,
        option: Option | None,
        following: str,
        scope: _Scope,
        nested: list[tuple[str, StepList, str]],
    ) -> str:
        """Return the name of the state that an option leads to; the option's inner steps are added to *nested*."""
        target = following if option is None or option.goto is None else option.goto
        if option is not None and option.steps is not None and option.steps.steps:
            begin = self._fresh(f"{step.name} begins")
            nested.append((begin, option.steps, target))
            return begin
        if step.output_mappings is None:
            return target
        left = self._fresh(f"{step.name} ends")
        source = self._source(step)
        output = {**scope.kept(), "Local.$": f"jsonMerge($Input.Local, {source.literal(step.output_mappings)})"}
        scope.states.append({"Name": left, "Type": "Pass", "OutputConstructor": output, "Next": target})
        return left

    def _option(self, step: ChoiceStep, begin: str, steps: StepList, target: str, scope: _Scope) -> None:
        """Add the steps of an option: they have an input and a local of their own."""
        end = self._fresh(f"{step.name} ends")
        inner = _Scope(scope.states, end, scope.depth + 1)
        outside = {**scope.kept(), "Local.$": "$Input.Local"}
        beginning = {"Input.$": "$Input.Step", "Local": {}, "Outer": outside}
        first = steps.steps[0].name
        scope.states.append({"Name": begin, "Type": "Pass", "OutputConstructor": beginning, "Next": first})
        self._list(steps, inner)
        source = self._outside(step)
        mappings = step.output_mappings
        output = "$Input.Local" if mappings is None else source.literal(mappings)
        left = {"Input.$": "$Input.Outer.Input", "Local.$": f"jsonMerge($Input.Outer.Local, {output})"}
        if scope.depth:
            left["Outer.$"] = "$Input.Outer.Outer"
        scope.states.append({"Name": end, "Type": "Pass", "OutputConstructor": left, "Next": target})

    def _branch(self, step: Step, index: int, steps: StepList) -> State:
        output = [("Local", Found("$Input.Local"))]
        return self._whole(steps, f"{step.name} {index}", {"Input.$": "$Input.Step"}, output, step.name)

    def _foreach(self, step: ForeachStep, scope: _Scope) -> State:
        if step.index_name is not None:
            self.remark(step.name, Phrase("the index {name!r} of an iteration is not known here", name=step.index_name))
        element = f"jsonMerge($Input.Step, {{{quoted(step.item)}: $Item}})"
        items = self._source(step).path(step.collection)
        wrapped = possible_keys(step.steps) is None
        read = read_of_local(step)
        if not read:
            output = []
        elif wrapped and all(segments and isinstance(segments[0], int) for segments in read):
            output = [("Local", Found("$Input.Local"))]
        else:
            output = self._taken_off(step.steps, step.name)
        processor = self._whole(step.steps, step.name, {"Input.$": "$Input.Input"}, output, step.name)
        return {
            "Type": "Map",
            "ItemsPath": items,
            "ItemConstructor": {"Input.$": element},
            "Processor": processor,
            **self._framed(step, scope, Items(wrapped=wrapped), "{}", needs_step=True),
        }

    def _task(self, step: TaskStep, scope: _Scope) -> State:
        note = partial(self.remark, step.name)
        action, parameters, result = Call(step, self._source(step), self._outside(step), note).made()
        state: State = {"Type": "Task", "Action": action}
        if step.pattern != "requestResponse":
            state["TaskMode"] = MODES[step.pattern]
            result = "$Output"
        if step.timeout_s is not None:
            state["Timeout"] = step.timeout_s
        state["Parameters"] = parameters
        state |= self._framed(step, scope, MapAt(result), result, needs_step=True)
        if step.retry:
            state["Retry"] = [self._retry(step, policy) for policy in step.retry]
        if step.catch:
            state["Catch"] = [
                {"Errors": list(policy.errors), "OutputConstructor": self._caught(step, scope), "Next": policy.goto}
                for policy in step.catch
            ]
        return state

    def _caught(self, step: TaskStep, scope: _Scope) -> State:
        kept = {**scope.kept(), "Local.$": "$Input.Local"}
        if step.error_mappings is None:
            return kept
        source = self._source(step, CaughtError())
        return {**kept, "Local.$": f"jsonMerge($Input.Local, {source.literal(step.error_mappings)})"}

    def _retry(self, step: TaskStep, policy: RetryPolicy) -> State:
        for seconds in (policy.interval_s, policy.max_interval_s):
            if seconds != int(seconds):
                text = "a pause of {seconds} seconds is {whole} here: only whole seconds"
                self.remark(step.name, Phrase(text, seconds=seconds, whole=int(seconds)))
        return {
            "Errors": list(policy.errors),
            "MaxAttempts": policy.max_attempts,
            "IntervalSeconds": int(policy.interval_s),
            "BackoffRate": policy.multiplier,
            "MaxBackoffSeconds": int(policy.max_interval_s),
        }


def _ending(name: str, output: list[tuple[str, Found]]) -> State:
    """Return the state that ends a scope with the members of *output*."""
    constructor = {key + SUFFIX: found.text for key, found in output}
    return {"Name": name, "Type": "Pass", "OutputConstructor": constructor, "End": True}
