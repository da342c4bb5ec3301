"""Cause and effect: the id of the request that set something off, however far away.

A request's id is its trace. It is carried on in a context variable, which tasks inherit, and with what outlives the
request (messages, publications, asynchronous calls, executions) in a column. Callbacks of the loop inherit the context
of the request that set them up first, which for shared ones is chance: they get one of their own (`shared_context`).
"""

from collections.abc import Mapping
from contextvars import Context, ContextVar
from logging import LogRecord
from typing import Any

_current: ContextVar[str] = ContextVar("localyun_trace", default="")
_cause: ContextVar[str] = ContextVar("localyun_cause", default="")


def current_trace() -> str:
    """Return the trace of the current context, "" when no request caused it."""
    return _current.get()


def begin(trace_id: str) -> None:
    """Set the trace of the current callback or task, and of the tasks it starts, to *trace_id*."""
    _current.set(trace_id)


def cause() -> str:
    """Return the key of the step, push or message that caused the current work, "" when the request itself did."""
    return _cause.get()


def because(key: str) -> None:
    """Set the cause of the current task to a step, push or message (the key that `step_key` and its like return).

    For a task of its own only: the cause stays set.
    """
    _cause.set(key)


def step_key(flow: str, execution: str, step: str, attempt: int) -> str:
    """Return the key of an attempt of a task step."""
    return f"step {flow}/{execution} {step} {attempt}"


def push_key(message_id: str, subscription: str, attempt: int) -> str:
    """Return the key of an attempt to deliver a message to a subscription."""
    return f"push {message_id} {subscription} {attempt}"


def message_key(message_id: str) -> str:
    """Return the key of a message."""
    return f"message {message_id}"


def shared_context() -> Context:
    """Return a fresh context, for callbacks that serve many requests at once."""
    return Context()


def fields_of(record: LogRecord) -> Mapping[str, Any]:
    """Return the named values of a log record: records get their values as one mapping."""
    return record.args if isinstance(record.args, Mapping) else {}


def trace_of(fields: Mapping[str, Any], present: str | None = None) -> str:
    """Return the trace of a log record with *fields*, "" when no request caused it.

    *present* is the trace that was current when it was logged; None stands for the current one.
    """
    present = current_trace() if present is None else present
    return str(fields.get("trace") or present or fields.get("request") or "")
