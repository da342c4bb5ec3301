"""Mocks, and the record of calls of functions and mocks.

A mock answers every call of a function, which need not exist. Or it answers the calls of a flow's task, by step or by
action. Answers are given in turn. A delay passes by the emulator's clock, so that a mock that takes an hour can be
skipped; meanwhile its call does not count as work in progress.

Calls are recorded with event, caller, cause, answer, log and times, bounded in number and bytes. Recording a call keeps
what exists anyway; it is rendered when it is asked for.
"""

import asyncio
import json
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.function_names import read_function
from emulator.kernel.instrumentation import Origin, Upcoming
from emulator.kernel.timers import Timers
from emulator.lab.errors import LabError, invalid
from emulator.wire.answers import Answer, Script, action_key, read_script
from emulator.wire.dates import iso_millis

MOST_CALLS = 10_000
MOST_BYTES = 16 * 1024 * 1024
"""The most bytes of all recorded calls together; the oldest are dropped."""

EVENT_BYTES = 256 * 1024
LOG_BYTES = 16 * 1024
"""The most bytes of log kept of each call."""


class Recorded(NamedTuple):
    """A call that has ended. ``error_type`` is empty when the function has returned; ``mock`` is the mock's id."""

    service: str
    function: str
    qualifier: str
    request_id: str
    cause: str
    caller: Origin
    at: Millis
    ended_at: Millis
    event: bytes
    answer: bytes
    error_type: str
    log: bytes
    mock: str = ""

    @property
    def name(self) -> str:
        """``service/function`` or ``function``."""
        return f"{self.service}/{self.function}" if self.service else self.function

    @property
    def size(self) -> int:
        """How many bytes the record takes."""
        return len(self.event) + len(self.answer) + len(self.log) + 500


class CallLog:
    """The latest calls, oldest first."""

    def __init__(self, most: int = MOST_CALLS, most_bytes: int = MOST_BYTES) -> None:
        self.late: Callable[[], None] = lambda: None
        """Called before the calls are looked at, for a recorder that adds calls a little after they end."""
        self._calls: deque[Recorded] = deque()
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0

    def __len__(self) -> int:
        self.late()
        return len(self._calls)

    def __iter__(self) -> Iterator[Recorded]:
        self.late()
        return iter(self._calls)

    def add(self, call: Recorded) -> None:
        """Record a call."""
        if len(call.event) > EVENT_BYTES or len(call.answer) > EVENT_BYTES or len(call.log) > LOG_BYTES:
            call = call._replace(
                event=call.event[:EVENT_BYTES], answer=call.answer[:EVENT_BYTES], log=call.log[-LOG_BYTES:]
            )
        self._calls.append(call)
        self._bytes += call.size
        while len(self._calls) > self._most or self._bytes > self._most_bytes:
            self._bytes -= self._calls.popleft().size

    def of(self, function: str) -> list[Recorded]:
        """Return the calls of ``service/function`` or ``function``."""
        return [call for call in self if call.name == function]

    def clear(self) -> None:
        """Drop all calls."""
        self.late()
        self._calls.clear()
        self._bytes = 0


def shown_call(call: Recorded) -> dict[str, Any]:
    """Return a call in JSON's terms. What is no text is given in base64 in a member of its own as well."""
    shown: dict[str, Any] = {
        "function": call.name,
        "qualifier": call.qualifier,
        "caller": call.caller,
        "cause": call.cause,
        "request_id": call.request_id,
        "at": iso_millis(call.at),
        "ended_at": iso_millis(call.ended_at),
        "duration_ms": call.ended_at - call.at,
        **shown_bytes("event", call.event),
        **shown_bytes("answer", call.answer),
        "error": _shown_error(call) if call.error_type else None,
        "log": call.log.decode("utf-8", "replace"),
    }
    return shown | {"mock": call.mock} if call.mock else shown


def _shown_error(call: Recorded) -> dict[str, Any]:
    """Return what the function has thrown, with ``type``: that of ``X-Fc-Error-Type``, or the code of a refusal."""
    try:
        thrown = json.loads(call.answer)
    except (ValueError, RecursionError):
        thrown = None
    if not isinstance(thrown, dict):
        thrown = {"errorMessage": call.answer.decode("utf-8", "replace")}
    return {**thrown, "type": call.error_type}


def shown_bytes(name: str, content: bytes) -> dict[str, str]:
    """Return *content* as text under *name*, and in base64 under *name*_base64 when it is no text."""
    try:
        return {name: content.decode()}
    except UnicodeDecodeError:
        return {name: content.decode("utf-8", "replace"), f"{name}_base64": b64encode(content).decode("ascii")}


MOST_MOCKS = 1000
CALLS_KEPT = 2000


@frozen
class MockTarget:
    """The calls a mock is for: of a function, whose ``qualifier`` is empty for any, of a step, or of an action.

    A ``step`` is ``FLOW/STEP``, or ``STEP`` of any flow; an ``action`` is one such as ``MNS:SendMessage``.
    """

    service: str = ""
    function: str = ""
    qualifier: str = ""
    step: str = ""
    action: str = ""

    @property
    def name(self) -> str:
        """The name: ``service/function`` or ``function``, the step, or the action."""
        function = f"{self.service}/{self.function}" if self.service else self.function
        return self.step or self.action or function

    @property
    def key(self) -> tuple[str, str]:
        """The key under which `Mocks` looks mocks up: (service, function), or a pair for a step or an action."""
        if self.step:
            return "step of a flow", self.step
        return ("action of a task", action_key(self.action)) if self.action else (self.service, self.function)

    @property
    def shown(self) -> dict[str, str]:
        """The member of the mock's document that names the target."""
        if self.step or self.action:
            return {"step": self.step} if self.step else {"action": self.action}
        return {"function": f"{self.name}.{self.qualifier}" if self.qualifier else self.name}


class Mock:
    """A mock with its script and the calls it has answered."""

    def __init__(self, id: str, target: MockTarget, script: Script, doubts: list[str]) -> None:
        self.id = id
        self.doubts = doubts
        """Warnings about answers that the real function or service would not give."""
        self.target = target
        self._script = script
        self._given = 0
        self.calls = CallLog(CALLS_KEPT)

    def next(self) -> Answer | None:
        """Return the next answer; None when the real function or service is to answer."""
        self._given += 1
        return self._script.answer(self._given - 1, self.target.name)

    def shown(self) -> dict[str, Any]:
        """Return the mock in JSON's terms."""
        answers, then = len(self._script.answers), self._script.then
        shown = self.target.shown
        return {
            "id": self.id,
            "of": next(iter(shown.values())),
            **shown,
            "answers": answers,
            "then": then,
            "calls": self._given,
            **({"doubts": self.doubts} if self.doubts else {}),
        }


class Mocks:
    """All mocks. Of several for a function the newest answers."""

    def __init__(self, clock: Clock, timers: Callable[[], Timers], changed: Callable[[], None]) -> None:
        self._clock = clock
        self._timers = timers
        self._changed = changed
        self.by_id: dict[str, Mock] = {}
        """The mocks, oldest first."""
        self._by_name: dict[tuple[str, str], list[Mock]] = {}
        self._added = 0
        self._waits = 0
        self.check: Callable[[MockTarget, Script], list[str]] = lambda target, script: []
        """Return warnings about answers that the real service would not give.

        Raises: LabError for a step or an action that does not exist.
        """
        self._resting: dict[int, tuple[str, str, Origin, Millis | None]] = {}

    def add(self, document: Mapping[str, Any]) -> Mock:
        """Add the mock described by *document*.

        Raises: LabError (InvalidParameter, LimitExceeded).
        """
        if len(self.by_id) >= MOST_MOCKS:
            raise LabError("LimitExceeded", most=MOST_MOCKS, what="mocks")
        target, script = read_mock(document)
        doubts = self.check(target, script)
        if doubts and document.get("strict"):
            raise invalid(doubts[0])
        self._added += 1
        mock = Mock(f"mock-{self._added}", target, script, doubts)
        self.by_id[mock.id] = mock
        self._by_name.setdefault(target.key, []).insert(0, mock)
        return mock

    def get(self, id: str) -> Mock:
        """Return a mock.

        Raises: LabError (NotFound).
        """
        mock = self.by_id.get(id)
        if mock is None:
            raise LabError("NotFound", what="mock", name=id)
        return mock

    def remove(self, id: str) -> None:
        """Remove a mock.

        Raises: LabError (NotFound).
        """
        mock = self.get(id)
        del self.by_id[id]
        key = mock.target.key
        self._by_name[key].remove(mock)
        if not self._by_name[key]:
            del self._by_name[key]

    def clear(self) -> int:
        """Remove all mocks and return how many there were."""
        number = len(self.by_id)
        self.by_id.clear()
        self._by_name.clear()
        return number

    def parts(self) -> tuple[dict[str, Mock], dict[tuple[str, str], list[Mock]]]:
        """Return the mocks by id and by function, for `take_up`."""
        return self.by_id, self._by_name

    def take_up(self, by_id: dict[str, Mock], by_name: dict[tuple[str, str], list[Mock]]) -> None:
        """Replace all mocks."""
        self.clear()
        self.by_id.update(by_id)  # in place, because the adapter for functions refers to this map
        self._by_name.update(by_name)

    def find(self, service: str, function: str, qualifier: str) -> Mock | None:
        """Return the mock for a call with *qualifier* ("" for none)."""
        for mock in self._by_name.get((service, function), ()):
            if mock.target.qualifier in {"", qualifier or "LATEST"}:
                return mock
        return None

    def find_task(self, flow: str, names: Iterable[str]) -> Mock | None:
        """Return the mock for a task of *flow*, the newest of the first of its *names* that has one.

        Names are those of its step, then of its action; a function that it calls is asked for its mock itself.
        """
        for name in names:
            keys = [("step of a flow", f"{flow}/{name}"), ("step of a flow", name), ("action of a task", name)]
            found = next((self._by_name[key][0] for key in keys if key in self._by_name), None)
            if found is not None:
                return found
        return None

    async def rest(self, answer: Answer, name: str, request_id: str, origin: Origin) -> None:
        """Wait for the delay of *answer*, by the emulator's clock; for ever if it never comes."""
        if not answer.delay_ms and not answer.never:
            return
        until = None if answer.never else Millis(self._clock.now() + answer.delay_ms)
        self._waits += 1
        key = self._waits
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._resting[key] = (name, request_id, origin, until)

        def wake() -> None:
            if not over.done():
                over.set_result(None)

        if until is not None:
            self._timers().call_at(until, ("lab mock", key), wake)
        self._changed()
        try:
            await over
        finally:
            self._timers().cancel(("lab mock", key))
            del self._resting[key]

    def resting(self) -> set[str]:
        """Return the request ids of calls that wait for a mock's delay to pass."""
        return {request for _, request, _, _ in self._resting.values()}

    def count_resting(self, origin: Origin | None = None) -> int:
        """Return how many calls wait for a delay to pass, of all callers or of one kind.

        There may be more calls than request ids: iterations of a loop share one.
        """
        return sum(origin in {None, caller} for _, _, caller, _ in self._resting.values())

    def upcoming(self, now: Millis) -> list[Upcoming]:
        """Return the ends of the delays."""
        return [
            Upcoming(at=at, what="answer of a mock", resource=name)
            for name, _, _, at in self._resting.values()
            if at is not None
        ]


def read_mock(document: Mapping[str, Any]) -> tuple[MockTarget, Script]:
    """Read a mock as the admin API has it.

    Raises: LabError (InvalidParameter).
    """
    given = {name: document[name] for name in ("function", "step", "action") if document.get(name)}
    if len(given) != 1:
        raise invalid("a mock has one of function, step and action")
    ((kind, name),) = given.items()
    if not isinstance(name, str):
        raise invalid(f"{kind} must be a text")
    if kind == "function":
        target = read_target(name)
    elif kind == "step":
        target = MockTarget(step=name)
    else:
        target = MockTarget(action=name)
    try:
        return target, read_script(document.get("answers"), document.get("then"))
    except ValueError as error:
        raise invalid(str(error)) from error


def read_target(text: str) -> MockTarget:
    """Read ``service/function[.qualifier]`` or ``function[.qualifier]``; ``service.qualifier/function`` works too.

    Raises: LabError (InvalidParameter).
    """
    try:
        return MockTarget(**read_function(text)._asdict())
    except ValueError:
        message = f"{text!r} does not name a function: service/function[.qualifier] or function[.qualifier]"
        raise invalid(message) from None
