"""Parameters, and what refers to them in the definition of a flow: ``!Ref Name`` and its like, and ``${Name}``.

A definition is read without its template, so each reference is replaced by the value of a parameter or, without one, by
a placeholder in the form of a resource. A conversion puts the reference back afterwards; in a rehearsal the resource
has a name made of the reference, for which mocks can be given.

Source: functions of Resource Orchestration Service templates.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from emulator.kernel.phrases import Phrase
from emulator.services.workflow.engine.language import DefinitionError, Program
from emulator.services.workflow.languages.programs import read_program

ACCOUNT: Final = "{accountID}"
"""The text in place of the account's id in definitions in files."""

ZEROS: Final = "0" * len(ACCOUNT)
"""Digits in place of an unknown account id, as long as `ACCOUNT`, so that columns stay the same."""

_NAME: Final = r"[A-Za-z_][\w:.-]*"
_IN_TEXT: Final = re.compile(rf"\$\{{({_NAME})\}}")
_WHOLE: Final = re.compile(rf"(resourceArn:\s*)([\"']?)(\$\{{{_NAME}\}})\2(?=\s*[,}}]|\s*$)", re.MULTILINE)
_NAMED: Final = re.compile(r"(?:!Ref|!GetAtt)\s+[\"']?(?:([\w-]+)/)?([\w-]+)(?:\.\w+)?[\"']?|\$\{([\w-]+)\}")
_NUMBER: Final = re.compile(r"-?\d{1,15}(\.\d{1,15})?\Z")


class Reference(NamedTuple):
    """A reference without a value: ``placeholder`` is in its place, ``written`` is its text in the definition.

    ``inner`` are the tags inside its value, with their lines.
    """

    tag: str
    line: int
    placeholder: str
    written: str
    inner: tuple[tuple[str, int], ...] = ()

    @property
    def tags(self) -> list[tuple[str, int]]:
        """The tag and those inside its value, with their lines."""
        return [(self.tag, self.line), *self.inner]

    @property
    def resource(self) -> str:
        """The ARN of a function named after the reference: ``!Ref shop/pay`` is ``pay`` of the service ``shop``."""
        named = _NAMED.fullmatch(self.written)
        if named is None:
            return self.placeholder
        service, function, inside = named.groups()
        return (
            f"acs:fc:::services/{service}/functions/{function}"
            if service
            else f"acs:fc:::functions/{function or inside}"
        )


class Misplaced(Exception):
    """A reference that cannot be put back, because its placeholder is inside another value."""

    def __init__(self, reference: Reference) -> None:
        self.reference = reference
        super().__init__(reference.written)


class Standalone(NamedTuple):
    """A definition without its template: its readable text, and the references without values."""

    text: str
    references: tuple[Reference, ...]

    @property
    def resources(self) -> frozenset[str]:
        """The resources in the text that stand for references without values."""
        return frozenset(each.resource for each in self.references)

    def program(self) -> Program:
        """Return the program of the text.

        Raises: DefinitionError, which asks for a parameter where a resource cannot stand for the reference.
        """
        try:
            return read_program(self.text)
        except DefinitionError as error:
            tags = {each.line: each.tag for each in reversed(self.references)}
            text = "{tag} has no value here; a parameter gives it one, such as --parameter NAME=VALUE"
            for mistake in error.every():
                if mistake.line in tags:
                    mistake.message = Phrase(text, tag=tags[mistake.line])
                    mistake.expression = None
            raise


def standalone(text: str, parameters: Mapping[str, str] | None = None, account: str = ZEROS) -> Standalone:
    """Return a definition with its references replaced, and ``{accountID}`` replaced by *account*."""
    text, references = stand_ins(text.replace(ACCOUNT, account), parameters)
    for each in references:
        text = text.replace(each.placeholder, each.resource)
    return Standalone(text, tuple(references))


def stand_ins(text: str, parameters: Mapping[str, str] | None = None) -> tuple[str, list[Reference]]:
    """Return *text* with its references replaced by values or placeholders, and the references without values.

    Text outside of tagged values keeps its line, and its column unless it follows such a value on its line. Invalid
    YAML is returned as it is.
    """
    values = parameters or {}
    text, references = _without_tags(text, values)
    text = _IN_TEXT.sub(lambda found: values.get(found[1], found[0]), text)

    def whole(found: re.Match[str]) -> str:
        placeholder = _resource(len(references))
        line = text.count("\n", 0, found.start()) + 1
        references.append(Reference(found[3], line, placeholder, found[3]))
        return f'{found[1]}"{placeholder}"'

    return _WHOLE.sub(whole, text), references


def put_back(text: str, references: list[Reference]) -> str:
    """Return *text* with placeholders replaced by their references.

    Raises: Misplaced for one that stands inside another value, such as an expression.
    """
    for reference in references:
        place = re.compile(rf"(?<=: ){re.escape(reference.placeholder)}$", re.MULTILINE)
        text = place.sub(reference.written.replace("\\", r"\\"), text)
        if reference.placeholder in text:
            raise Misplaced(reference)
    return text


def _resource(number: int) -> str:
    return f"acs:fc:::services/any/functions/any-{number + 1}-"


def _without_tags(text: str, values: Mapping[str, str]) -> tuple[str, list[Reference]]:
    if "!" not in text:
        return text, []
    import yaml  # slow to import

    try:
        spans = _spans(yaml, text)
    except (yaml.YAMLError, UnicodeEncodeError):
        return text, []
    references: list[Reference] = []
    replacements: list[str] = []
    for tag, start, end, inner in spans:
        written = _in_one_line(yaml, text[start.index : end.index])
        value = _value(written, values)
        if value is None:
            value = _resource(len(references))
            references.append(Reference(tag, start.line + 1, value, written, tuple(inner)))
        replacements.append(value if _NUMBER.match(value) else json.dumps(value, ensure_ascii=False))
    lines = text.split("\n")
    for (_tag, start, end, _inner), replacement in zip(reversed(spans), reversed(replacements), strict=True):
        last = lines[end.line] if end.line < len(lines) else ""
        rest = last[end.column :]
        between = [""] * (end.line - start.line - 1) + [" " * end.column + rest] if end.line > start.line else []
        first = lines[start.line][: start.column] + replacement
        lines[start.line : end.line + 1] = [first, *between] if between else [first + rest]
    return "\n".join(lines), references


def _spans(yaml: Any, text: str) -> list[tuple[str, Any, Any, list[tuple[str, int]]]]:
    """Return the outermost tagged values: tag, begin, end, and the tags inside with their lines."""
    events: Any = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    spans: list[tuple[str, Any, Any, list[tuple[str, int]]]] = []
    opened: list[bool] = []
    for event in events:
        kind = type(event).__name__
        if kind.endswith("EndEvent") and opened and kind[:1] in "SM" and kind != "StreamEndEvent":
            if opened.pop() and True not in opened:
                tag, start, _end, inner = spans[-1]
                spans[-1] = (tag, start, event.end_mark, inner)
            continue
        is_tagged = (getattr(event, "tag", None) or "")[:1] == "!" and event.tag != "!"
        if is_tagged and True not in opened:
            spans.append((event.tag, event.start_mark, event.end_mark, []))
        elif is_tagged:
            spans[-1][3].append((event.tag, event.start_mark.line + 1))
        if kind in {"SequenceStartEvent", "MappingStartEvent"}:
            opened.append(is_tagged)
    return spans


def _in_one_line(yaml: Any, text: str) -> str:
    if "\n" not in text.strip():
        return text.strip()
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, yaml.CollectionNode):
            each.flow_style = True
            waiting += [part for item in each.value for part in (item if isinstance(item, tuple) else (item,))]
        elif each.style in {"|", ">"}:
            each.style = '"'
    shown: str = yaml.serialize(node, Dumper=yaml.SafeDumper, width=10**6, allow_unicode=True)
    return shown.removesuffix("...\n").strip()


def _value(written: str, values: Mapping[str, str]) -> str | None:
    """Return the value of a reference, None when no parameter gives it."""
    tag, _space, rest = written.partition(" ")
    name = rest.strip("'\"")
    if tag in {"!Ref", "!GetAtt"}:
        return values.get(name)
    if tag == "!Sub" and rest[:1] not in {"[", "{"}:
        text = _IN_TEXT.sub(lambda found: values.get(found[1], found[0]), name)
        return None if _IN_TEXT.search(text) else text
    return None
