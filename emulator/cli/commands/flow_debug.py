"""``flow step``, ``flow debug`` and ``flow fork``: debugging of flows."""

import json
import shlex
import sys
from argparse import Namespace
from collections.abc import Iterator
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from emulator.cli.client import Client, connect, pause
from emulator.cli.commands.definition import STANDARD_INPUT, definition_to_send, read_definition
from emulator.cli.commands.execution import FINAL_STATES, FOLLOW_INTERVAL_S, ended_with, name_execution
from emulator.cli.mock_files import by_task
from emulator.cli.output import (
    CallRefused,
    WrongUsage,
    _,
    complain,
    say,
    say_json,
    say_json_line,
    short,
    spoken,
    tell,
    wants_json,
)
from emulator.cli.parameters import parameters_of
from emulator.config import Settings
from emulator.kernel.digits import read_digits
from emulator.kernel.phrases import said

if TYPE_CHECKING:
    from emulator.services.workflow.languages.references import Standalone

_LETTERS = {"n": "next", "c": "continue", "r": "retry", "s": "skip", "d": "detach", "i": "inspect", "q": "quit"}


def step(arguments: Namespace, settings: Settings) -> int:
    """Run one step of a definition; the exit code is 1 when it failed."""
    from emulator.services.workflow.languages.references import standalone

    text, parameters = read_definition(arguments.file), parameters_of(arguments.parameter)
    written = _json("--mocks", read_definition(arguments.mocks)) if arguments.mocks else {}
    mocks = _checked("--mocks", by_task(written))
    if arguments.mocks not in {None, STANDARD_INPUT} and mocks is written:
        _check_mocks(arguments.mocks, standalone(text, parameters))
    client = connect(settings)
    body = {
        "definition": standalone(text, parameters, client.account).text,
        "step": arguments.step,
        "input": _object("--input", arguments.input),
        "local": _object("--local", arguments.local),
        "global": _object("--global", arguments.variables),
        "mocks": mocks,
    }
    came = client.admin("POST", "flows/step", body)
    if wants_json(arguments):
        say_json(came)
    else:
        for event in came["events"]:
            what = short(event["EventDetail"], 80)
            say(f"{event['EventId']:>4}  {event['Type']:<18}  {event['StepName']:<20}  {what}")
        what = f"{came['error']} {came['cause']}".strip() or json.dumps(came["output"], ensure_ascii=False)
        say(ended_with(came["status"], what))
        if came["missing"]:
            say(_("missing data: {paths}; pass it with --input or --local", paths=", ".join(came["missing"])))
        if came["next"]:
            say(_("next: {step}", step=came["next"]))
    return 1 if came["status"] == "Failed" else 0


def _check_mocks(file: str, definition: "Standalone") -> None:
    """Find mistakes in a file of mocks here, where their lines are known; the emulator checks the definition."""
    # Imported here: the languages take longer to load than most commands take to run.
    from emulator.services.workflow.engine.language import DefinitionError
    from emulator.services.workflow.rehearsal.documents import CaseError, read_mock_file

    try:
        doubts = read_mock_file(Path(file), definition.program())
    except CaseError as error:
        raise WrongUsage(said(str(error), _)) from error
    except DefinitionError:
        return
    for doubt in doubts:
        complain(said(doubt, _))


def fork(arguments: Namespace, settings: Settings) -> int:
    """Start an execution that shares the history of another one."""
    name_execution(arguments)
    flow, execution = arguments.flow, arguments.execution
    if not execution:
        command = f"localyun flow list {shlex.quote(arguments.flow)}"
        raise WrongUsage(_("name the execution: FLOW/EXECUTION; {command} lists them", command=command))
    if (arguments.before is None) == (arguments.event is None):
        raise WrongUsage(_("the fork needs either --before or --event"))
    client = connect(settings)
    account = client.account
    body = {
        "before": arguments.before,
        "event": arguments.event,
        "input": None if arguments.input is None else _object("--input", arguments.input),
        "definition": arguments.definition and definition_to_send(arguments, arguments.definition, account),
        "name": arguments.name,
    }
    content = {name: value for name, value in body.items() if value is not None}
    made = client.admin("POST", f"{_page(flow, execution)}/fork", content)
    return tell(arguments, _("started {name}", name=made["execution"]), made)


def debug(arguments: Namespace, settings: Settings) -> int:
    """Stop an execution at breakpoints, and perform commands from standard input there, line by line."""
    name_execution(arguments)
    client = connect(settings)
    flow = arguments.flow
    breakpoints = [
        *({"when": "before", "step": step} for step in arguments.before),
        *({"when": "after", "step": step} for step in arguments.after),
        *([{"when": "failure"}] if arguments.on_failure else []),
    ]
    if arguments.execution is not None:
        execution = arguments.execution
        client.admin("POST", f"{_page(flow, execution)}/debug", {"breakpoints": breakpoints})
    else:
        body = {"input": _object("--input", arguments.input), "name": arguments.name or "", "breakpoints": breakpoints}
        execution = client.admin("POST", f"flows/{quote(flow, safe='')}/debug", body)["execution"]
    return _Session(client, flow, execution, as_json=wants_json(arguments)).run()


class _Asked(Enum):
    """How the lines at a stop ended."""

    GOES_ON = auto()
    QUIT = auto()
    ENDED = auto()


class _Session:
    """The dialogue with a person or a script about one execution."""

    def __init__(self, client: Client, flow: str, execution: str, *, as_json: bool) -> None:
        self._client = client
        self._page = _page(flow, execution)
        self._execution = execution
        self._as_json = as_json
        self._lines = _lines(_("(debug) "), quiet=as_json)

    def run(self) -> int:
        if not self._as_json:
            say(_("execution {name}", name=self._execution))
        while True:
            state = self._until_stop()
            if self._as_json:
                say_json_line(state)
            elif not state["stops"]:
                what = state["output"] or f"{state['error']} {state['cause']}".strip()
                say(ended_with(state["status"], what))
            if not state["stops"]:
                return 0 if state["status"] == "Succeeded" else 1
            if not self._as_json:
                for stop in state["stops"]:
                    _show(stop)
            asked = self._ask(state)
            if asked is not _Asked.GOES_ON:
                return self._leave(asked)

    def _leave(self, asked: _Asked) -> int:
        """Say that the execution stays where it is, and return the exit code."""
        text = _("the execution remains stopped; continue with --execution {name}")
        if asked is _Asked.ENDED:
            text = _("the input ended before the execution, which remains stopped; continue with --execution {name}")
        if not self._as_json:
            say(text.format(name=self._execution))
        return 1 if asked is _Asked.ENDED else 0

    def _until_stop(self) -> dict[str, Any]:
        while True:
            state = self._client.admin("GET", f"{self._page}/debug")
            if state["stops"] or state["status"] in FINAL_STATES:
                return state
            pause(FOLLOW_INTERVAL_S)

    def _ask(self, state: dict[str, Any]) -> _Asked:
        """Read lines until one continues the execution, says ``quit`` or is the last; a terminal's end is ``quit``."""
        for line in self._lines:
            word, _space, rest = line.strip().partition(" ")
            action = _LETTERS.get(word, word)
            if not word:
                continue
            if action == "quit":
                return _Asked.QUIT
            if action == "inspect":
                say_json({name: state[name] for name in ("stops", "global", "breakpoints")})
            elif action not in {"break", "next", "continue", "change", "retry", "skip", "detach"}:
                say(_("next, continue, change DATA, retry, skip [DATA], break [before|after] STEP, break failure, "
                      "inspect, detach or quit; @STRAND behind the word chooses a branch"))  # fmt: skip
            elif self._goes_on(state, action, rest):
                return _Asked.GOES_ON
        return _Asked.QUIT if sys.stdin.isatty() else _Asked.ENDED

    def _goes_on(self, state: dict[str, Any], action: str, rest: str) -> bool:
        """Perform a line, or print why it cannot be; return whether the execution continues."""
        try:
            if action == "break":
                self._break(state, rest)
            else:
                self._act(action, rest)
        except CallRefused as refusal:
            say(f"{refusal.code}: {spoken(refusal.said)}")
            return False
        except WrongUsage as mistake:
            say(str(mistake))
            return False
        return action not in {"break", "change"}

    def _act(self, action: str, rest: str) -> None:
        body: dict[str, Any] = {}
        if rest.startswith("@"):
            number, _space, rest = rest[1:].partition(" ")
            strand = read_digits(number)
            if strand is None:
                raise WrongUsage(_("@STRAND takes the number of a branch"))
            body["strand"] = strand
        if rest.strip():
            body["data"] = _object(_("the data"), rest)
        self._client.admin("POST", f"{self._page}/debug/{action}", body)

    def _break(self, state: dict[str, Any], rest: str) -> None:
        when, _space, name = rest.strip().partition(" ")
        if when not in {"before", "after", "failure"}:
            when, name = "before", rest.strip()
        breakpoints = [*state["breakpoints"], {"when": when, "step": name.strip()}]
        self._client.admin("POST", f"{self._page}/debug", {"breakpoints": breakpoints})
        state["breakpoints"] = breakpoints


def _show(stop: dict[str, Any]) -> None:
    branch = _(" in branch @{strand}", strand=stop["strand"]) if stop["strand"] else ""
    words = {
        "before": _("before {step}", step=stop["step"]),
        "after": _("after {step}", step=stop["step"]),
        "failure": _("{step} has failed", step=stop["step"]),
    }
    if stop["when"] == "failure":
        what = f"{stop['error']} {stop['cause']}".strip()
    else:
        what = json.dumps(stop["data"], ensure_ascii=False)
    say(_("{field}: {message}", field=f"{words[stop['when']]}{branch}", message=short(what, 200)))


def _lines(prompt: str, *, quiet: bool) -> Iterator[str]:
    """Yield the lines of standard input, after *prompt* if a person types and reads."""
    while True:
        if sys.stdin.isatty() and sys.stdout.isatty() and not quiet:
            sys.stdout.write(prompt)
            sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            return
        yield line


def _page(flow: str, execution: str) -> str:
    return f"flows/{quote(flow, safe='')}/executions/{quote(execution, safe='')}"


def _object(what: str, text: str) -> dict[str, Any]:
    return _checked(what, _json(what, text))


def _json(what: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise WrongUsage(_("{what} is not JSON: {error}", what=what, error=spoken(str(error)))) from error


def _checked(what: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise WrongUsage(_("{what} is not a JSON object", what=what))
    return value
