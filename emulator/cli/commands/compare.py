"""``compare``: send a recording of the real service to the emulator and print how the answers differ."""

from argparse import Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from emulator.cli.client import CALL_TIMEOUT_S, Client, connected
from emulator.cli.comparison.answers import Counterparts, Difference, differences
from emulator.cli.comparison.calls import Key, call_of, outgoing
from emulator.cli.comparison.recordings import Exchange, Message, NoRecording, read, write
from emulator.cli.output import (
    CommandFailed,
    WrongUsage,
    _,
    note,
    reason_of,
    requests_counted,
    say,
    say_json,
    say_table,
    spoken,
    unreadable,
    wants_json,
)
from emulator.config import Settings
from emulator.kernel.clock import SystemClock
from emulator.kernel.frozen import frozen, replace
from emulator.kernel.ids import RandomIds

SAME = 0
DIFFERENT = 1


@frozen
class Outcome:
    """A request that was sent again: its number in the recording, and the differences of the answers."""

    number: int
    service: str
    operation: str
    differences: tuple[Difference, ...]


def run(arguments: Namespace, settings: Settings) -> int:
    """Compare, or with ``--redact`` write a redacted recording; the exit code is 1 when answers differ.

    Raises: WrongUsage, CommandFailed, NoEmulator.
    """
    exchanges = _read(arguments.recording)
    if arguments.redact:
        return _redact(exchanges, Path(arguments.redact))
    outcomes = list(compared(connected(settings), exchanges))
    lacking = sum(bool(call_of(each).service) and each.request.lacks > 0 for each in exchanges)
    left_out = len(exchanges) - len(outcomes) - lacking
    if not outcomes and not lacking:
        raise CommandFailed(_("{file} has no request to a service that compare supports", file=arguments.recording))
    _tell(arguments, outcomes, left_out, lacking)
    return DIFFERENT if any(each.differences for each in outcomes) else SAME


def _read(file: str) -> list[Exchange]:
    try:
        return read(Path(file).read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUsage(unreadable(file, error)) from error
    except NoRecording as error:
        raise WrongUsage(_("{file} is not a recording: {error}", file=file, error=spoken(str(error)))) from error


def _redact(exchanges: Iterable[Exchange], file: Path) -> int:
    from emulator.cli.comparison.redaction import Redaction  # reads the tables of all services

    redacted = Redaction().redacted(exchanges)
    try:
        file.write_text(write(redacted, "redacted by localyun compare --redact"), encoding="utf-8")
    except OSError as error:
        raise CommandFailed(_("{file} cannot be written: {reason}", file=file, reason=reason_of(error))) from error
    requests = requests_counted(len(redacted))
    note(_("{file}: {requests}; accounts, keys, names and bodies are removed", file=file, requests=requests))
    return SAME


def compared(client: Client, exchanges: Iterable[Exchange]) -> Iterator[Outcome]:
    """Send each request of a compared service in order, with values from earlier answers, and yield the outcomes."""
    keys, account, clock, ids = client.keys, client.account, SystemClock(), RandomIds()
    key, host = Key(id=keys.access_key_id, secret=keys.access_key_secret), urlsplit(client.endpoint.http).netloc
    counterparts = Counterparts()
    for number, exchange in enumerate(exchanges, 1):
        call = call_of(exchange)
        if not call.service or exchange.request.lacks:
            continue
        counterparts.learn_account(exchange.host, account)
        request = outgoing(_mapped(exchange, counterparts), call.service, key, host, now=clock.now(), nonce=ids.uuid())
        reply = client.send(request.method, request.target, request.headers, request.body, CALL_TIMEOUT_S)
        here = Message(headers=tuple(reply.headers.items()), body=reply.body)
        found = tuple(differences((exchange.status, exchange.answer), (reply.status, here), counterparts))
        yield Outcome(number=number, service=call.service, operation=call.operation, differences=found)


def _mapped(exchange: Exchange, counterparts: Counterparts) -> Exchange:
    """Return a request with the emulator's values in place of recorded ones."""
    request = exchange.request
    try:
        is_form = "x-www-form-urlencoded" in request.header("content-type")
        body = counterparts.applied(request.body.decode(), encoded=is_form).encode()
    except UnicodeDecodeError:
        body = request.body
    headers = tuple((name, counterparts.applied(value)) for name, value in request.headers)
    return replace(
        exchange, url=counterparts.applied(exchange.url, encoded=True), request=Message(headers=headers, body=body)
    )


def _tell(arguments: Namespace, outcomes: list[Outcome], left_out: int, lacking: int) -> None:
    rows = _summary(outcomes)
    if wants_json(arguments):
        told = [
            {"request": each.number, "service": each.service, "operation": each.operation,
             "differences": [{"kind": one.kind, "place": one.place, "recorded": one.recorded, "here": one.here}
                             for one in each.differences]}
            for each in outcomes
        ]  # fmt: skip
        say_json({"requests": told, "operations": rows, "leftOut": left_out, "lacking": lacking})
        return
    for each in outcomes:
        if each.differences:
            say(f"#{each.number} {each.service} {each.operation}")
            for one in each.differences:
                say(f"  {one.kind} {one.place}: {one.recorded} -> {one.here}")
    columns = ("service", "operation", "requests", "same", "different")
    say_table(columns, [[row[name] for name in columns] for row in rows])
    if left_out:
        note(_("not compared: {requests} to other services", requests=requests_counted(left_out)))
    if lacking:
        note(_("not compared: {requests} without a body in the recording", requests=requests_counted(lacking)))


def _summary(outcomes: Iterable[Outcome]) -> list[dict[str, Any]]:
    """Return the numbers of requests answered the same and differently, by service and operation."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for each in outcomes:
        row = rows.setdefault(
            (each.service, each.operation),
            {"service": each.service, "operation": each.operation, "requests": 0, "same": 0, "different": 0},
        )
        row["requests"] += 1
        row["different" if each.differences else "same"] += 1
    return [rows[key] for key in sorted(rows)]
