"""``record``: run a program with the emulator in the cloud's place, and record its requests with the answers."""

from argparse import Namespace
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from emulator.cli.client import connected
from emulator.cli.commands import exec as execute
from emulator.cli.comparison.recordings import UNKNOWN, Exchange, Message, write
from emulator.cli.output import CommandFailed, WrongUsage, _, complain, note, reason_of, requests_counted
from emulator.config import Settings


def run(arguments: Namespace, settings: Settings) -> int:
    """Run the command as ``exec`` does, write the recording and return the command's exit code.

    Raises: WrongUsage, CommandFailed, NoEmulator.
    """
    words = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    if not words:
        raise WrongUsage(_("record needs a command to run: localyun record -- python worker.py"))
    client = connected(settings)
    file = Path(arguments.output)
    options = Namespace(keep_proxy=False, proxy_allow=[], preload=False, network=False)
    environ = execute.environment_of(options, client, settings.config.state)
    client.admin("POST", "recording")
    code = None
    try:
        with execute.ended_by_signals():
            code = execute.run_child(words, environ)
    finally:
        told = client.admin("DELETE", "recording")
        exchanges = [_exchange(each) for each in told["exchanges"]]
        try:
            file.write_text(write(exchanges), encoding="utf-8")
        except OSError as error:
            raise CommandFailed(_("{file} cannot be written: {reason}", file=file, reason=reason_of(error))) from error
        note(_("{file}: {requests} with responses; it contains keys: use compare --redact before you share it",
               file=file, requests=requests_counted(len(exchanges))))  # fmt: skip
        if told["leftOut"]:
            complain(_("{count} more exceeded the limit and were not recorded", count=told["leftOut"]))
    return code


def _exchange(content: Mapping[str, Any]) -> Exchange:
    body = content["answerBody"]
    return Exchange(
        method=content["method"],
        url=content["url"],
        request=Message(headers=_pairs(content["headers"]), body=b64decode(content["body"])),
        status=content["status"],
        answer=Message(
            headers=_pairs(content["answerHeaders"]), body=b64decode(body or ""), lacks=UNKNOWN if body is None else 0
        ),
        began=content["began"],
    )


def _pairs(pairs: list[list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in pairs)
