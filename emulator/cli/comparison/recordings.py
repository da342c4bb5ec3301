"""Recordings: HAR files, as browsers and proxies write them and `localyun record` does.

Source: HTTP Archive 1.2. Binary bodies are in base64, which proxies mark with ``encoding`` in requests as well as in
responses.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from emulator import __version__
from emulator.kernel.frozen import frozen
from emulator.kernel.phrases import Phrase

UNKNOWN: Final = -1
"""A size that is not known. Source: HTTP Archive 1.2."""

Pairs = tuple[tuple[str, str], ...]


class NoRecording(ValueError):
    """The text is not a HAR file; the message says why."""


@frozen
class Message:
    """Headers and body of a request or an answer; ``lacks`` is the size of a body missing in the recording."""

    headers: Pairs
    body: bytes
    lacks: int = 0

    def header(self, name: str) -> str:
        """Return the first value of a header by its lower-case name, "" for none."""
        return next((value for key, value in self.headers if key.lower() == name), "")


@frozen
class Exchange:
    """A request and its answer; ``began`` is its time as the recording writes it."""

    method: str
    url: str
    request: Message
    status: int
    answer: Message
    began: str = ""

    @property
    def host(self) -> str:
        """The host of the request, without a port."""
        return urlsplit(self.url).hostname or ""

    @property
    def target(self) -> str:
        """Path and query."""
        parts = urlsplit(self.url)
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def read(text: str) -> list[Exchange]:
    """Return the exchanges of a HAR file, in order; those without an answer are left out.

    Raises: NoRecording.
    """
    try:
        entries = json.loads(text)["log"]["entries"]
        found = [_exchange(entry) for entry in entries]
    except ValueError as error:
        raise NoRecording(str(error)) from error
    except KeyError as error:
        raise NoRecording(Phrase("{name} is missing", name=error.args[0])) from error
    except (TypeError, LookupError, AttributeError) as error:
        raise NoRecording("it is JSON, but not of the form of a HAR file") from error
    return [each for each in found if each.status]


def _exchange(entry: Mapping[str, Any]) -> Exchange:
    request, response = entry["request"], entry["response"]
    content = response.get("content") or {}
    sent, answered = _sent(request.get("postData") or {}), _body(content)
    return Exchange(
        method=str(request["method"]).upper(),
        url=str(request["url"]),
        # browsers omit bodies that are not text, and give their length
        request=_message(request, sent, max(0, int(request.get("bodySize") or 0))),
        status=int(response.get("status") or 0),
        answer=_message(response, answered, int(content.get("size") or 0)),
        began=str(entry.get("startedDateTime") or ""),
    )


def _message(content: Mapping[str, Any], body: bytes, size: int) -> Message:
    return Message(headers=_pairs(content.get("headers")), body=body, lacks=0 if body else size)


def _pairs(headers: Iterable[Mapping[str, Any]] | None) -> Pairs:
    """Return headers without the pseudo-headers of HTTP/2."""
    pairs = ((str(each["name"]), str(each["value"])) for each in headers or ())
    return tuple((name, value) for name, value in pairs if not name.startswith(":"))


def _sent(content: Mapping[str, Any]) -> bytes:
    """Return the body of a request; if only the parameters of a form are recorded, the form made of them."""
    if "text" not in content and content.get("params"):
        from urllib.parse import urlencode  # some browsers record the pairs of a form only

        return urlencode([(each["name"], each.get("value", "")) for each in content["params"]]).encode()
    return _body(content)


def _body(content: Mapping[str, Any]) -> bytes:
    text = str(content.get("text") or "")
    return b64decode(text) if content.get("encoding") == "base64" else text.encode("utf-8", "surrogatepass")


def write(exchanges: Iterable[Exchange], comment: str = "") -> str:
    """Return exchanges as a HAR file."""
    entries = [_entry(each) for each in exchanges]
    creator = {"name": "localyun", "version": __version__}
    log: dict[str, Any] = {"version": "1.2", "creator": creator, "entries": entries}
    if comment:
        log["comment"] = comment
    return json.dumps({"log": log}, indent=1, ensure_ascii=False) + "\n"


def _entry(each: Exchange) -> dict[str, Any]:
    request: dict[str, Any] = {
        "method": each.method,
        "url": each.url,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _named(each.request.headers),
        "queryString": [],
        "headersSize": -1,
        "bodySize": each.request.lacks or len(each.request.body),
    }
    if each.request.body:
        request["postData"] = {"mimeType": each.request.header("content-type"), **_text(each.request.body)}
    return {
        "startedDateTime": each.began or "1970-01-01T00:00:00Z",
        "time": 0,
        "request": request,
        "response": {
            "status": each.status,
            "statusText": "",
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": _named(each.answer.headers),
            "content": {
                "size": each.answer.lacks or len(each.answer.body),
                "mimeType": each.answer.header("content-type"),
                **_text(each.answer.body),
            },
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": len(each.answer.body),
        },
        "cache": {},
        "timings": {"send": 0, "wait": 0, "receive": 0},
    }


def _named(pairs: Pairs) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in pairs]


def _text(body: bytes) -> dict[str, str]:
    try:
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return {"text": b64encode(body).decode("ascii"), "encoding": "base64"}
