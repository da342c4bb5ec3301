"""Test doubles: calls of functions, mocks, sinks and faults, as a test sees them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

from emulator.kernel.spelling import suggestion
from emulator.testing.api import Api, hidden, segment
from emulator.testing.resources import json_text, read_json

__tracebackhide__ = hidden

# Annotations are evaluated late from Python 3.14 on: in a class with a method ``list`` that name is the method's.
Rows: TypeAlias = list[dict[str, Any]]

_WAYS = ("error", "drop", "throttle", "function")
_EFFECTS = (*_WAYS, "status", "delay")


@dataclass(frozen=True, eq=False)
class InvokeResult:
    """The result of a call, equal to what the function returned. ``error_type`` is empty if the function returned."""

    payload: bytes
    request_id: str
    error_type: str
    log: str

    @property
    def ok(self) -> bool:
        """Whether the function returned."""
        return not self.error_type

    @property
    def text(self) -> str:
        """The payload as text."""
        return self.payload.decode("utf-8", "replace")

    @property
    def value(self) -> Any:
        """What the function returned: the payload read as JSON, or as text if it is not JSON."""
        return _value(self.text)

    def __eq__(self, other: object) -> bool:
        """Whether *other* is the same call, or what the function returned."""
        if isinstance(other, InvokeResult):
            return self.request_id == other.request_id
        return bool((self.payload if isinstance(other, bytes) else self.value) == other)

    def __hash__(self) -> int:
        return hash(self.request_id)

    def json(self) -> Any:
        """Return the payload read as JSON."""
        return json.loads(self.payload)


@dataclass(frozen=True)
class Call:
    """A recorded call of a function: ``caller`` is client, flow, trigger, push or async, ``cause`` a request id."""

    event: Any
    caller: str
    cause: str
    at: str
    request_id: str
    answer: Any
    error: Any
    log: str


def calls_of(answer: dict[str, Any]) -> list[Call]:
    """Read the calls of an answer of the admin API; events that are JSON become values."""
    calls = (Call(**{member.name: each[member.name] for member in fields(Call)}) for each in answer["calls"])
    return [replace(call, event=_value(call.event), answer=_value(call.answer)) for call in calls]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def readable_answer(answer: Any) -> Any:
    """Return an answer of a mock as JSON can hold it: an exception becomes its type and text."""
    if not isinstance(answer, Mapping):
        return answer
    return {name: _error_of(value) if name in {"raises", "error"} else value for name, value in answer.items()}


def _error_of(raised: Any) -> Any:
    if isinstance(raised, type) and issubclass(raised, BaseException):
        return {"errorType": raised.__name__, "errorMessage": ""}
    if isinstance(raised, BaseException):
        return {"errorType": type(raised).__name__, "errorMessage": str(raised)}
    return raised


class Mock:
    """Results instead of a function, or of the action of a task, until `remove` or the end of the test."""

    id: str
    function: str

    def __init__(self, api: Api, target: Mapping[str, str], answers: Sequence[dict[str, Any]], then: str) -> None:
        self._api = api
        self.function = target.get("function", "")
        self.id = str(api.admin("POST", "mocks", {**target, "answers": list(answers), "then": then})["id"])

    @property
    def calls(self) -> list[Call]:
        """The calls it answered, oldest first."""
        return calls_of(self._api.admin("GET", f"mocks/{segment(self.id)}/calls"))

    def remove(self) -> None:
        """Remove the mock, so that the function runs again."""
        self._api.admin("DELETE", f"mocks/{segment(self.id)}")


@dataclass(frozen=True)
class ReceivedRequest:
    """A request that a sink has received. ``signature_valid`` is None for a request without a push signature.

    ``body`` is what was sent; of a push, ``text`` and `json` give the message that was published, in every format.
    """

    method: str
    path: str
    headers: dict[str, str]
    body: str
    at: str
    status: int
    signature_valid: bool | None
    text: str

    def json(self) -> Any:
        """Return the published message, or the body of a request that is not a push, parsed as JSON.

        Raises: NotJson.
        """
        return read_json(self.text, "base64.b64decode(request.text) is what was published")


class Sink:
    """An HTTP endpoint of the emulator that records requests and responds as configured."""

    id: str
    url: str

    def __init__(self, api: Api, answers: Sequence[dict[str, Any]] = ()) -> None:
        self._api = api
        made = api.admin("POST", "sinks", {"answers": list(answers)} if answers else {})
        self.id = str(made["id"])
        self.url = str(made["url"])

    @property
    def requests(self) -> list[ReceivedRequest]:
        """The received requests, oldest first."""
        rows = self._api.admin("GET", f"sinks/{segment(self.id)}")["requests"]
        return [
            ReceivedRequest(**{member.name: row[member.name] for member in fields(ReceivedRequest)}) for row in rows
        ]

    def __str__(self) -> str:
        return self.url

    def only(self) -> ReceivedRequest:
        """Return the only received request.

        Raises: AssertionError when it is none or more than one.
        """
        received = self.requests
        if len(received) != 1:
            raise AssertionError(f"the sink has received {len(received)} requests, not one: {received}")
        return received[0]

    def __len__(self) -> int:
        """Return how many requests it has received."""
        return len(self.requests)

    def __bool__(self) -> bool:
        """Return True: a sink without requests is there."""
        return True

    def __iter__(self) -> Iterator[ReceivedRequest]:
        """Iterate over the received requests, oldest first."""
        return iter(self.requests)


class Faults:
    """Injected faults; those of a test are removed at its end."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def add(
        self,
        match: Mapping[str, Any] | None = None,
        do: Mapping[str, Any] | None = None,
        *,
        service: str | None = None,
        operation: str | None = None,
        resource: str | None = None,
        source: str | None = None,
        after: int = 0,
        times: int | None = None,
        probability: float | None = None,
        seed: int | None = None,
        **effect: Any,
    ) -> str:
        """Make matching calls fail, wait or be dropped; return the fault's id.

        *match* and *do* are those of the HTTP API, whose whole body does as well; or their members stand as keywords.
        *source* is client, flow, trigger, push or async; an effect is one such as ``error="QueueNotExist"``,
        ``delay="2s"``, ``drop=True``, ``throttle=True`` or ``function="timeout"``.

        Raises: TypeError for keywords that are no effect or more than one; ApiError.
        """
        if match is not None and "do" in match:
            return self.add(**match)
        if do is None:
            _check_effect(effect)
        given = {"service": service, "operation": operation, "resource": resource, "from": source}
        body: dict[str, Any] = {
            "match": {**(match or {}), **{name: value for name, value in given.items() if value is not None}},
            "do": {**(do or {}), **effect},
            "after": after,
        }
        optional = {"times": times, "probability": probability, "seed": seed}
        body |= {name: value for name, value in optional.items() if value is not None}
        return str(self._api.admin("POST", "faults", body)["id"])

    def list(self) -> Rows:
        """Return the faults."""
        return [*self._api.admin("GET", "faults")["faults"]]

    def remove(self, fault: str | None = None) -> None:
        """Remove one fault, or all."""
        self._api.admin("DELETE", "faults" if fault is None else f"faults/{segment(fault)}")


def _check_effect(effect: Mapping[str, Any]) -> None:
    """Check that the keywords are exactly one effect. Raises: TypeError."""
    for name in effect:
        if name not in _EFFECTS:
            raise TypeError(f"there is no argument {name}{suggestion(name, _EFFECTS)}")
    ways = sum(bool(effect.get(name)) for name in _WAYS)
    if ways > 1 or not (ways or effect.get("delay")):
        raise TypeError(f"faults.add takes exactly one of {', '.join(_WAYS)}, or delay, which may go with them")


def encoded(event: Any) -> bytes:
    """Return an event as bytes for a function: bytes and text as they are, other values as JSON, None as empty."""
    if event is None:
        return b""
    if isinstance(event, bytes):
        return event
    return json_text(event).encode()
