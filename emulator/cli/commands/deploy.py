"""``deploy``: deploy a template or an ``s.yaml``, continuing from the last deployment, or remove a deployment."""

import json
import subprocess
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from emulator.cli.client import Client, connected
from emulator.cli.deploy_client import DeployClient
from emulator.cli.deploy_steps import carry_out, say_steps
from emulator.cli.output import (
    DONE,
    CommandFailed,
    WrongUsage,
    _,
    complain,
    enumerated,
    note,
    reason_of,
    say,
    say_json,
    say_table,
    unreadable,
    wants_json,
)
from emulator.cli.parameters import parameters_of
from emulator.cli.parser import nearest
from emulator.config import Settings
from emulator.deploy.kinds import PROVIDERS
from emulator.deploy.layers_used import MissingLayer, without_foreign_layers
from emulator.deploy.model import (
    Blueprint,
    Entry,
    FileProblems,
    Problem,
    Record,
    Refused,
    StepFailed,
    Target,
    filled,
    has_token,
)
from emulator.deploy.overruled import overruled_settings
from emulator.deploy.places import Findings, whole
from emulator.deploy.planner import (
    Action,
    Missing,
    Plan,
    actions,
    missing_receivers,
    plan,
    project_name,
    read,
    removal,
)
from emulator.deploy.rehearsal import rehearse
from emulator.deploy.s_yaml import ActionCommand, ActionsRun
from emulator.deploy.value_functions import Misuse
from emulator.kernel.bounds import is_within
from emulator.kernel.clock import SystemClock
from emulator.kernel.names import DEPLOYMENT, STACK, fitted
from emulator.kernel.phrases import Phrase, said

USUAL_FILES = ("template.yml", "template.yaml", "s.yaml", "s.yml")
"""The files that are deployed when none is named, first match wins."""

_TERRAFORM = ".tf"


def run(arguments: Namespace, settings: Settings) -> int:
    """Deploy a file, or with ``--remove`` remove what a deployment created."""
    path = file_of(arguments.file)
    if not arguments.file or Path(arguments.file).is_dir():
        _note_others(path)
    within = Path(arguments.within) if arguments.within else None
    if within and not is_within(path, within):
        raise WrongUsage(_("{path} is outside of {folder}", path=path, folder=within))
    client = connected(settings)
    with client.kept_alive():  # several calls for each resource
        api = DeployClient(client.looking() if arguments.plan else client)
        if arguments.remove:
            return _remove(arguments, api, path, within)
        return _deploy(arguments, settings, client, api, path, within)


def _deploy(
    arguments: Namespace, settings: Settings, client: Client, api: DeployClient, path: Path, within: Path | None
) -> int:
    findings = Findings(within=within)
    try:
        root = whole(text_of(path), findings)
        name = name_of(arguments, path, project_name(root, path.parent))
        target = target_of(arguments, client, api, name)
        run: ActionsRun = "not" if not arguments.run_actions else "later" if arguments.plan else "now"
        if run == "now":
            _build(actions(root, target, path.parent), path)
        blueprint = read(root, target, path.parent, parameters_of(arguments.parameter), actions_run=run)
    except FileProblems as error:
        raise CommandFailed(listed(path, error.problems)) from error
    record = _checked(api.record(name) or Record(name=name), arguments, path)
    try:
        blueprint, missing = without_foreign_layers(api, blueprint, target)
        if own := [_note_of_layer(each) for each in missing if not each.is_foreign]:
            raise CommandFailed(listed(path, own))
        findings.notes.extend(map(_note_of_layer, missing))
        steps = plan(api, PROVIDERS, blueprint, record)
        findings.notes.extend(map(_note_of, missing_receivers(api, PROVIDERS, steps)))
        findings.notes.extend(overruled_settings(steps, root, settings.config.functions, path.parent))
    except (Refused, StepFailed) as error:
        raise CommandFailed(findings.shown(said(str(error), _))) from error
    if arguments.plan:
        _rehearse(client, api, blueprint, record, path, findings)
    if not wants_json(arguments):
        _say_plan(steps, path, name, findings.notes)
    if arguments.plan:
        return _end(arguments, _result(record, steps, findings.notes, record.entries, record.outputs))
    _confirm(arguments, steps)
    entries = carry_out(api, steps, record, path, findings)
    outputs = _outputs(blueprint, entries)
    api.keep(Record(name=name, file=str(path), entries=entries, outputs=outputs))
    if not wants_json(arguments):
        _say_resources(entries, outputs)
    return _end(arguments, _result(record, steps, findings.notes, entries, outputs))


def _rehearse(
    client: Client, api: DeployClient, blueprint: Blueprint, record: Record, path: Path, findings: Findings
) -> None:
    """Rehearse the deployment.

    Raises: CommandFailed when a service would refuse it.
    """
    from emulator.cli.rehearsal import stage_like  # imports the services

    try:
        with stage_like(client) as stage:
            rehearse(api, stage.api, blueprint, record)
    except FileProblems as error:
        raise CommandFailed(findings.shown(listed(path, error.problems))) from error
    except (Refused, StepFailed) as error:
        raise CommandFailed(findings.shown(said(str(error), _))) from error


def _note_of(missing: Missing) -> Problem:
    if missing.is_refused:
        text = "the trigger needs {type} {name}, which does not exist: add it to the file, or create it first"
    else:
        text = "{type} {name} does not exist; nothing is delivered to it until it does"
    return Problem(missing.resource.line, missing.resource.column, Phrase(text, type=missing.type, name=missing.name))


def _note_of_layer(layer: MissingLayer) -> Problem:
    if layer.is_foreign:
        text = "layer {arn} belongs to another account or region; the function runs without it"
    else:
        text = "layer {arn} does not exist"
    return Problem(layer.resource.line, layer.resource.column, Phrase(text, arn=layer.arn))


def target_of(arguments: Namespace, client: Client, api: DeployClient, name: str) -> Target:
    """Return the target of the deployment *name*, which may refer to outputs of other deployments."""
    return Target(
        account=client.account,
        region=client.keys.region,
        endpoint=client.endpoint.http,
        name=name,
        stack="" if arguments.name else stack_of(name),
        now=SystemClock().now(),
        outputs_of=lambda other: record.outputs if (record := api.record(other)) is not None else None,
    )


def _build(commands: Sequence[ActionCommand], path: Path) -> None:
    """Print the commands that build the code, then run them. Raises: CommandFailed when one fails."""
    for action in commands:
        note(_("to run: {command}", command=action))
    for action in commands:
        folder = path.parent / action.folder
        try:
            # The file's own command, run because it was asked for; its output is not that of this command.
            done = subprocess.run(action.command, shell=True, cwd=folder, stdout=sys.stderr, check=False)  # noqa: S602
        except OSError as error:
            raise CommandFailed(f"{path.name}:{action.mark.line}: {folder}: {reason_of(error)}") from error
        if done.returncode:
            text = _("{command} ended with exit code {code}", command=action.command, code=done.returncode)
            raise CommandFailed(f"{path.name}:{action.mark.line}: {text}")


def _outputs(blueprint: Blueprint, entries: Sequence[Entry]) -> dict[str, Any]:
    known = {entry.logical: entry.attributes for entry in entries}
    outputs: dict[str, Any] = {}
    for name, value in blueprint.outputs.items():
        try:
            value = filled(value, lambda logical, attribute: known.get(logical, {}).get(attribute))
        except Misuse:
            value = None
        outputs[name] = None if has_token(value) else value
    return outputs


def _checked(record: Record, arguments: Namespace, path: Path) -> Record:
    """Check that *record* does not belong to another project of the same name, and return it.

    Raises: CommandFailed.
    """
    if record.file and Path(record.file).resolve() != path.resolve() and not arguments.name:
        text = _(
            "deployment {name} was created from {file}; choose another name with --name, or update it with "
            "--name {name}"
        )
        raise CommandFailed(text.format(name=record.name, file=record.file))
    return record


def _remove(arguments: Namespace, api: DeployClient, path: Path, within: Path | None) -> int:
    name = name_of(arguments, path, "" if arguments.name else _project_name(path, within))
    known = api.record(name)
    if known is None:
        names = [each.name for each in api.records()]
        if near := nearest(name, names):
            raise CommandFailed(_("there is no deployment {name}{suggestion}", name=name, suggestion=near))
        there = enumerated(names) or _("none")
        raise CommandFailed(_("there is no deployment {name}; there are: {names}", name=name, names=there))
    record = _checked(known, arguments, path)
    steps = removal(record)
    if not wants_json(arguments):
        say_steps(steps)
    if arguments.plan:
        return _end(arguments, _result(record, steps, [], record.entries, record.outputs))
    _confirm(arguments, steps)
    carry_out(api, steps, record, path, Findings(within=within))
    api.forget(name)
    if not wants_json(arguments):
        say(_("removed {name}: {amount}", name=name, amount=amount(steps.count(Action.DELETE))))
    return _end(arguments, _result(record, steps, [], (), {}))


def _project_name(path: Path, within: Path | None) -> str:
    """Return the project's name in a file, which may be missing or invalid by now: removing needs only the name.

    What is wrong with the file is told.
    """
    try:
        return project_name(whole(path.read_text(encoding="utf-8-sig"), Findings(within=within)), path.parent)
    except FileProblems as error:
        text = _("the name in the file cannot be read; the deployment is looked for under that of the folder")
        complain(f"{listed(path, error.problems)}\n{text}")
    except (OSError, UnicodeDecodeError):
        pass
    return ""


def file_of(name: str | None) -> Path:
    """Return the file to deploy: the one given, or the usual one in a folder.

    Raises: WrongUsage; for Terraform's files it says which program reads them.
    """
    path = Path.cwd() if name is None else Path(name)
    if path.is_dir():
        return _usual_file(path)
    if path.suffix == _TERRAFORM:
        raise _for_terraform(path)
    return path.absolute()


def _usual_file(folder: Path) -> Path:
    for name in USUAL_FILES:
        if (folder / name).is_file():
            return (folder / name).absolute()
    if any(folder.glob(f"*{_TERRAFORM}")):
        raise _for_terraform(folder)
    raise WrongUsage(_("{folder} contains none of {files}", files=enumerated(USUAL_FILES), folder=folder))


def _note_others(path: Path) -> None:
    """Note which other usual files in the folder are not read."""
    if others := [name for name in USUAL_FILES if name != path.name and path.with_name(name).is_file()]:
        text = _("{file} is read, not {files}; name the file to choose another")
        note(text.format(file=path.name, files=enumerated(others)))


def _for_terraform(path: Path) -> WrongUsage:
    text = _(
        "{path}: this command reads template.yml and s.yaml. For Terraform files, localyun exec -- "
        "terraform plan shows the differences and apply deploys"
    )
    return WrongUsage(text.format(path=path))


def text_of(path: Path) -> str:
    """Return a file's text.

    Raises: WrongUsage.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise WrongUsage(unreadable(path, error)) from error
    except UnicodeDecodeError as error:
        raise WrongUsage(_("{file} is not UTF-8 text", file=path)) from error


def name_of(arguments: Namespace, path: Path, own: str) -> str:
    """Return the name of the deployment: the one given, that in the file, else the folder's."""
    if arguments.name:
        return str(arguments.name)
    if own:
        return own
    folder = path.parent.name or "root"
    return fitted(folder if path.name in USUAL_FILES else f"{folder}-{path.stem}", DEPLOYMENT)


def stack_of(name: str) -> str:
    """Return the stack's name, from which templates make default names: lower case and hyphens, as buckets require."""
    return fitted(name, STACK)


def _confirm(arguments: Namespace, steps: Plan) -> None:
    """Ask before a deletion, if a person runs the command.

    Raises: CommandFailed when the answer is no.
    """
    gone = steps.count(Action.DELETE) + steps.count(Action.REPLACE)
    if not gone or arguments.yes or wants_json(arguments) or not sys.stdin.isatty():
        return
    answer = input(_("{amount} will be deleted. Continue? [y/N]", amount=amount(gone)) + " ")
    if answer.strip().lower() not in {"y", "yes"}:
        raise CommandFailed(_("nothing has been changed"))


def _say_plan(steps: Plan, path: Path, name: str, notes: Sequence[Problem]) -> None:
    for each in notes:
        say(_("note: {text}", text=said(each.within(path.name), _)))
    say(_("deployment {name}", name=name))
    say_steps(steps)


def _say_resources(entries: Sequence[Entry], outputs: Mapping[str, Any]) -> None:
    say()
    rows = [(each.logical, each.type, each.status, each.physical) for each in entries]
    say_table(("logical name", "type", "status", "physical name"), rows)
    if outputs:
        say()
        texts = {k: v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for k, v in outputs.items()}
        say_table(("output", "value"), list(texts.items()))


def _result(
    record: Record, steps: Plan, notes: Sequence[Problem], entries: Sequence[Entry], outputs: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "name": record.name,
        "plan": [
            {
                "action": step.action.value,
                "logicalName": step.subject.logical,
                "type": step.subject.type,
                "kind": step.subject.kind,
            }
            for step in steps.steps
        ],
        "resources": [
            {
                "logicalName": each.logical,
                "type": each.type,
                "kind": each.kind,
                "status": each.status,
                "physicalName": each.physical,
                "attributes": dict(each.attributes),
            }
            for each in entries
        ],
        "outputs": dict(outputs),
        "notes": [{"line": each.line, "column": each.column, "text": each.text} for each in notes],
    }


def _end(arguments: Namespace, result: Mapping[str, Any]) -> int:
    if wants_json(arguments):
        say_json(result)
    return DONE


def listed(path: Path, problems: Sequence[Problem]) -> str:
    """Return the problems, each on its own line."""
    return "\n".join(said(problem.within(path.name), _) for problem in problems)


def amount(number: int) -> str:
    """Return a number of resources in words."""
    return _("1 resource") if number == 1 else _("{number} resources", number=number)
