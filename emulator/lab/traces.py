"""Traces: what one request caused, as a tree.

A line of the log names its trace (the request that caused everything) and its cause (the step, push or message that
caused it directly). Lines about the same thing become one node.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from emulator.kernel.clock import Millis
from emulator.kernel.tracing import message_key, push_key, step_key
from emulator.wire.dates import iso_millis

Fields = Mapping[str, Any]


NodeKind = Literal["request", "message", "push", "call", "execution", "step", "fault"]
"""What a node stands for."""

_MESSAGE_ID = r"[0-9A-F]{32}"


class Effect(NamedTuple):
    """A line of the log that belongs to a trace: the emulator's time, the trace, the direct cause, the named values."""

    at: int
    trace: str
    cause: str
    fields: Fields


class Node:
    """One event of a trace. ``key`` identifies it, ``parent`` is the key of its direct cause."""

    def __init__(self, key: str, parent: str, kind: NodeKind, name: str, id: str) -> None:
        self.key = key
        self.parent = parent
        self.kind = kind
        self.name = name
        self.id = id
        self.status = ""
        self.failed = False
        self.began: int | None = None
        self.ended: int | None = None
        self.children: list[Node] = []

    def seen(self, at: int) -> None:
        """Record that the node was active at a time."""
        self.began = at if self.began is None else min(self.began, at)

    def over(self, at: int) -> None:
        """Record the time of the end."""
        self.seen(at)
        self.ended = at

    def shown(self) -> dict[str, Any]:
        """Return node and children in JSON's terms, the earliest child first."""
        children = sorted(self.children, key=lambda node: node.began or 0)
        began = Millis(min([self.began or 0, *(node.began or 0 for node in children)]))
        return {
            "kind": self.kind,
            "name": self.name,
            "id": self.id,
            "status": self.status,
            "failed": self.failed,
            "at": iso_millis(began),
            "at_ms": began,
            "duration_ms": None if self.ended is None else self.ended - began,
            "key": self.key,
            "children": [node.shown() for node in children],
        }


def ids_of(effect: Effect) -> list[str]:
    """Return the ids a line is found by: of requests, messages and calls, and ``flow/execution``."""
    fields = effect.fields
    ids = [str(fields[name]) for name in ("request", "message_id", "dead_letter_of") if fields.get(name)]
    ids += [str(each) for each in fields.get("message_ids") or ()]
    ids += [each for each in fields.get("handled") or () if re.fullmatch(_MESSAGE_ID, each)]
    ids += delivered(fields)
    if "fault" in fields:
        ids.append(effect.trace)
    if fields.get("execution"):
        ids.append(f"{fields.get('flow')}/{fields['execution']}")
    return ids


def trace_to_show(effect: Effect, id: str) -> str:
    """Return the trace to show for an id: for the receiver of a message the sender's, else the line's own."""
    fields = effect.fields
    if fields.get("request") == id and fields.get("cause"):
        return str(fields["cause"])
    return effect.trace


def traces_of(effect: Effect) -> set[str]:
    """Return the traces that a line belongs to: its own, and those that sent the messages it received."""
    cause = effect.fields.get("cause")
    return {effect.trace, *((str(cause),) if cause else ()), *(effect.fields.get("causes") or ())}


def belongs(effect: Effect, trace: str) -> bool:
    """Whether a line is part of a trace."""
    return trace in traces_of(effect)


def tree(effects: Iterable[Effect], trace: str) -> list[dict[str, Any]]:
    """Return the nodes of a trace whose cause is not in it, with all nodes below them."""
    nodes = _Nodes()
    for effect in effects:
        _add(nodes, effect, trace)
    roots = []
    for node in nodes.values():
        parent = nodes.get(node.parent)
        if parent is None or parent is node or _is_below(parent, node, nodes):
            roots.append(node)
        else:
            parent.children.append(node)
    return [node.shown() for node in sorted(roots, key=lambda node: node.began or 0)]


def _is_below(node: Node, other: Node, nodes: Mapping[str, Node]) -> bool:
    for _ in range(len(nodes)):
        if node is other:
            return True
        above = nodes.get(node.parent)
        if above is None:
            return False
        node = above
    return True


class _Nodes(dict[str, Node]):
    """The nodes of a trace by key."""

    def at(self, when: int, key: str, above: str, kind: NodeKind, name: str, id: str) -> Node:
        """Return the node *key*, made when a line is the first about it."""
        made = self.get(key)
        if made is None:
            made = self[key] = Node(key, above, kind, name, id)
        made.seen(when)
        return made


def _add(nodes: _Nodes, effect: Effect, trace: str) -> None:
    """Put what a line says into its node."""
    fields = effect.fields
    parent = effect.cause or f"request {effect.trace}"
    if "operation" in fields:
        _add_request(nodes, effect, trace)
    elif "fault" in fields:
        name = f"{fields.get('struck')} {fields.get('resource')}"
        struck = nodes.at(effect.at, f"fault {len(nodes)}", parent, "fault", name, "")
        struck.status, struck.failed = str(fields["fault"]), True
    elif "subscription" in fields:
        _add_push(nodes, effect)
    elif "message_id" in fields:
        name, id = str(fields.get("queue") or fields.get("topic") or ""), str(fields["message_id"])
        above = message_key(str(fields["dead_letter_of"])) if "dead_letter_of" in fields else parent
        nodes.at(effect.at, message_key(id), above, "message", name, id).name = name
    elif "step" in fields:
        _add_step(nodes, effect)
    elif "execution" in fields:
        id = f"{fields.get('flow')}/{fields['execution']}"
        made = nodes.at(effect.at, f"execution {id}", parent, "execution", id, id)
        if "status" in fields:
            made.status = str(fields["status"])
            made.failed = made.status != "Succeeded"
            made.over(effect.at)
    elif "function" in fields:
        _add_call(nodes, effect, parent)


def _add_request(nodes: _Nodes, effect: Effect, trace: str) -> None:
    """Add a request with the messages it has sent, or below the message that it has received."""
    fields, at = effect.fields, effect.at
    received = effect.trace != trace
    messages = [str(each) for each in fields.get("message_ids") or ()]
    if fields.get("message_id"):
        messages.append(str(fields["message_id"]))
    above = next((key for each in messages if (key := message_key(each)) in nodes), "") if received else ""
    id = str(fields.get("request"))
    made = nodes.at(at, f"request {id}", above, "request", f"{fields.get('service')} {fields['operation']}", id)
    made.status = str(fields.get("status", ""))
    made.failed = int(fields.get("status") or 0) >= 400
    made.seen(at - round(float(fields.get("ms") or 0)))
    made.over(at)
    if not received:
        for each in messages:
            place = str(fields.get("queue") or fields.get("topic") or "")
            nodes.at(at, message_key(each), made.key, "message", place, each)


def _add_step(nodes: _Nodes, effect: Effect) -> None:
    fields = effect.fields
    id = f"{fields.get('flow')}/{fields.get('execution')}"
    key = step_key(
        str(fields.get("flow")), str(fields.get("execution")), str(fields["step"]), int(fields.get("attempt") or 1)
    )
    made = nodes.at(effect.at, key, f"execution {id}", "step", str(fields["step"]), id)
    made.status = str(fields.get("result", ""))
    made.failed = made.status != "succeeded"
    made.over(effect.at)


def _add_call(nodes: _Nodes, effect: Effect, parent: str) -> None:
    """Add a call; one that a client waits for, or queues, has the id of its request."""
    fields, at = effect.fields, effect.at
    id = str(fields.get("request"))
    above = f"request {id}" if id == effect.trace else parent
    made = nodes.at(at, f"call {id}", above, "call", str(fields["function"]), id)
    if "result" in fields:
        made.status = str(fields["result"])
        made.failed = made.status != "succeeded"
        made.seen(at - round(float(fields.get("ms") or 0)))
        made.over(at)


def _add_push(nodes: _Nodes, effect: Effect) -> None:
    """Add an attempt to deliver a message and, when it went into a queue, the message there."""
    fields, at = effect.fields, effect.at
    message, subscription = str(fields.get("message_id")), str(fields["subscription"])
    key = push_key(message, subscription, int(fields.get("attempt") or 1))
    made = nodes.at(at, key, message_key(message), "push", f"{fields.get('topic')}/{subscription}", message)
    made.status = f"{fields.get('result')}: {fields.get('detail')}"
    made.failed = fields.get("result") != "delivered"
    made.over(at)
    for each in delivered(fields):
        nodes.at(at, message_key(each), key, "message", str(fields.get("detail", "")).partition(",")[0], each)


_IN_QUEUE = r"queue \S+, message ([0-9A-F]{32})"


def delivered(fields: Fields) -> list[str]:
    """Return the ids of the messages that a delivery has put into a queue: one or none."""
    match = re.fullmatch(_IN_QUEUE, str(fields.get("detail", ""))) if "subscription" in fields else None
    return [match[1]] if match is not None else []
