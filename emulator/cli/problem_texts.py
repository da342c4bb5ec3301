"""What is wrong in a deployment file, in the user's language.

The readers of files speak English, as JSON answers and logs do. A text of theirs is recognized by `PROBLEMS`, whose
fields stand for names and values; one that is not there stays English.
"""

import re
from functools import cache

from emulator.cli.output import _, is_chinese
from emulator.deploy.model import Problem

PROBLEMS = (
    "there is no such property",
    "there is no such part of a resource",
    "there is no such part of a function",
    "there is no such section",
    "there is no such attribute",
    "there are no resources",
    "must be a map",
    "must be a map with a Type",
    "must be a list",
    "must be a text",
    "must be a number",
    "must be true or false",
    "must be one of {choices}",
    "Type must be one of {choices}",
    "{name} is missing",
    "{name} is given twice",
    "not valid YAML: {reason}",
    "the trigger type {name} is not known",
    "{place} is a placeholder: create the project with s init, which fills it in",
    "{name}: the link points outside the project; copy the files into the project",
    "{name} is outside of {folder}",
    "the properties in {name} do not identify a component: name it, such as fc3",
    "the component in {path} is read as {name}",
    "no environment is selected: {name} is used",
    "the component {name} is not known",
    "the function {name} is not known",
    "there is no parameter or resource {name}",
    "there is no resource {name}",
    "{variable}: there is no resource {name}",
    "there is no template {name}",
    "the environment variable {name} is not set: {command} sets it",
    "needs a value: {option}",
    "{path} cannot be read: {reason}",
    "{name} has no attribute {attribute}; there are: {names}",
    "logs go to the emulator's own log (localyun logs); stored, without effect",
    "there is no VPC here; stored, without effect",
    "no file system is mounted; stored, without effect",
    "no bucket is mounted; stored, without effect",
)
"""The frequent ones; the first that fits is taken."""

_TEXT = re.compile(r"(?P<place>[^\s:]+: )?(?P<said>.*?)(; did you mean (?P<near>[^?]*)\?)?", re.DOTALL)
_FIELD = re.compile(r"\\{(\w+)\\}")


def problem_text(problem: Problem) -> str:
    """Return a problem as messages have it, with its column."""
    return _("{problem} (column {column})", problem=_spoken(problem.text), column=problem.column)


def _spoken(text: str) -> str:
    if not is_chinese():
        return text
    parts = _TEXT.fullmatch(text)
    if parts is None:
        return text
    said = _translated(parts["said"])
    near = _("; did you mean {name}?", name=parts["near"]) if parts["near"] else ""
    return text if said is None else f"{parts['place'] or ''}{said}{near}"


def _translated(said: str) -> str | None:
    for template in PROBLEMS:
        if found := _pattern(template).fullmatch(said):
            return _(template, **found.groupdict()) if found.groupdict() else _(template)
    return None


@cache
def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(_FIELD.sub(r"(?P<\1>.+?)", re.escape(template)), re.DOTALL)
