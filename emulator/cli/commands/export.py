"""``export`` and ``diff``: the emulator's resources as deployment files, and compared with one."""

import json
import os
import shutil
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from emulator.cli.client import Client, connected
from emulator.cli.commands.deploy import amount, file_of, listed, name_of, target_of, text_of
from emulator.cli.deploy_client import DeployClient
from emulator.cli.output import (
    DIFFERENT,
    DONE,
    CommandFailed,
    WrongUsage,
    _,
    enumerated,
    note,
    reason_of,
    say,
    say_json,
    say_table,
    wants_json,
)
from emulator.cli.parameters import parameters_of
from emulator.config import Settings
from emulator.deploy.export import s_yaml, template, terraform
from emulator.deploy.export.comparison import ABSENT, HIDDEN, OTHER, THERE, THIS, Difference, NotCompared, compare
from emulator.deploy.export.resources import Job, Portable, Written, chosen, portable
from emulator.deploy.inventory import inventory
from emulator.deploy.kinds import GROUPS
from emulator.deploy.layers_used import without_foreign_layers
from emulator.deploy.model import Blueprint, FileProblems, Record, Refused, Target, unset_in
from emulator.deploy.places import Findings, whole
from emulator.deploy.planner import is_project, project_name, read
from emulator.kernel.names import PROJECT, fitted
from emulator.kernel.phrases import said

FORMATS: Mapping[str, Callable[[Job], Written]] = {
    "s.yaml": s_yaml.write,
    "template.yml": template.write,
    "terraform": terraform.write,
}

_CODE = "code"

_SHOWN_FILES = 5
"""The most differing files of one resource's code shown in a table."""


def run(arguments: Namespace, settings: Settings) -> int:
    """Write the emulator's resources into a folder."""
    groups = _groups(arguments.only)
    folder = Path(arguments.output).absolute()
    client = connected(settings)
    file = "main.tf" if arguments.format == "terraform" else arguments.format
    _check_room(folder, file, overwrite=arguments.overwrite)
    try:
        with client.kept_alive():
            resources = inventory(DeployClient(client.looking()), chosen(groups))
    except Refused as error:
        raise CommandFailed(_("the emulator's state cannot be read: {error}", error=error)) from error
    tagged = terraform.TAGGED if arguments.format == "terraform" else frozenset[str]()
    content = portable(resources, client.account, client.keys.region, tagged)
    job = Job(content, folder, arguments.name or _project_name(folder), client.keys.region)
    try:
        if content.resources:
            _make_room(folder, file)
        done = FORMATS[arguments.format](job)
        if done.resources:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / done.file).write_text(done.text, encoding="utf-8")
    except OSError as error:
        raise CommandFailed(
            _("{file} cannot be written: {reason}", file=error.filename, reason=reason_of(error))
        ) from error
    if done.resources:
        _read_back(client, done, content, folder)
    _say(arguments, folder / done.file, done, content)
    if others := client.other_regions():
        note(_("only {region} is exported; to export another region, set LOCALYUN_REGION: {others}",
               region=client.keys.region, others=", ".join(others)))  # fmt: skip
    return DONE


def _project_name(folder: Path) -> str:
    """Return the name of the working directory if the output is inside it, else of the output folder."""
    here, folder = Path.cwd().resolve(), folder.resolve()
    project = here if folder.is_relative_to(here) else folder
    return fitted(project.name or "exported", PROJECT)


def _groups(texts: Sequence[str]) -> list[str]:
    groups = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    for name in groups:
        if name not in GROUPS:
            raise WrongUsage(_("--only takes {groups}, not {name!r}", groups=enumerated(GROUPS), name=name))
    return groups


def _check_room(folder: Path, file: str, *, overwrite: bool) -> None:
    """Refuse to overwrite the files of an earlier export, unless *overwrite*."""
    if folder.is_file():
        raise WrongUsage(_("{folder} is a file", folder=folder))
    there = [name for name in (file, _CODE) if os.path.lexists(folder / name)]  # exists() misses a broken link
    if there and not overwrite:
        text = _("{folder} already contains {name}; choose another folder, or overwrite it with --overwrite")
        raise CommandFailed(text.format(folder=folder, name=there[0]))


def _make_room(folder: Path, file: str) -> None:
    """Delete the files of an earlier export."""
    (folder / file).unlink(missing_ok=True)
    if (folder / _CODE).is_dir():
        shutil.rmtree(folder / _CODE)


def _read_back(client: Client, done: Written, content: Portable, folder: Path) -> None:
    """Read the file as ``deploy`` would, to note what it lacks; HCL is not read.

    Raises: CommandFailed when it cannot be read.
    """
    if done.file == terraform.FILE:
        return
    values = {each.name: each.value for each in content.variables}
    project = done.file == s_yaml.FILE
    parameters = {} if project else {**values, **({"CodeBucket": "code"} if "CodeBucket:" in done.text else {})}
    region, endpoint = client.keys.region, client.endpoint.http
    target = Target(account=client.account, region=region, endpoint=endpoint, name=folder.name)
    try:
        read(whole(done.text, Findings()), target, folder, parameters, values if project else {})
    except FileProblems as error:
        text = _("the exported files cannot be deployed; --only exports a part of the resources")
        raise CommandFailed(f"{text}\n{listed(folder / done.file, error.problems)}") from error


def _say(arguments: Namespace, path: Path, done: Written, content: Portable) -> None:
    notes = [*content.notes, *done.notes]
    if wants_json(arguments):
        say_json(
            {
                "file": str(path) if done.resources else None,
                "resources": [{"kind": each.kind, "name": each.physical, "type": each.type} for each in done.resources],
                "variables": [{"name": each.name, "of": each.owner} for each in content.variables],
                "notes": notes,
            }
        )
        return
    if done.resources:
        say(_("{file}: {resources}", file=path, resources=amount(len(done.resources))))
    else:
        say(_("there is nothing to export; no file was written"))
    for each in content.variables:
        text = _("{owner} may be secret and was not written; set it before you deploy: {how}")
        note(text.format(owner=each.owner, how=_how_to_give(done.file, each.name)))
    for text in notes:
        note(said(text, _))


def _how_to_give(file: str, name: str) -> str:
    """Return how a variable of an exported file is given a value."""
    match file:
        case s_yaml.FILE:
            return f"export {name}=..."
        case terraform.FILE:
            return f"export TF_VAR_{name.lower()}=..."
        case _:
            return f"--parameter {name}=..."


def diff(arguments: Namespace, settings: Settings) -> int:
    """Print the differences between a file and the emulator; the exit code is 4 when there are any."""
    path = file_of(arguments.file)
    client = connected(settings)
    try:
        with client.kept_alive():
            api = DeployClient(client.looking())
            root = whole(text_of(path), Findings())
            name = name_of(arguments, path, project_name(root, path.parent))
            record = api.record(name) or Record(name=name)
            target = target_of(arguments, client, api, name)
            blueprint = _compared(path, target, parameters_of(arguments.parameter))
            blueprint, _missing = without_foreign_layers(api, blueprint, target)
            found = compare(api, blueprint, record, client.account, client.keys.region, others=arguments.all)
    except FileProblems as error:
        raise CommandFailed(listed(path, error.problems)) from error
    except Refused as error:
        raise CommandFailed(_("the emulator's state cannot be read: {error}", error=error)) from error
    _say_not_compared(found.not_compared, s_yaml.FILE if is_project(root) else template.FILE)
    _say_differences(arguments, found.differences)
    return DIFFERENT if found.differences else DONE


def _compared(path: Path, target: Target, parameters: Mapping[str, str]) -> Blueprint:
    """Return the blueprint of a file; secrets may be missing, unless a name or the code depends on one.

    Raises: FileProblems.
    """

    def reading(findings: Findings) -> Blueprint:
        return read(whole(text_of(path), findings), target, path.parent, parameters)

    with suppress(FileProblems):
        blueprint = reading(Findings(may_lack_values=True))
        if not any(unset_in(each.identity) for each in blueprint.resources):
            return blueprint
    return reading(Findings())


def _say_not_compared(places: Sequence[NotCompared], form: str) -> None:
    for each in places:
        text = _("{owner}: {path} is not compared because it has no value: {how}")
        how = " ".join(_how_to_give(form, name) for name in sorted(each.names))
        note(text.format(owner=each.resource.logical, path=each.path, how=how))


def _say_differences(arguments: Namespace, differences: Sequence[Difference]) -> None:
    if wants_json(arguments):
        say_json([_row(each) for each in differences])
    elif not differences:
        say(_("no differences"))
    else:
        rows = [row for each in differences for row in _rows(each)]
        say_table(("type", "logical name", "property", "file", "running"), rows)
        text = _("the last two columns hold what the file says and what the emulator has; {absent} stands for nothing")
        note(text.format(absent=ABSENT))
        if dropped := enumerated([each.resource.physical for each in differences if each.is_dropped]):
            note(_("deploy would delete what the file no longer has: {names}", names=dropped))


def _row(each: Difference) -> dict[str, Any]:
    resource = each.resource
    files = [{"name": name, "file": own, "running": running} for name, (own, running) in _words(each.files).items()]
    return {
        "kind": resource.kind,
        "name": resource.physical,
        "type": resource.type,
        "logicalName": resource.logical,
        "property": each.path,
        "file": each.file,
        "running": each.running,
        **({"files": files} if files else {}),
        **({"dropped": True} if each.is_dropped else {}),
    }


def _rows(each: Difference) -> Iterator[tuple[str, ...]]:
    """Yield the table rows of a difference; one in code has a row for each of its first files."""
    whose = (each.resource.type, each.resource.logical)
    if not each.files:
        shown = _side if each.path in {"", _CODE} else _short
        yield (*whose, each.path or ABSENT, shown(each.file), shown(each.running))
    for name, (own, running) in list(_words(each.files).items())[:_SHOWN_FILES]:
        yield (*whose, f"{each.path}: {name}", _side(own), _side(running))
    if len(each.files) > _SHOWN_FILES:
        more = _("{number} more", number=len(each.files) - _SHOWN_FILES)
        yield (*whose, f"{each.path}: {more}", _side(THIS), _side(OTHER))


def _words(files: Mapping[str, tuple[bool, bool]]) -> dict[str, tuple[str | None, str | None]]:
    """Return the words for both sides of each differing file of the code: None where it does not exist."""
    return {
        name: (THIS, OTHER) if both == (True, True) else (THERE if both[0] else None, THERE if both[1] else None)
        for name, both in files.items()
    }


def _side(word: str | None) -> str:
    """Return the word for one side, in the user's language."""
    return ABSENT if word is None else _(word)


def _short(value: Any) -> str:
    if value == HIDDEN:
        return _(HIDDEN)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = ABSENT if value is None else " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:57]}..."
