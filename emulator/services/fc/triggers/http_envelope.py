"""An HTTP request as the JSON event of a built-in runtime of 3.0, and a function's result as an HTTP answer.

Source: Function Compute 3.0, HTTP trigger invocation of event functions; which content types count as text, and what
becomes of results that are no envelope, is assumed.
"""

import json
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from typing import Any, NamedTuple
from urllib.parse import unquote

from emulator.http.message import Pairs, decode_pairs
from emulator.kernel.digits import read_digits
from emulator.services.fc.errors import BadResponse
from emulator.services.fc.invoke.invoking import FunctionCall
from emulator.services.fc.runtime.model import HttpAnswer
from emulator.wire.dates import iso_seconds

_TEXT_ENDINGS = ("json", "xml", "x-www-form-urlencoded", "javascript", "ecmascript", "yaml", "graphql")


class EnvelopeAnswer(NamedTuple):
    """An HTTP answer out of a function's result."""

    http: HttpAnswer
    body: bytes


def render_event(call: FunctionCall, account: str, host: str) -> bytes:
    """Return the event that a built-in runtime gets for the HTTP request of *call*."""
    http = call.http
    assert http is not None
    path, _, query = http.request_uri.partition("?")
    headers = _joined([(canonical(name), value) for name, value in http.headers])
    body, encoded = _body_of(call.event, headers.get("Content-Type", ""))
    event = {
        "version": "v1",
        "rawPath": path,
        "body": body,
        "isBase64Encoded": encoded,
        "headers": headers,
        "queryParameters": _joined(decode_pairs(query)),
        "requestContext": {
            "accountId": account,
            "domainName": host,
            "domainPrefix": host.partition(".")[0],
            "http": {
                "method": http.method,
                "path": unquote(path),
                "protocol": "HTTP/1.1",
                "sourceIp": http.client_ip,
                "userAgent": headers.get("User-Agent", ""),
            },
            "requestId": call.request_id,
            "time": iso_seconds(call.now),
            "timeEpoch": str(call.now),
        },
    }
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def read_result(result: bytes) -> EnvelopeAnswer:
    """Return the answer that a function's result stands for.

    Raises: BadResponse when it is an envelope with parts that make no answer.
    """
    try:
        value = json.loads(result)
    except (ValueError, RecursionError):
        return _raw(result)
    if not isinstance(value, dict) or "statusCode" not in value:
        return EnvelopeAnswer(HttpAnswer(status=200, headers=(("Content-Type", "application/json"),)), result)
    headers = _header_pairs(value.get("headers") or {})
    body = _envelope_body(value)
    if not any(name.lower() == "content-type" for name, _ in headers):
        headers.append(("Content-Type", "application/json" if isinstance(value.get("body"), dict | list) else _TEXT))
    return EnvelopeAnswer(HttpAnswer(status=_status(value["statusCode"]), headers=tuple(headers)), body)


def canonical(name: str) -> str:
    """Return a header name as the platform spells it: ``Content-Type``."""
    return "-".join(part.capitalize() for part in name.split("-"))


def is_text(content_type: str) -> bool:
    """Whether a body of this type goes into the envelope as it is."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind.startswith("text/") or kind.endswith(_TEXT_ENDINGS)


_TEXT = "text/plain; charset=utf-8"


def _joined(pairs: Pairs) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _body_of(body: bytes, content_type: str) -> tuple[str, bool]:
    """Return the body as text, or in base64 when its type or its bytes are no text."""
    if not content_type or is_text(content_type):
        try:
            return body.decode("utf-8"), False
        except UnicodeDecodeError:
            pass  # called text and is none: base64 keeps every byte
    return b2a_base64(body, newline=False).decode("ascii"), True


def _raw(result: bytes) -> EnvelopeAnswer:
    try:
        result.decode("utf-8")
    except UnicodeDecodeError:
        kind = "application/octet-stream"
    else:
        kind = _TEXT
    return EnvelopeAnswer(HttpAnswer(status=200, headers=(("Content-Type", kind),)), result)


def _status(value: Any) -> int:
    if isinstance(value, str):
        value = read_digits(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadResponse(reason="statusCode is not a number")
    return value


def _header_pairs(headers: Any) -> list[tuple[str, str]]:
    """Return header fields; a list stands for a field that comes several times, as cookies do."""
    if not isinstance(headers, dict):
        raise BadResponse(reason="headers is not an object")
    pairs = []
    for name, value in headers.items():
        values = value if isinstance(value, list) else [value]
        for item in values:
            text = item if isinstance(item, str) else json.dumps(item)
            pairs.append((name, text))
    return pairs


def _envelope_body(value: dict[str, Any]) -> bytes:
    body = value.get("body")
    if body is None:
        return b""
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    octets = text.encode("utf-8", "replace")
    if value.get("isBase64Encoded") is not True:
        return octets
    try:
        return a2b_base64(octets, strict_mode=True)
    except Base64Error:
        raise BadResponse(reason="body is not valid base64") from None
