"""Tools for tests: ``clock``, ``settle``, ``skip``, ``fault``, ``mock``, ``sink`` and ``checkpoint``."""

import json
import os
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from emulator.cli import parameters
from emulator.cli.client import Client, connect
from emulator.cli.output import (
    FAILED,
    CallRefused,
    CommandFailed,
    WrongUsage,
    _,
    complain,
    duration,
    enumerated,
    note,
    note_row,
    progress,
    reason_of,
    say,
    say_json,
    say_table,
    show_rows,
    show_table,
    spoken,
    tell,
    unreadable,
    wants_json,
)
from emulator.config import Settings
from emulator.kernel import system
from emulator.kernel.instrumentation import parted

_JUMPS_SHOWN = 20


def clock(arguments: Namespace, settings: Settings) -> int:
    """Print the time and the coming events, or move the clock."""
    body = _change(arguments.action, arguments.value)
    client = connect(settings)
    answer = client.admin("GET", "clock") if body is None else client.admin("POST", "clock", body)
    if wants_json(arguments):
        say_json(answer)
        return 0
    frozen = _(" (frozen)") if answer["frozen"] else ""
    say(_("{now}{frozen}", now=answer["now"], frozen=frozen))
    if broken_off := answer.get("broken_off"):
        say(_("the last clock move, to {to}, stopped at {reached} because its client disconnected", **broken_off))
    rows = [(each["at"], duration(each["in_ms"]), _event(each["what"]), each["resource"]) for each in answer["next"]]
    if rows:
        say_table(("at", "in", "what", "resource"), rows)
    _note(answer.get("active", ()))
    return 0


def _event(what: str) -> str:
    """Return the kind of an event in the user's language, with the name or number that follows it."""
    kind, rest = parted(what)
    return _(kind) + rest


def _change(action: str | None, value: str | None) -> dict[str, Any] | None:
    """Return the body of the request for a change, None to only show the clock. Raises: WrongUsage."""
    if action == "advance" and value is None:
        raise WrongUsage(_("clock advance needs a duration, such as localyun clock advance 1h30m"))
    if action == "to" and value is None:
        raise WrongUsage(_("clock to needs a time, such as localyun clock to 2030-01-01T00:00:00Z"))
    if action in {"freeze", "unfreeze"} and value is not None:
        raise WrongUsage(_("clock {action} takes no value", action=action))
    match action:
        case None:
            return None
        case "advance" | "to":
            try:
                return {action: (parameters.duration if action == "advance" else parameters.moment)(value or "")}
            except ArgumentTypeError as error:
                raise WrongUsage(_("clock {action}: {problem}", action=action, problem=error)) from error
        case "next":
            if value is not None and not value.isdecimal():
                raise WrongUsage(_("clock next takes a number"))
            return {"next": int(value or 1)}
        case _:
            return {"freeze": action == "freeze"}


def settle(arguments: Namespace, settings: Settings) -> int:
    """Wait until the emulator is idle."""
    try:
        answer = connect(settings).admin("POST", "settle", {"timeout": arguments.timeout})
    except CallRefused as refusal:
        return _not_done(arguments, refusal)
    done = tell(arguments, _("idle"), answer)
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
    if not wants_json(arguments):
        if answer["jumped"]:
            _note_jumps(answer["from"], answer["jumped"])
        elif "quiet" not in until:
            note(_("the condition holds already; the time is still {time}", time=answer["from"]))
        elif answer["next"]:
            note(_("only timer triggers and schedules are left; the time is still {time}", time=answer["from"]))
        else:
            note(_("there is no next event; the time is still {time}", time=answer["from"]))
    return tell(arguments, answer["now"], answer)


def _note_jumps(begin: str, jumped: list[dict[str, Any]]) -> None:
    """Print, on standard error, the events that a skip has jumped over."""
    note(_("moved from {time} past:", time=begin))
    for each in jumped[:_JUMPS_SHOWN]:
        note_row(f"  {each['at']}  +{duration(each['in_ms'])}  {_event(each['what'])}  ", each["resource"])
    if len(jumped) > _JUMPS_SHOWN:
        note(_("  and {number} more; --json lists all", number=len(jumped) - _JUMPS_SHOWN))


def _not_done(arguments: Namespace, refusal: CallRefused) -> int:
    """Print the unfinished work that the answer lists, and fail. Raises: CallRefused when it lists none."""
    if "active" not in refusal.content:
        raise refusal
    if wants_json(arguments):
        say_json(refusal.content)
    else:
        complain(spoken(str(refusal.content.get("Message", refusal))))
        _note(refusal.content["active"])
    return FAILED


def _note(work: Iterable[dict[str, Any]]) -> None:
    for each in work:
        since = _(" since {time}", time=each["since"]) if each.get("since") else ""
        note(f"  {spoken(each['kind'])} {each['resource']}{since}: {spoken(each['for'])}")


_FAULTS = {"fault": "id", "match": "match", "do": "do", "after": "after", "times": "times", "injected": "struck"}
_EFFECTS = ("--error", "--throttle", "--drop", "--function", "--delay")
_ANSWERS = ("--returns", "--raises", "--answers")
_MOCKS = {"mock": "id", "name": "of", "answers": "answers", "then": "then", "calls": "calls"}
_SINKS = {"sink": "id", "received": "received", "URL": "url"}
_CALLS = {
    "at": "at",
    "caller": "caller",
    "event": "event",
    "answer": "answer",
    "error": "error",
    "request": "request_id",
}
_CHECKPOINTS = {"checkpoint": "name", "saved": "created_at", "emulator's time": "now", "bytes": "bytes"}
_REQUESTS = {"at": "at", "method": "method", "status": "status", "signed": "signature_valid", "body": "body"}


def add_fault(arguments: Namespace, settings: Settings) -> int:
    """Inject a fault."""
    body = {
        "match": _given(arguments, "service", "operation", "resource") | _nonempty({"from": arguments.origin}),
        "do": _given(arguments, "error", "status", "drop", "function", "delay")
        | ({"throttle": True} if arguments.throttle else {}),
        **_given(arguments, "after", "times", "probability", "seed"),
    }
    if not body["do"]:
        raise WrongUsage(_("a fault needs one of {options}", options=enumerated(_EFFECTS)))
    made = connect(settings).admin("POST", "faults", body)
    return tell(arguments, _("added {name}", name=made["id"]), made)


def add_mock(arguments: Namespace, settings: Settings) -> int:
    """Mock a function, or a task of a flow."""
    answers = _answers(arguments)
    target = _nonempty({"function": arguments.function, "step": arguments.step, "action": arguments.action})
    if len(target) != 1:
        raise WrongUsage(_("a mock needs exactly one of FUNCTION, --step and --action"))
    if not answers:
        raise WrongUsage(_("a mock needs one of {options}", options=enumerated(_ANSWERS)))
    body = {**target, "answers": answers, **_nonempty({"then": arguments.then, "strict": arguments.strict})}
    made = connect(settings).admin("POST", "mocks", body)
    for doubt in made.get("doubts", ()):
        complain(spoken(doubt))
    return tell(arguments, _("added {name}", name=made["id"]), made)


def _answers(arguments: Namespace) -> list[Any]:
    """Return the answers of a mock. Raises: WrongUsage."""
    if arguments.answers:
        try:
            answers = json.loads(Path(arguments.answers).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise WrongUsage(unreadable(arguments.answers, error)) from error
        return answers if isinstance(answers, list) else [answers]
    answers = [{"return": _returned(text)} for text in arguments.returns or ()]
    if arguments.raises:
        answers.append({"error": arguments.raises})
    if arguments.delay:
        answers = [{**answer, "delay": arguments.delay} for answer in answers]
    return answers


def _returned(text: str) -> Any:
    from emulator.wire.answers import typed_value  # the other commands of this module do not need it

    try:
        return typed_value(text)
    except (ValueError, RecursionError) as error:
        raise WrongUsage(_("{what} is not JSON: {error}", what="--returns", error=spoken(str(error)))) from error


def calls(arguments: Namespace, settings: Settings) -> int:
    """Print the calls of a mock or a function."""
    name = arguments.mock
    page = f"mocks/{quote(name)}/calls" if name.startswith("mock-") else f"calls/{quote(name)}"
    return show_table(arguments, _CALLS, connect(settings).admin("GET", page)["calls"])


def add_sink(arguments: Namespace, settings: Settings) -> int:
    """Create an address that records the requests it receives, and print it."""
    answers = [{"status": status} for status in arguments.status or ()]
    made = connect(settings).admin("POST", "sinks", {"answers": answers})
    return tell(arguments, made["url"], made)


def list_sinks(arguments: Namespace, settings: Settings) -> int:
    """List the sinks."""
    sinks = connect(settings).admin("GET", "sinks")["sinks"]
    rows = [[sink[name] for name in _SINKS.values()] for sink in sinks]  # addresses are printed in full
    return show_rows(arguments, tuple(_SINKS), rows, sinks)


def show_sink(arguments: Namespace, settings: Settings) -> int:
    """Print the requests a sink has received."""
    name = arguments.name.rstrip("/").rpartition("/")[2]  # an address is accepted as well as a name
    requests = connect(settings).admin("GET", f"sinks/{quote(name, safe='')}")["requests"]
    if not arguments.full or wants_json(arguments):
        return show_table(arguments, _REQUESTS, requests)
    for each in requests:
        say_json(each)
        say()
    return 0


def list_faults(arguments: Namespace, settings: Settings) -> int:
    """List the faults."""
    return show_table(arguments, _FAULTS, connect(settings).admin("GET", "faults")["faults"])


def list_mocks(arguments: Namespace, settings: Settings) -> int:
    """List the mocks."""
    return show_table(arguments, _MOCKS, connect(settings).admin("GET", "mocks")["mocks"])


def list_checkpoints(arguments: Namespace, settings: Settings) -> int:
    """List the checkpoints."""
    return show_table(arguments, _CHECKPOINTS, connect(settings).admin("GET", "checkpoints")["checkpoints"])


def _remove(page: str, arguments: Namespace, settings: Settings) -> int:
    """Remove one resource of an admin page's list, or all."""
    one = f"{page}/{quote(arguments.name, safe='')}" if arguments.name else page
    done = connect(settings).admin("DELETE", one)
    return tell(arguments, _("removed {number}", number=done["removed"]), done)


remove_fault, remove_mock, remove_sink = (partial(_remove, page) for page in ("faults", "mocks", "sinks"))


def _given(arguments: Namespace, *names: str) -> dict[str, Any]:
    """Return the options that were given, by their names."""
    return _nonempty({name: getattr(arguments, name) for name in names})


def _nonempty(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


_PIECE_BYTES = 16 * 1024 * 1024


def _passing_name() -> str:
    """Return the name of a checkpoint that is deleted again: nobody else's, also when several commands run at once."""
    return f"passing-{os.urandom(8).hex()}"


def save_checkpoint(arguments: Namespace, settings: Settings) -> int:
    """Save the whole state under a name."""
    client = connect(settings)
    there = {each["name"] for each in client.admin("GET", "checkpoints")["checkpoints"]}
    done = client.admin("POST", _checkpoint(arguments.name))
    text = _("saved {name}, in the place of the earlier one") if arguments.name in there else _("saved {name}")
    return tell(arguments, text.format(name=arguments.name), done)


def restore_checkpoint(arguments: Namespace, settings: Settings) -> int:
    """Restore a checkpoint."""
    done = connect(settings).admin("POST", _checkpoint(arguments.name) + "/restore")
    return tell(arguments, _("restored {name}", name=arguments.name), done)


def delete_checkpoint(arguments: Namespace, settings: Settings) -> int:
    """Delete a checkpoint."""
    done = connect(settings).admin("DELETE", _checkpoint(arguments.name))
    return tell(arguments, _("deleted {name}", name=arguments.name), done)


def export_checkpoint(arguments: Namespace, settings: Settings) -> int:
    """Write a checkpoint, or the present state, to a file."""
    path = Path(arguments.file)
    client = connect(settings)
    name = arguments.name or _passing_name()
    if not arguments.name:
        client.admin("POST", _checkpoint(name))
    try:
        with _taken(path, overwrite=arguments.overwrite), system.drafted(path) as draft, draft.open("wb") as file:
            while piece := client.admin_bytes(_checkpoint(name) + "/archive", offset=str(file.tell())):
                file.write(piece)
                progress(_("{bytes} bytes", bytes=file.tell()))
    except OSError as error:
        raise CommandFailed(_("{file} cannot be written: {reason}", file=path, reason=reason_of(error))) from error
    finally:
        if not arguments.name:
            client.admin("DELETE", _checkpoint(name))
    return tell(arguments, _("wrote {file}", file=path), {"file": str(path), "bytes": path.stat().st_size})


@contextmanager
def _taken(path: Path, *, overwrite: bool) -> Iterator[None]:
    """Take the name of a file that is written in the context, unless it exists and there is no *overwrite*.

    Raises: CommandFailed; OSError.
    """
    if overwrite:
        yield
        return
    try:
        path.open("xb").close()
    except FileExistsError as error:
        text = _("{file} exists already; choose another file, or overwrite it with --overwrite", file=path)
        raise CommandFailed(text) from error
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def import_checkpoint(arguments: Namespace, settings: Settings) -> int:
    """Import a checkpoint from a file; without a name for it, restore it at once."""
    client = connect(settings)
    name = arguments.name or _passing_name()
    try:
        done = _upload(client, Path(arguments.file), name)
    except OSError as error:
        raise CommandFailed(unreadable(arguments.file, error)) from error
    if arguments.name:
        return tell(arguments, _("created checkpoint {name}", name=name), done)
    client.admin("POST", _checkpoint(name) + "/restore")
    client.admin("DELETE", _checkpoint(name))
    return tell(arguments, _("restored {name}", name=arguments.file), done)


def _upload(client: Client, path: Path, name: str) -> dict[str, Any]:
    size = path.stat().st_size
    with path.open("rb") as file:
        while True:
            offset = file.tell()
            piece = file.read(_PIECE_BYTES)
            last = file.tell() >= size
            done = client.admin_put(
                _checkpoint(name) + "/archive", piece, offset=str(offset), last="true" if last else "false"
            )
            if last:
                return done


def _checkpoint(name: str) -> str:
    return f"checkpoints/{quote(name, safe='')}"
