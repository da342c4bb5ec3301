"""The resources a test uses: clock, queues, topics, flows, checkpoints; functions are in `doubles`."""

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape

from emulator.testing.api import Api, ApiError, NotJson, TestingError, hidden, segment
from emulator.testing.usage import Usage

__tracebackhide__ = hidden

Duration = str | float | timedelta
"""``"90s"``, ``"1h30m"``, ``"2d"``, a number of seconds, or a `timedelta`."""


def duration(span: Duration) -> str:
    """Return *span* in the admin API's form."""
    if isinstance(span, str):
        return span
    seconds = span.total_seconds() if isinstance(span, timedelta) else span
    return f"{round(seconds * 1000)}ms"


def json_text(value: Any) -> str:
    """Return *value* as JSON text; a text is taken for JSON already."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read_json(body: str, remedy: str) -> Any:
    """Return *body* read as JSON; *remedy* says what to do where it is the Base64 of a text.

    Raises: NotJson.
    """
    try:
        return json.loads(body)
    except ValueError as error:
        try:
            inside = b64decode(body, validate=True).decode()
        except ValueError:
            inside = ""
        if inside:
            raise NotJson(f"the body is Base64, not JSON: {body[:200]!r} holds {inside[:200]!r}; {remedy}") from error
        if body.startswith("<?xml") and "<Notification " in body:
            remedy = (
                'it is the envelope of a topic: subscribe(..., content_format="SIMPLIFIED") sends the message alone'
            )
            raise NotJson(f"the body is not JSON: {body[:200]!r}; {remedy}") from error
        raise NotJson(f"the body is not JSON: {body[:200]!r} ({error})") from error


class Clock:
    """The emulator's time, which moves forward only."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def now(self) -> datetime:
        """Return the emulator's time, in UTC."""
        return datetime.fromtimestamp(self._api.admin("GET", "clock")["now_ms"] / 1000, UTC)

    @property
    def upcoming(self) -> list[dict[str, Any]]:
        """The next events: ``at``, ``in_ms``, ``what``, ``resource``."""
        return list(self._api.admin("GET", "clock")["next"])

    def advance(self, span: Duration) -> dict[str, Any]:
        """Move *span* ahead, through every timer on the way; return the response (``ran``, ``settled``, ``active``)."""
        return self._change({"advance": duration(span)})

    def to(self, moment: datetime | str) -> dict[str, Any]:
        """Move to *moment*; a time without a zone is UTC."""
        if isinstance(moment, datetime):
            moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()
        return self._change({"to": moment})

    def next(self, count: int = 1) -> dict[str, Any]:
        """Move to the next event, *count* times."""
        return self._change({"next": count})

    def freeze(self) -> dict[str, Any]:
        """Freeze the time until it is moved or `unfreeze` is called."""
        return self._change({"freeze": True})

    def unfreeze(self) -> dict[str, Any]:
        """Let the time run again, from the frozen time on."""
        return self._change({"freeze": False})

    def _change(self, body: dict[str, Any]) -> dict[str, Any]:
        return dict(self._api.admin("POST", "clock", body))


@dataclass(frozen=True)
class Message:
    """A message of a queue. ``receipt_handle`` is empty for a peeked one."""

    id: str
    body: str
    priority: int
    dequeue_count: int
    receipt_handle: str = ""

    def json(self) -> Any:
        """Return the body read as JSON.

        Raises: NotJson, which says what to do with Base64.
        """
        return read_json(self.body, "receive(base64=True) decodes it")

    def __str__(self) -> str:
        return self.body


def _make(api: Api, path: str, exists: str) -> None:
    """Create a resource with the cloud's default attributes, unless it exists with whatever attributes."""
    try:
        api.mns("PUT", path)
    except ApiError as error:
        if error.code != exists:
            raise


def _content(body: Any, base64: bool) -> str:
    """Return *body* as a message's body: text as it is, bytes as text, other values as JSON; in Base64 if wanted."""
    content = body if isinstance(body, bytes) else json_text(body).encode()
    return b64encode(content).decode() if base64 else content.decode()


class Queue:
    """A queue, created if needed; an existing one keeps its attributes.

    The official SDKs for Python and Java send bodies to queues in Base64 and expect them so; ``base64=True`` does
    what they do.
    """

    name: str

    def __init__(self, api: Api, name: str) -> None:
        self._api = api
        self.name = name
        _make(api, self._path(), "QueueAlreadyExist")

    def send(self, body: Any, *, delay_s: int | None = None, priority: int | None = None, base64: bool = False) -> str:
        """Send a message and return its id; other values than text and bytes are sent as JSON; *base64* encodes it."""
        content = _content(body, base64)
        extra = "" if delay_s is None else f"<DelaySeconds>{delay_s}</DelaySeconds>"
        extra += "" if priority is None else f"<Priority>{priority}</Priority>"
        document = f"<Message><MessageBody>{escape(content)}</MessageBody>{extra}</Message>"
        root = self._api.mns("POST", self._path("messages"), document.encode())
        return _member(root, "MessageId")

    def receive(self, *, wait_s: int | None = None, base64: bool = False) -> Message | None:
        """Receive the next visible message, which hides it; None if there is no message (within *wait_s* seconds).

        With *base64* its body is decoded. Raises: TestingError when it is not Base64.
        """
        root = self._visible("" if wait_s is None else f"?waitseconds={wait_s}")
        return _message(root, base64) if root is not None else None

    def delete(self, message: Message) -> None:
        """Delete a received message."""
        self._api.mns("DELETE", f"{self._path('messages')}?ReceiptHandle={segment(message.receipt_handle)}")

    def peek(self, count: int = 16, *, base64: bool = False) -> list[Message]:
        """Return up to *count* (1 to 16) visible messages without hiding them; with *base64* their bodies are decoded.

        Raises: TestingError when one is not Base64.
        """
        root = self._visible(f"?numOfMessages={count}&peekonly=true")
        return [_message(each, base64) for each in root.iter("Message")] if root is not None else []

    @property
    def messages(self) -> list[Message]:
        """The visible messages, up to 16."""
        return self.peek()

    @property
    def counters(self) -> dict[str, int]:
        """``active``, ``inactive`` and ``delayed``: numbers of messages."""
        root = self._api.mns("GET", self._path())
        return {name: int(_member(root, element)) for name, element in _COUNTERS.items()}

    def __len__(self) -> int:
        """Return how many messages there are, hidden and delayed ones included."""
        return sum(self.counters.values())

    def __bool__(self) -> bool:
        """Return True: a queue without messages is there."""
        return True

    def _visible(self, query: str) -> Element | None:
        """Return the queue's answer to a receive or peek; None when no message is visible."""
        try:
            return self._api.mns("GET", self._path("messages") + query)
        except ApiError as error:
            if error.code == "MessageNotExist":
                return None
            raise

    def _path(self, inside: str = "") -> str:
        return f"/queues/{segment(self.name)}" + (f"/{inside}" if inside else "")


_COUNTERS = {"active": "ActiveMessages", "inactive": "InactiveMessages", "delayed": "DelayMessages"}


def _member(root: Element | None, name: str) -> str:
    return (root.findtext(name) or "") if root is not None else ""


def _message(root: Element, base64: bool) -> Message:
    message = Message(
        id=_member(root, "MessageId"),
        body=_member(root, "MessageBody"),
        priority=int(_member(root, "Priority") or 0),
        dequeue_count=int(_member(root, "DequeueCount") or 0),
        receipt_handle=_member(root, "ReceiptHandle"),
    )
    return replace(message, body=_decoded(message.body)) if base64 else message


def _decoded(body: str) -> str:
    try:
        return b64decode(body, validate=True).decode()
    except ValueError as error:
        raise TestingError(f"the body is not the Base64 of a text: {body[:200]!r}; leave base64=True out") from error


class Topic:
    """A topic, created if needed; an existing one keeps its attributes."""

    name: str

    def __init__(self, api: Api, name: str) -> None:
        self._api = api
        self.name = name
        _make(api, f"/topics/{segment(name)}", "TopicAlreadyExist")

    def publish(self, body: Any, *, tag: str = "", base64: bool = False) -> str:
        """Publish a message and return its id; other values than text and bytes are sent as JSON; *base64* encodes it.

        The SDKs publish to topics without Base64.
        """
        content = _content(body, base64)
        extra = f"<MessageTag>{escape(tag)}</MessageTag>" if tag else ""
        document = f"<Message><MessageBody>{escape(content)}</MessageBody>{extra}</Message>"
        return _member(self._api.mns("POST", f"/topics/{segment(self.name)}/messages", document.encode()), "MessageId")

    def subscribe(
        self,
        endpoint: Any,
        *,
        name: str = "",
        tag: str = "",
        strategy: str = "BACKOFF_RETRY",
        content_format: str = "XML",
    ) -> str:
        """Subscribe an HTTP address, a sink or another endpoint of the message service; return the subscription's name.

        *content_format* is what is pushed: an envelope in ``XML``, the cloud's default, or ``JSON``, or with
        ``SIMPLIFIED`` the message alone.
        """
        endpoint = str(endpoint)
        chosen = name or f"sub-{sha256(f'{endpoint} {tag}'.encode()).hexdigest()[:16]}"
        filter_tag = f"<FilterTag>{escape(tag)}</FilterTag>" if tag else ""
        document = (
            f"<Subscription><Endpoint>{escape(endpoint)}</Endpoint>{filter_tag}"
            f"<NotifyStrategy>{strategy}</NotifyStrategy>"
            f"<NotifyContentFormat>{content_format}</NotifyContentFormat></Subscription>"
        )
        path = f"/topics/{segment(self.name)}/subscriptions/{segment(chosen)}"
        self._api.mns("PUT", path, document.encode())
        return chosen

    def deliveries(self, subscription: str, limit: int = 100) -> list[dict[str, Any]]:
        """Return the deliveries of a subscription, with their results."""
        answer = self._api.admin("GET", "deliveries", topic=self.name, subscription=subscription, limit=limit)
        return list(answer["deliveries"])


class Execution:
    """An execution of a flow; each attribute asks the emulator."""

    flow: str
    name: str

    def __init__(self, api: Api, flow: str, name: str) -> None:
        self._api = api
        self.flow = flow
        self.name = name

    def describe(self, wait_s: int = 0) -> dict[str, Any]:
        """Return DescribeExecution, waiting up to *wait_s* (60) seconds of the emulator's time for the end."""
        return self._api.fnf(
            "DescribeExecution", FlowName=self.flow, ExecutionName=self.name, WaitTimeSeconds=wait_s or None
        )

    @property
    def status(self) -> str:
        """``Running``, ``Succeeded``, ``Failed``, ``Stopped`` or ``TimedOut``."""
        return str(self.describe()["Status"])

    @property
    def output(self) -> Any:
        """The output as a value, None before the end."""
        text = self.describe().get("Output")
        return json.loads(text) if text else None

    @property
    def history(self) -> list[dict[str, Any]]:
        """All events, oldest first."""
        events: list[dict[str, Any]] = []
        token: str | None = None
        while True:
            page = self._api.fnf(
                "GetExecutionHistory", FlowName=self.flow, ExecutionName=self.name, Limit=1000, NextToken=token
            )
            events += page["Events"]
            token = page.get("NextToken") or None
            if token is None:
                return events

    def wait(self, timeout_s: float = 60) -> "Execution":
        """Wait for the end in real time and return itself.

        Raises: TestingError when it has not ended by then.
        """
        left = timeout_s
        while left > 0:
            wait_s = max(1, min(60, round(left)))
            if self.describe(wait_s)["Status"] not in {"Starting", "Running"}:
                return self
            left -= wait_s
        raise TestingError(
            f"{self.flow}/{self.name} is still {self.status} after {timeout_s:g} s; "
            "localyun.skip_until(execution=...) skips its waits"
        )

    @property
    def usage(self) -> Usage:
        """Its usage so far, including the calls, messages and executions it caused."""
        return Usage(self._api.admin("GET", "usage", execution=f"{self.flow}/{self.name}"))

    def __repr__(self) -> str:
        return f"<Execution {self.flow}/{self.name}>"


class Flow:
    """A flow, created or changed if *definition* is given."""

    name: str

    def __init__(self, api: Api, name: str, definition: str | None = None, *, role_arn: str = "") -> None:
        self._api = api
        self.name = name
        if definition is not None:
            content = {
                "Name": name,
                "Definition": definition,
                "Type": "FDL",
                "Description": "",
                "RoleArn": role_arn or None,
            }
            try:
                api.fnf("CreateFlow", **content)
            except ApiError as error:
                if error.code != "FlowAlreadyExists":
                    raise
                api.fnf("UpdateFlow", **content)

    def start(self, input: Any = None, *, name: str | None = None) -> Execution:
        """Start an execution; *input* is a value or JSON text."""
        text = None if input is None else json_text(input)
        answer = self._api.fnf("StartExecution", FlowName=self.name, Input=text, ExecutionName=name)
        return Execution(self._api, self.name, answer["Name"])

    @property
    def executions(self) -> list[Execution]:
        """The executions, newest first, up to 99."""
        answer = self._api.fnf("ListExecutions", FlowName=self.name, Limit=99)
        return [Execution(self._api, self.name, each["Name"]) for each in answer["Executions"]]


class Checkpoint:
    """The whole state at the time of saving."""

    name: str

    def __init__(self, api: Api, name: str) -> None:
        self._api = api
        self.name = name
        api.admin("POST", f"checkpoints/{segment(name)}")

    def restore(self) -> None:
        """Restore the state; running work is ended, waiting work continues from there."""
        self._api.admin("POST", f"checkpoints/{segment(self.name)}/restore")

    def delete(self) -> None:
        """Delete it."""
        self._api.admin("DELETE", f"checkpoints/{segment(self.name)}")
