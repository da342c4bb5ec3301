"""Printing the steps of a deployment, and applying them with a record of what is under way.

When a step fails or a signal ends the command, completed steps are undone; a second signal ends that too. The record
then still names the resources under way, and the next command continues from there.
"""

import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple, assert_never

from emulator.cli.background import handling
from emulator.cli.deploy_client import DeployClient
from emulator.cli.output import CommandFailed, _, enumerated, padded, progress, say
from emulator.deploy.kinds import PROVIDERS
from emulator.deploy.model import Entry, Record, StepFailed
from emulator.deploy.places import Findings
from emulator.deploy.planner import Action, Interrupted, Plan, Step, apply, entry_under_way
from emulator.kernel.phrases import said


class _Words(NamedTuple):
    """The mark of an action in a plan, and the words that count it; empty for an action that changes nothing."""

    sign: str
    counted: str = ""


def words_of(action: Action) -> _Words:
    """Return the mark and words of an action."""
    match action:
        case Action.CREATE:
            return _Words("+", "{number} to create")
        case Action.UPDATE:
            return _Words("~", "{number} to update")
        case Action.REPLACE:
            return _Words("!", "{number} to replace")
        case Action.UNCHANGED:
            return _Words("=")
        case Action.DELETE:
            return _Words("-", "{number} to delete")
        case Action.LEAVE:
            return _Words(" ")
        case _:
            assert_never(action)


def say_steps(steps: Plan) -> None:
    """Print each step, and the number of steps by action."""
    for step in steps.steps:
        remark = "  " + _("(existed before; kept)") if step.action is Action.LEAVE else ""
        verb = padded(_(step.action.value), 9)
        say(f"  {words_of(step.action).sign} {verb}  {step.subject.type}  {step.subject.logical}{remark}")
    texts = ((words_of(action).counted, steps.count(action)) for action in Action)
    counts = [_(text, number=number) for text, number in texts if text and number]
    say(_("plan: {counts}", counts=enumerated(counts) or _("nothing to do")))


def carry_out(api: DeployClient, steps: Plan, record: Record, file: Path, findings: Findings) -> tuple[Entry, ...]:
    """Apply the plan and return the entries of the deployment afterwards; *record* is that from before.

    Raises: CommandFailed for a step that failed, and for a signal, with the exit code that shells report for it.
    """
    if not steps.changes:
        return apply(api, PROVIDERS, steps, lambda step: None)
    under_way = [entry for step in steps.steps if (entry := entry_under_way(step)) is not None]
    api.keep(Record(name=record.name, file=str(file), entries=tuple(under_way), outputs=record.outputs))
    with _interrupting() as came:
        try:
            return apply(api, PROVIDERS, steps, _print_step)
        except StepFailed as error:
            raise _failed(api, record, findings, said(str(error), _), error.left) from error
        except Interrupted as error:
            failed = _failed(api, record, findings, _("{step}: interrupted", step=said(error.step, _)), error.left)
            failed.exit_code = 128 + came[0]
            raise failed from error


@contextmanager
def _interrupting() -> Iterator[list[int]]:
    """Within the block, signals that would end the command interrupt it; yields the list of their numbers.

    Signals that ``nohup`` or a shell has set to be ignored stay ignored.
    """
    came: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        came.append(number)
        raise KeyboardInterrupt

    known = {name: getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)}
    ending = [name for name, number in known.items() if signal.getsignal(number) is not signal.SIG_IGN]
    with handling(ending, interrupt):
        yield came


def _failed(api: DeployClient, record: Record, findings: Findings, why: str, left: Iterable[str]) -> CommandFailed:
    """Store *record* again if everything was undone, and return the error."""
    if left:
        end = [_("these changes were not undone:"), *(f"  {findings.shown(said(each, _))}" for each in left)]
        end.append(_("the same command goes on from there"))
    else:
        api.keep_or_forget(record)
        end = [_("the earlier state is restored")]
    return CommandFailed("\n".join((findings.shown(why), *end)))


def _print_step(step: Step) -> None:
    progress(f"{words_of(step.action).sign} {_(step.action.value)} {step.subject.type} {step.subject.logical}")
