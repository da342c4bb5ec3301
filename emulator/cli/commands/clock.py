"""``clock``, ``settle`` and ``skip``: the emulator's time, waiting until it is quiet, jumping to what comes."""

from argparse import Namespace
from collections.abc import Iterable
from typing import Any

from emulator.cli.client import connect
from emulator.cli.output import (
    FAILED,
    CallRefused,
    WrongUsage,
    _,
    complain,
    note,
    say,
    say_json,
    say_table,
    tell,
    wants_json,
)
from emulator.config import Settings

_EVENTS = ("at", "in", "what", "resource")


def clock(arguments: Namespace, settings: Settings) -> int:
    """Print the time and what comes, or move the clock."""
    body = _change(arguments.action, arguments.value)
    client = connect(settings)
    answer = client.admin("GET", "clock") if body is None else client.admin("POST", "clock", body)
    if wants_json(arguments):
        say_json(answer)
        return 0
    frozen = _(" (frozen)") if answer["frozen"] else ""
    say(_("{now}{frozen}", now=answer["now"], frozen=frozen))
    rows = [(each["at"], duration(each["in_ms"]), each["what"], each["resource"]) for each in answer["next"]]
    if rows:
        say_table(_EVENTS, rows)
    _note(answer.get("active", ()))
    return 0


def _change(action: str | None, value: str | None) -> dict[str, Any] | None:
    """Return the body that asks for a change, None for a look.

    Raises: WrongUsage.
    """
    if (action in {"advance", "to"}) != (value is not None) and action != "next":
        raise WrongUsage(_("clock advance needs a duration, and clock to a time; nothing else takes a value"))
    match action:
        case None:
            return None
        case "advance" | "to":
            return {action: value}
        case "next":
            if value is not None and not value.isdecimal():
                raise WrongUsage(_("clock next takes a number"))
            return {"next": int(value or 1)}
        case _:
            return {"freeze": action == "freeze"}


def settle(arguments: Namespace, settings: Settings) -> int:
    """Wait until nothing works any more."""
    try:
        answer = connect(settings).admin("POST", "settle", {"timeout": arguments.timeout})
    except CallRefused as refusal:
        return _not_done(arguments, refusal)
    done = tell(arguments, _("quiet"), answer)
    if not wants_json(arguments):
        _note(answer["waiting"])
    return done


def skip(arguments: Namespace, settings: Settings) -> int:
    """Jump from event to event until a condition holds, or nothing is left to happen."""
    until: dict[str, Any] = {"quiet": True}
    if arguments.execution:
        until = {"execution": arguments.execution}
    elif arguments.queue:
        until = {"queue": arguments.queue, "visible": arguments.visible}
    elif arguments.calls:
        until = {"calls": arguments.calls, "count": arguments.count}
    body = {"until": until, "limit": arguments.limit, "timeout": arguments.timeout}
    try:
        answer = connect(settings).admin("POST", "skip", body)
    except CallRefused as refusal:
        return _not_done(arguments, refusal)
    return tell(arguments, answer["now"], answer)


def _not_done(arguments: Namespace, refusal: CallRefused) -> int:
    """Print what is in the way, which the answer names, and fail.

    Raises: CallRefused when it does not.
    """
    if "active" not in refusal.content:
        raise refusal
    if wants_json(arguments):
        say_json(refusal.content)
    else:
        complain(str(refusal.content.get("Message", refusal)))
        _note(refusal.content["active"])
    return FAILED


def _note(work: Iterable[dict[str, Any]]) -> None:
    for each in work:
        since = _(" since {time}", time=each["since"]) if each.get("since") else ""
        note(f"  {each['kind']} {each['resource']}{since}: {each['for']}")


_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"))


def duration(span_ms: int) -> str:
    """Return a span as the admin API reads it: ``1h30m``, ``5s``, ``20ms``."""
    if span_ms < 1000:
        return f"{max(0, span_ms)}ms"
    text, left = "", span_ms
    for size, unit in _UNITS:
        if left >= size:
            text, left = f"{text}{left // size}{unit}", left % size
    return text
