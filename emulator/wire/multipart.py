"""Forms with files (``multipart/form-data``), as upload pages and scripts send them. Source: RFC 7578."""

import re

from emulator.http.message import Request
from emulator.kernel.frozen import frozen

_DISPOSITION = r"(?i)\Aform-data\s*;(.*)\Z"
_HEAD_BYTES = 8 * 1024
MOST_FIELDS = 200
_STEP = 8 * 1024 * 1024


class MalformedForm(ValueError):
    """The body is no such form."""


@frozen(kw_only=False)
class FormField:
    """One field: its name, its file name ("" for a plain value), its content type, its bytes."""

    name: str
    filename: str
    content_type: str
    content: bytes

    @property
    def text(self) -> str:
        """Return the bytes as text; bytes that are not UTF-8 become surrogates."""
        return self.content.decode("utf-8", "surrogateescape")


def is_form(content_type: str) -> bool:
    """Whether a body of that type is such a form."""
    return content_type.lstrip().lower().startswith("multipart/form-data")


def read_form(content_type: str, body: bytes) -> list[FormField]:
    """Return the fields in order.

    Raises: MalformedForm.
    """
    match = re.search(r'(?i);\s*boundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))', content_type)
    if not is_form(content_type) or match is None:
        raise MalformedForm("no boundary")
    try:
        mark = b"--" + (match[1] or match[2]).encode("ascii")
    except UnicodeEncodeError:
        raise MalformedForm("the boundary is not ASCII") from None
    at = 0 if body.startswith(mark) else _find(body, b"\r\n" + mark, 0) + 2
    if at == 1:
        raise MalformedForm("the boundary is not in the body")
    fields: list[FormField] = []
    while not body.startswith(b"--", at + len(mark)):
        start = body.find(b"\r\n", at + len(mark)) + 2
        end = _find(body, b"\r\n" + mark, max(start - 2, 0))
        if start < 2 or end < 0 or len(fields) >= MOST_FIELDS:
            raise MalformedForm("a field does not end, or there are too many")
        fields.append(_field(body, start, end))
        at = end + 2
    return fields


def form_of(request: Request) -> list[FormField]:
    """Return the fields of a request's form, read once.

    Raises: MalformedForm.
    """
    if request.fields is None:
        try:
            request.fields = read_form(request.headers.get("content-type"), request.body)
        except MalformedForm as error:
            request.fields = error
    if isinstance(request.fields, MalformedForm):
        raise request.fields
    fields: list[FormField] = request.fields
    return fields


def _find(body: bytes, mark: bytes, start: int) -> int:
    """Return `bytes.find`, in steps between which other threads get their turn."""
    for at in range(start, len(body), _STEP):
        position = body.find(mark, at, at + _STEP + len(mark))
        if position >= 0:
            return position
    return -1


def _field(body: bytes, start: int, end: int) -> FormField:
    head_end = body.find(b"\r\n\r\n", start, min(end + 4, start + _HEAD_BYTES))
    if head_end < 0:
        raise MalformedForm("a field has no head")
    headers = {}
    for line in body[start:head_end].decode("utf-8", "surrogateescape").split("\r\n"):
        key, _, value = line.partition(":")
        headers[key.strip().lower()] = value.strip()
    disposition = re.match(_DISPOSITION, headers.get("content-disposition", ""))
    parameters = disposition[1] if disposition else ""
    name = _parameter(parameters, "name")
    if name is None:
        raise MalformedForm("a field has no name")
    return FormField(
        name, _parameter(parameters, "filename") or "", headers.get("content-type", ""), body[head_end + 4 : end]
    )


def _parameter(text: str, name: str) -> str | None:
    match = re.search(rf'(?i)(?:^|;)\s*{name}="((?:[^"\\]|\\.)*)"', text)
    return re.sub(r"\\(.)", r"\1", match[1]) if match else None
