"""Flow definitions that others have published: checked, tried, recorded, replayed and converted.

A checkout is searched for definitions, in files of their own and in templates. Each is a case of the suite; the inputs
and answers it is tried with are those that `rehearsal.proposals` finds for its ways.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from emulator.services.workflow.engine.language import DefinitionError, Program
from emulator.services.workflow.languages.conversion import Converted, NotConvertible, convert
from emulator.services.workflow.languages.fdl.decide import FlowProgram
from emulator.services.workflow.languages.programs import read_program
from emulator.services.workflow.languages.references import standalone
from emulator.services.workflow.rehearsal.answers import Mocks, give
from emulator.services.workflow.rehearsal.cases import BEGINNING, actual_of, facts_of
from emulator.services.workflow.rehearsal.drive import Drive
from emulator.services.workflow.rehearsal.drive import run as run_drive
from emulator.services.workflow.rehearsal.proposals import propose
from emulator.services.workflow.rehearsal.replay import alike, read_history, replay
from emulator.testing import Localyun
from emulator.testing.api import ApiError
from emulator.wire.answers import read_script
from tests.converted import difference
from tests.suites.outcomes import FAILED, PASSED, Case

FLOW_TYPES = ("Aliyun::Serverless::Flow", "ALIYUN::FNF::Flow")
SUFFIXES = (".yml", ".yaml", ".json")
_INSIDE = ("Definition", "FlowDefinition")


class Found(NamedTuple):
    """A definition of a checkout; of one that a template names and nobody has, ``problem`` says so."""

    name: str
    text: str
    problem: str = ""


class Otherwise(Exception):
    """Something that has to agree and does not; the message says what."""


def suite(emulator: Localyun, copy: Path, only: str) -> list[Case]:
    """Try every definition below *copy* whose name has *only* in it."""
    found = {each.name: each for each in definitions(copy) if only in each.name}
    return [_tried(emulator, number, each) for number, each in enumerate(found.values())]


def definitions(folder: Path) -> Iterator[Found]:
    """Yield the definitions below *folder*: whole files, those in resources of templates, and those these name."""
    for path in sorted(folder.rglob("*")):
        if path.suffix not in SUFFIXES or not path.is_file() or "node_modules" in path.parts:
            continue
        name = path.relative_to(folder).as_posix()
        try:
            text = path.read_text(encoding="utf-8")
            root = yaml.compose(text, Loader=yaml.SafeLoader)
        except (UnicodeDecodeError, yaml.YAMLError):
            continue  # no file that a definition could stand in, or several documents
        if _is_definition(root):
            yield Found(name, text)
        else:
            yield from _in_template(folder, path, root)


def _in_template(folder: Path, path: Path, root: Any) -> Iterator[Found]:
    place = path.relative_to(folder).as_posix()
    for key, resource in _resources(root):
        properties = _member(resource, "Properties")
        name = f"{place}#{key}"
        uri = _member(properties, "DefinitionUri")
        if uri is not None and not uri.tag.startswith("!"):
            target = path.parent / str(uri.value)
            if not target.is_file():
                yield Found(name, "", f"there is no {uri.value}")
            elif target.suffix not in SUFFIXES:
                yield Found(name, target.read_text(encoding="utf-8"))
            continue  # any other file is found by itself
        inside = [node for member in _INSIDE if (node := _member(properties, member)) is not None]
        for node in inside:
            yield from (Found(name, text) for text in _texts(node, _defaults(root)))


def _resources(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield the resources that are flows, with their keys, however deep they stand."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(kind := _member(value, "Type"), yaml.ScalarNode) and kind.value in FLOW_TYPES:
                yield key.value, value
            else:
                yield from _resources(value)


def _defaults(root: Any) -> dict[str, str]:
    """Return the values that the parameters of a template have when nobody gives others."""
    parameters = _member(root, "Parameters")
    pairs = parameters.value if isinstance(parameters, yaml.MappingNode) else ()
    values = ((key.value, _member(each, "Default")) for key, each in pairs)
    return {name: value.value for name, value in values if isinstance(value, yaml.ScalarNode)}


def _texts(node: Any, values: dict[str, str]) -> Iterator[str]:
    """Yield the definitions in a property: a text, also within functions of the template, or a map."""
    if _is_definition(node):
        yield yaml.serialize(node, Dumper=yaml.SafeDumper, allow_unicode=True)
    elif isinstance(node, yaml.ScalarNode):
        try:
            root = yaml.compose(node.value, Loader=yaml.SafeLoader)
        except yaml.YAMLError:
            return
        if _is_definition(root):
            yield node.value
    elif isinstance(replacing := _member(node, "Fn::Replace"), yaml.SequenceNode):
        written, *texts = replacing.value
        for text in (text for each in texts for text in _texts(each, values)):
            yield _replaced(text, written, values)
    else:
        for part in getattr(node, "value", ()):
            for each in part if isinstance(part, tuple) else (part,):
                yield from _texts(each, values)


def _replaced(text: str, written: Any, values: dict[str, str]) -> str:
    """Return *text* with what stands for a parameter as its default; the other words stay."""
    for key, value in written.value if isinstance(written, yaml.MappingNode) else ():
        referred = getattr(_member(value, "Ref"), "value", "")
        text = text.replace(key.value, values.get(referred, key.value))
    return text


def _is_definition(root: Any) -> bool:
    kind = _member(root, "type") or _member(root, "Type")
    lists = [_member(root, name) for name in ("steps", "States")]
    return getattr(kind, "value", "") in {"flow", "StateMachine"} and any(
        isinstance(each, yaml.SequenceNode) for each in lists
    )


def _member(node: Any, name: str) -> Any:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((value for key, value in pairs if key.value == name), None)


def _tried(emulator: Localyun, number: int, found: Found) -> Case:
    if found.problem:
        return Case(found.name, FAILED, found.problem)
    try:
        return Case(found.name, PASSED, _try(emulator, f"flow-{number}", found.text))
    except DefinitionError as error:
        return Case(found.name, FAILED, f"check: {error.line}:{error.column}: {error.message}")
    except ApiError as error:
        return Case(found.name, FAILED, f"emulator: {error}")
    except Otherwise as error:
        return Case(found.name, FAILED, str(error))


def _try(emulator: Localyun, name: str, text: str) -> str:
    """Put one definition through everything; return what that was, in words.

    Raises: Otherwise, DefinitionError, ApiError.
    """
    definition = standalone(text, account=emulator.account_id)
    program = definition.program()
    cases, missing = propose(program, [])
    converted, remarks = _converted(program)
    machine = read_program(converted.text) if converted is not None else None
    own = getattr(program, "name", "")  # a state machine may have one, and then it is called so
    flow = emulator.flow(own or name, definition.text)
    events = 0
    for case in cases:
        where = f"case {case['name']}: "
        expected = rehearsed(program, case)
        if converted is not None and machine is not None:
            other = difference(expected, rehearsed(machine, case), converted.text)
            if other:
                raise Otherwise(where + other)
        if expected["status"] == "Waiting":
            continue  # nothing comes to it, so that it has no end to be recorded
        events += _recorded(emulator, flow, program, case, expected, where)
    return f"{len(cases)} cases, {len(missing)} ways without one, {remarks}, {events} events replayed"


def _converted(program: Program) -> tuple[Converted | None, str]:
    """Return the state machine made of a flow, None where none is, and words on it."""
    if not isinstance(program, FlowProgram):
        return None, "a state machine"
    try:
        converted = convert(program, "converted")
    except NotConvertible as refused:
        return None, f"not converted because {refused}"
    return converted, f"converted with {converted.remarks} remark{'' if converted.remarks == 1 else 's'}"


def rehearsed(program: Program, case: dict[str, Any]) -> dict[str, Any]:
    """Return what a proposed case comes to without an emulator (`cases.actual_of`)."""
    scripts = {step: read_script(answers, "repeat") for step, answers in case.get("mocks", {}).items()}
    mocks = Mocks(scripts)
    drive = Drive(facts_of(program, "tried", case.get("input", {})), BEGINNING)

    def answer(drive: Drive, call: Any) -> None:
        given = mocks.next(call)
        if given is None:
            raise Otherwise(f"case {case['name']}: {call.step.name} is called and has never been before")
        give(drive, call, given)

    run_drive(drive, answer)
    return actual_of(drive)


def _recorded(
    emulator: Localyun, flow: Any, program: Program, case: dict[str, Any], expected: dict[str, Any], where: str
) -> int:
    """Run a case in the emulator, compare its end and replay its history; return how many events that has."""
    mocks = [
        emulator.mock(step=f"{flow.name}/{step}", answers=answers) for step, answers in case.get("mocks", {}).items()
    ]
    execution = flow.start(case.get("input", {}))
    emulator.skip_until(execution=execution, limit="365d", timeout="60s")
    for mock in mocks:
        mock.remove()
    history = execution.history
    ended = history[-1]["Type"].removeprefix("Execution")
    if ended != expected["status"]:
        detail = json.loads(history[-1]["EventDetail"])
        reason = ", ".join(str(detail[name]) for name in ("error", "cause") if name in detail)
        raise Otherwise(f"{where}it ends with {ended} ({reason}) in the emulator, {expected['status']} without one")
    if ended == "Succeeded" and not alike(execution.output, expected["output"]):
        raise Otherwise(
            f"{where}the output is {execution.output!r} in the emulator, {expected['output']!r} without one"
        )
    replayed = replay(program, read_history(history))
    if replayed.difference is not None:
        raise Otherwise(f"{where}replayed, event {replayed.difference.event} is {replayed.difference.found}")
    return replayed.events
