"""``doctor`` and ``support``: what is wrong on this machine, and an archive for a helper."""

import os
from argparse import Namespace
from pathlib import Path
from typing import Any

from emulator.cli import endpoint
from emulator.cli.client import Client, connect
from emulator.cli.commands.server import shown_settings
from emulator.cli.diagnosis import bundle, machine, network
from emulator.cli.diagnosis.machine import Finding, Findings
from emulator.cli.output import DONE, FAILED, CommandFailed, _, note, say, say_json, say_table, wants_json
from emulator.config import DEFAULT_REGION, Config, Settings
from emulator.kernel.clock import SystemClock
from emulator.keyfile import KeyFileDamaged, load
from emulator.wire.dates import iso_seconds


def run(arguments: Namespace, settings: Settings) -> int:
    """Print each finding with its remedy; the exit code is 1 when something is wrong."""
    findings = _examine(settings)
    problems = [each for each in findings if each.verdict == "wrong"]
    if wants_json(arguments):
        say_json({"findings": [_plain(each) for each in findings], "wrong": len(problems)})
    else:
        marks = {"ok": _("ok"), "note": _("note"), "wrong": _("wrong")}
        say_table(
            ("subject", "verdict", "found"), [(each.subject, marks[each.verdict], each.found) for each in findings]
        )
        remedies = [each for each in findings if each.remedy]
        if remedies:
            say()
        for each in remedies:
            say(f"{each.subject}: {each.found}\n    -> {each.remedy}")
    return FAILED if problems else DONE


def support(arguments: Namespace, settings: Settings) -> int:
    """Pack logs, settings, versions and findings without secrets, and name the archive.

    Raises: CommandFailed when it cannot be written.
    """
    config = settings.config
    moment = iso_seconds(SystemClock().now()).replace(":", "").replace("-", "")
    target = Path(arguments.output or f"localyun-support-{moment}.zip")
    client = _answering(settings)
    documents = {
        "doctor": [_plain(each) for each in _examine(settings)],
        "settings": {name: {"value": value, "source": source} for name, value, source in shown_settings(settings)},
        "status": client.admin("GET", "status") if client else None,
    }
    try:
        names = bundle.write(target, config, bundle.collect(config), documents)
    except OSError as error:
        raise CommandFailed(_("{path} cannot be written: {problem}", path=target, problem=error)) from error
    if wants_json(arguments):
        say_json({"file": str(target.absolute()), "content": names})
    else:
        say(str(target))
        note(_("Keys, tokens, secrets and variables of functions are masked."))
        note(_("Logs hold what your functions printed: look through the archive before you pass it on."))
    return DONE


def _examine(settings: Settings) -> list[Finding]:
    config = settings.config
    client = _answering(settings)
    account, region = _identity(config)
    served = client.endpoint if client else None
    return [
        *machine.python(),
        *network.ports(config, served, endpoint.running()),
        *network.names(account, region),
        *network.certificates(config.state, SystemClock().now() / 1000),
        *network.proxies(os.environ, client.proxy("forwarding") if client else None),
        *_clocks(config, client),
        *machine.state_folder(config),
        *machine.tool_chains(config),
        *machine.sdks(Path.cwd()),
    ]


def _clocks(config: Config, client: Client | None) -> Findings:
    told = client.admin("GET", "clock") if client else None
    return machine.clocks(
        config.state, SystemClock().now(), told
    )  # read after the answer, not before a slow look at names


def _answering(settings: Settings) -> Client | None:
    """Return a client for the emulator of this folder, None when none answers or it cannot be called."""
    try:
        client = connect(settings)
        client.health()
        client.admin("GET", "clock")
    except (CommandFailed, OSError):
        return None
    return client


def _identity(config: Config) -> tuple[str, str]:
    try:
        keys = load(config)
    except (KeyFileDamaged, OSError):
        keys = None
    if keys is None:
        return config.account_id or "1234567890123456", config.region or DEFAULT_REGION
    return keys.account_id, keys.region


def _plain(finding: Finding) -> dict[str, Any]:
    return {
        "subject": finding.subject,
        "verdict": finding.verdict,
        "found": finding.found,
        "remedy": finding.remedy,
    }
