"""Placeholders of project templates, such as ``{{ functionName }}``, which a finished project does not have.

``s init`` replaces them by values; deployed unchanged they would become names.

Source: Serverless Devs, packages of applications.
"""

import re

from emulator.deploy.model import Problem
from emulator.kernel.phrases import Phrase

_PLACEHOLDER = re.compile(r"\{\{-?[ \t]*([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*-?\}\}")


def placeholder_problem(text: str, *, is_free: bool) -> str | None:
    """Return the problem of a value with a placeholder, None for a value without one.

    A text that *is_free*, such as a description or code, may contain braces of its own, unless it is nothing else.
    """
    match = _PLACEHOLDER.search(text)
    return _problem(match) if match and (not is_free or match[0] == text.strip()) else None


def placeholders_around(text: str, number: int) -> list[Problem]:
    """Return the problems of all placeholders in a text that one in line *number* makes invalid YAML; else none."""
    lines = [line.partition(" #")[0] for line in text.splitlines()]
    if not (0 < number <= len(lines) and _PLACEHOLDER.search(lines[number - 1])):
        return []
    return [
        Problem(count, match.start() + 1, _problem(match))
        for count, line in enumerate(lines, 1)
        if not line.lstrip().startswith("#")
        for match in _PLACEHOLDER.finditer(line)
    ]


def _problem(match: re.Match[str]) -> str:
    return Phrase("{place} is a placeholder: create the project with s init, which fills it in", place=match[0])
