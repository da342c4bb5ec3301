"""Redaction of recordings, so that they can be given to others.

Nothing is searched for; everything is removed except what is known to be the service's. A word stays when it is part of
the interface (names of attributes, operations, errors, headers, kinds, runtimes); every other word becomes a pseudonym,
always the same, so that relations remain. Payloads are removed as a whole.
"""

import ast
import io
import json
import re
import zipfile
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from emulator.cli.comparison.answers import READ_HEADERS, content_of
from emulator.cli.comparison.calls import call_of
from emulator.cli.comparison.recordings import Exchange, Message
from emulator.gateway.admin import SCHEMAS
from emulator.wire.xml import Element, MalformedXml, parse, render

HOSTS: Final = {
    "fc": "0.cn-hangzhou.fc.aliyuncs.com",
    "fnf": "cn-hangzhou.fnf.aliyuncs.com",
    "mns": "0.mns.cn-hangzhou.aliyuncs.com",
    "mns-open": "mns-open.cn-hangzhou.aliyuncs.com",
    "ram": "ram.aliyuncs.com",
    "sts": "sts.cn-hangzhou.aliyuncs.com",
}
"""The hosts of redacted requests; the original ones contain the account and the region."""

_HEADERS: Final = READ_HEADERS | {
    "accept", "x-acs-action", "x-acs-version", "x-fc-invocation-type", "x-fc-log-type",
    "x-fc-stateful-async-invocation-id", "x-mns-prefix", "x-mns-ret-number", "x-mns-with-meta",
}  # fmt: skip

_DROPPED: Final = frozenset(
    {"AccessKeyId", "Signature", "SignatureNonce", "SecurityToken", "Timestamp", "SignatureMethod", "SignatureVersion",
     "SignatureType"}
)  # fmt: skip
"""Parameters of a signature, which is made again."""

_PAYLOADS: Final = frozenset({"messagebody", "input", "output", "event", "payload", "local", "body", "errormessage"})
"""Names, in lower case, of users' payloads, which are removed as a whole."""

_MAPS: Final = frozenset({"environmentvariables", "tags", "labels", "userproperties", "annotations"})
"""Names of maps whose keys are the users' too."""

_CODE: Final = frozenset({"zipfile", "code"})
_HANDLER: Final = "def handler(event, context):\n    return event\n"
"""Replaces code: a function that returns its event, which works with redacted payloads."""

_WORD: Final = re.compile(r"[^\s:/.,;=?&{}\[\]\"'<>()|$@!#*\\]+")
_NUMBER: Final = re.compile(r"-?\d{1,6}(?:\.\d{1,3})?")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?")
_PLAIN_TIME: Final = "2026-01-01T00:00:00Z"
_MILLISECONDS: Final = 1_767_225_600_000
_LARGEST: Final = 10_000_000
"""Larger numbers could identify an account or a person; they are replaced by the beginning of 2026."""


class Redaction:
    """Redacts recordings; a word has the same pseudonym in all of them."""

    def __init__(self) -> None:
        self._pseudonyms: dict[str, str] = {}

    def redacted(self, exchanges: Iterable[Exchange]) -> list[Exchange]:
        """Return the exchanges that are calls of a compared service, redacted."""
        pairs = ((each, call_of(each)) for each in exchanges)
        return [self._exchange(each, call.service, call.operation) for each, call in pairs if call.service]

    def _exchange(self, each: Exchange, service: str, operation: str) -> Exchange:
        calls_function = operation == "InvokeFunction" or "/proxy/" in each.url
        return Exchange(
            method=each.method if each.method in _METHODS else "POST",
            url=f"https://{HOSTS[service]}{self._target(each)}",
            request=self._message(each.request, payload=calls_function),
            status=each.status,
            answer=self._message(each.answer, payload=calls_function and each.status < 400),
        )

    def _target(self, each: Exchange) -> str:
        parts = urlsplit(each.url)
        path = "/".join(quote(self.text(unquote(segment)), safe="$") for segment in (parts.path or "/").split("/"))
        query = parse_qsl(parts.query, keep_blank_values=True)
        kept = [(self.text(name), self._value(name, value)) for name, value in query if name not in _DROPPED]
        return path + (f"?{urlencode(kept, quote_via=quote)}" if kept else "")

    def _message(self, message: Message, *, payload: bool) -> Message:
        headers = tuple(
            (name.lower(), self.text(value.partition(";")[0].strip() if name.lower() == "content-type" else value))
            for name, value in message.headers
            if name.lower() in _HEADERS
        )
        kind = message.header("content-type")
        if not message.body:
            body = b""
        elif payload:
            body = b"{}"
        elif "x-www-form-urlencoded" in kind:
            pairs = parse_qsl(message.body.decode("utf-8", "replace"), keep_blank_values=True)
            kept = [(self.text(name), self._value(name, value)) for name, value in pairs if name not in _DROPPED]
            body = urlencode(kept, quote_via=quote).encode()
        else:
            body = self._body(message)
        return Message(headers=headers, body=body, lacks=message.lacks)

    def _body(self, message: Message) -> bytes:
        content = content_of(message)
        if isinstance(content, str):
            return b"redacted"
        if message.body.lstrip()[:1] == b"<":
            try:
                return render(self._element(parse(message.body.strip())))
            except MalformedXml:
                return b"redacted"
        return json.dumps(self._json("", content)).encode()

    def _element(self, element: Element) -> Element:
        text = "" if element.children else self._value(element.name, element.text)
        return Element(self.text(element.name), text, map(self._element, element.children))

    def _json(self, name: str, value: Any) -> Any:
        if name.lower() in _PAYLOADS and not isinstance(value, str):
            return type(value)()
        if isinstance(value, dict) and name.lower() in _MAPS:
            return {self._every_word(key): self._any_word(each) for key, each in value.items()}
        if isinstance(value, dict):
            return {self.text(key): self._json(key, each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._json(name, each) for each in value]
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, int | float):
            if name == "codeSize":
                return len(plain_code())
            if name not in vocabulary():
                return type(value)(1)
            return value if abs(value) < _LARGEST else _MILLISECONDS
        return self._value(name, value)

    def _value(self, name: str, value: str) -> str:
        """Return the redacted value of an attribute; payloads are removed as a whole."""
        if name.lower() in _PAYLOADS:
            return "{}" if value.startswith(("{", "[")) else "redacted" if value else ""
        if name not in vocabulary():
            return self._every_word(value)
        if name.lower() in _CODE and len(value) > _SHORTEST_CODE:
            return b64encode(plain_code()).decode("ascii")
        if value.startswith(("{", "[")):
            try:
                return json.dumps(self._json(name, json.loads(value)))
            except ValueError:
                pass
        return self.text(value)

    def text(self, text: str) -> str:
        """Return a text with every word that is not the service's replaced by its pseudonym."""
        if text in vocabulary() or _NUMBER.fullmatch(text):
            return text
        if _TIME.fullmatch(text):
            return _PLAIN_TIME
        if text.isdigit() and len(text) in {10, 13}:
            return str(_MILLISECONDS)[: len(text)]
        return _WORD.sub(lambda found: self._word(found[0]), text)

    def _every_word(self, text: str) -> str:
        """Return a text that is the user's own, with every word replaced."""
        return _WORD.sub(lambda found: self._pseudonym(found[0]), text)

    def _any_word(self, value: Any) -> str:
        """Return a value in a user's map with every word replaced; values other than text by the text of their JSON."""
        return self._every_word(value if isinstance(value, str) else json.dumps(value))

    def _word(self, word: str) -> str:
        if word in vocabulary() or not any(map(str.isalnum, word)):
            return word
        return self._pseudonym(word)

    def _pseudonym(self, word: str) -> str:
        return self._pseudonyms.setdefault(word, f"name{len(self._pseudonyms) + 1:04}")


@cache
def plain_code() -> bytes:
    """Return the package that replaces every package."""
    package = io.BytesIO()
    with zipfile.ZipFile(package, "w") as archive:
        archive.writestr(zipfile.ZipInfo("index.py"), _HANDLER)
    return package.getvalue()


_SHORTEST_CODE: Final = 40
_METHODS: Final = frozenset({"GET", "PUT", "POST", "DELETE", "HEAD", "PATCH", "OPTIONS"})


@cache
def vocabulary() -> frozenset[str]:
    """Return the words of the interface, taken from the emulator's source and its schemas.

    A word is a whole text of the services' source, such as a name of an attribute, an operation, an error or a state;
    prose is left out.
    """
    words = set(_BESIDE)
    for schema in sorted(SCHEMAS.glob("*.json")):
        _gather(json.loads(schema.read_text(encoding="utf-8")), words)
    for file in sorted(path for part in _PARTS for path in (_PACKAGE / part).rglob("*.py")):
        words.update(_texts_of(ast.parse(file.read_text(encoding="utf-8"))))
    return frozenset(word for word in words if not word.isdigit())


_PACKAGE: Final = SCHEMAS.parent
_PARTS: Final = ("services", "wire", "auth", "gateway", "deploy")
_BESIDE: Final = (
    "acs",
    "cn-hangzhou",
    "aliyuncs",
    "com",
    "index",
    "handler",
    "application",
    "json",
    "xml",
    "text",
    "plain",
)
_TEXT: Final = re.compile(r"[A-Za-z0-9$][\w./-]{0,60}")


def _texts_of(tree: ast.AST) -> Iterator[str]:
    """Yield the texts in a module that consist of words only; routes and the like in their parts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value:
            text = re.sub(r"\{\w+\}", "", node.value)
            if _TEXT.fullmatch(text):
                yield text
            if " " not in text or text.split(" ")[0] in _METHODS:
                yield from _WORD.findall(text)
        elif isinstance(node, ast.keyword) and node.arg is not None:
            yield node.arg  # the names of keyword arguments are members too


def _gather(schema: Any, words: set[str]) -> None:
    """Collect the names and choices in a JSON Schema, without its prose."""
    if isinstance(schema, list):
        for each in schema:
            _gather(each, words)
    elif isinstance(schema, dict):
        for key, value in schema.items():
            if key == "properties" and isinstance(value, dict):
                words.update(value)
            if key in {"enum", "const"}:
                words.update(each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str))
            _gather(value, words)
