"""Settings of ``function.yml`` files that a deployment overrules.

A function may be in the functions folder and in a deployment file. The later one wins, and a deployment also sets the
defaults of properties that its file leaves out.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from emulator.deploy.model import Problem, Resource, has_token
from emulator.deploy.places import LocatedValue
from emulator.deploy.planner import Plan
from emulator.kernel.bounds import is_within
from emulator.kernel.errors import ServiceError
from emulator.kernel.phrases import Phrase
from emulator.services.fc.catalog import fields
from emulator.services.fc.catalog.declared import as_of_api
from emulator.services.fc.catalog.files import YamlFile, YamlFiles
from emulator.services.fc.codec import BODY
from emulator.wire.schema.kinds import Shape
from emulator.wire.yaml import Mark

_FUNCTIONS = {"fc.function": fields.FUNCTION_2, "fc3.function": fields.FUNCTION_3}


def overruled_settings(plan: Plan, root: LocatedValue, functions: Path | None, base: Path) -> Iterator[Problem]:
    """Yield a note for each setting of a ``function.yml`` below *functions* to which *plan* gives another value.

    *root* is the whole file that is deployed. Paths are shown from *base* on where they are below it.
    """
    for resource in (step.resource for step in plan.steps if step.resource is not None):
        if functions is not None and resource.kind in _FUNCTIONS and not has_token(resource.identity):
            folder = functions.joinpath(*resource.identity)
            if root.findings.within is not None and not is_within(folder / "function.yml", root.findings.within):
                continue
            yaml = YamlFiles().read(str(folder), "function", anew=True)
            yield from _of_function(resource, _FUNCTIONS[resource.kind], yaml, root, base)


def _of_function(resource: Resource, rows: Shape, yaml: YamlFile, root: LocatedValue, base: Path) -> Iterator[Problem]:
    file = Path(yaml.file)
    shown = file.relative_to(base) if file.is_relative_to(base) else file
    for name, value in yaml.content.items():
        wanted = resource.properties.get(name)
        if wanted is None or has_token(wanted) or _same(rows, name, value, wanted):
            continue
        given = _mark(root, resource, name)
        line, column = given or (resource.line, resource.column)
        its_line, its_column = yaml.marks.get((name,), (1, 1))
        place = f"{shown}:{its_line}:{its_column}"
        yield Problem(line, column, _text(place, name, value, wanted, left_out=given is None))


def _same(rows: Shape, name: str, value: Any, wanted: Any) -> bool:
    """Whether both values of a setting have the same meaning; an invalid value counts as the same."""
    try:
        return BODY.read(rows, as_of_api({name: value})) == BODY.read(rows, {name: wanted})
    except ServiceError:
        return True


def _mark(root: LocatedValue, resource: Resource, name: str) -> Mark | None:
    """Return where the part of the file that describes *resource* sets *name* itself, None when it does not."""
    parts = [path for path, mark in root.marks.items() if mark == (resource.line, resource.column)]
    found = [
        path
        for path in root.marks
        if path and path[-1].lower() == name.lower() and any(path[: len(part)] == part for part in parts)
    ]
    return Mark(*root.marks[min(found, key=len)]) if found else None


def _text(place: str, name: str, value: Any, wanted: Any, *, left_out: bool) -> Phrase:
    if isinstance(value, (dict, list)) or isinstance(wanted, (dict, list)):  # the values are long, and may be secret
        if left_out:
            return Phrase("{place} sets {name}, which is left out here: the default counts", place=place, name=name)
        return Phrase("{place} sets {name} to another value: the one here counts", place=place, name=name)
    texts = {"value": _json(value), "other": _json(wanted)}
    if left_out:
        text = "{place} sets {name} to {value}; it is left out here, so the default {other} counts"
        return Phrase(text, place=place, name=name, **texts)
    return Phrase("{place} sets {name} to {value}; {other} counts", place=place, name=name, **texts)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
