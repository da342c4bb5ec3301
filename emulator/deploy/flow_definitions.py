"""Flow definitions of Funcraft templates: references inside them, in the template or a file of their own.

In a definition ``Ref`` of a function or a service gives its resource name, as ``resourceArn`` wants it, and not its
plain name as elsewhere.

Source: Funcraft, deployment of flows.
"""

import json
import re

from emulator.deploy.building import Build
from emulator.deploy.document import Document, read
from emulator.deploy.failures import FileProblems
from emulator.deploy.functions import names_in
from emulator.deploy.part import Findings, Part, whole

_REFERS = re.compile(r"!(?:Ref|GetAtt|Sub|Join)\b|\bRef['\"]?\s*:|\bFn::")


def written(build: Build, place: Part) -> object:
    """Return a definition that stands in the template, its references evaluated."""
    with build.scope.giving("ARN"):
        return build.scope.value(place)


def in_file(build: Build, place: Part) -> str | None:
    """Return the definition in the file that *place* names; its text as it is where it refers to nothing."""
    text = build.definition(place)
    if text is None or not _REFERS.search(text):
        return text
    findings = Findings()
    try:
        document = read(text)
        with build.scope.giving("ARN"):
            value = build.scope.value(whole(document, findings))
        findings.check()
    except FileProblems as error:
        for problem in error.problems:
            place.problem(f"{place.value}:{problem.line}: {problem.text}")
        return None
    return json.dumps(value, ensure_ascii=False)


def names_in_file(build: Build, resource: Part) -> set[str]:
    """Return the names that the definition file of a resource may refer to; what is wrong with it is told elsewhere."""
    place = resource.member("Properties").member("DefinitionUri")
    if not isinstance(place.value, str):
        return set()
    text = build.definition(Part(place.value, place.path, place.lines, Findings()))
    if text is None or not _REFERS.search(text):
        return set()
    try:
        document: Document = read(text)
    except FileProblems:
        return set()
    return names_in(document.value)
