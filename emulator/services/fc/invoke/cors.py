"""Cross-origin requests by ``corsConfig`` of a domain or trigger: preflights, and what is added to answers. Pure.

Source: models of 2023-03-30 for the fields; that a domain's configuration comes before a trigger's, and that what the
function says itself is replaced, is assumed.
"""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from emulator.http.message import Pairs, Request

Cors = Mapping[str, Any]


def preflight(cors: Cors, request: Request) -> Pairs | None:
    """Return the header fields that answer a preflight, None when *request* is none.

    An origin or method that is not allowed gets an answer that allows nothing.
    """
    method = request.headers.get("access-control-request-method")
    if request.method != "OPTIONS" or not method or "origin" not in request.headers:
        return None
    told = allowed(cors, request)
    methods = _texts(cors, "allowMethods")
    if not told or not ("*" in methods or method.upper() in {each.upper() for each in methods}):
        return []
    asked = request.headers.get("access-control-request-headers")
    headers = _texts(cors, "allowHeaders")
    told.append(("Access-Control-Allow-Methods", method.upper() if "*" in methods else ", ".join(methods)))
    if headers:
        told.append(("Access-Control-Allow-Headers", (asked or "*") if "*" in headers else ", ".join(headers)))
    if cors.get("maxAge") is not None:
        told.append(("Access-Control-Max-Age", str(cors["maxAge"])))
    return told


def allowed(cors: Cors, request: Request) -> Pairs:
    """Return what an answer to the page of *request* carries, nothing when its origin is not allowed."""
    origin = request.headers.get("origin")
    origins = _texts(cors, "allowOrigins")
    if not origin or not any(fnmatchcase(origin, each) for each in origins):
        return []
    credentials = bool(cors.get("allowCredentials"))
    shown = "*" if "*" in origins and not credentials else origin
    told = [("Access-Control-Allow-Origin", shown), ("Vary", "Origin")]
    if credentials:
        told.append(("Access-Control-Allow-Credentials", "true"))
    if exposed := _texts(cors, "exposeHeaders"):
        told.append(("Access-Control-Expose-Headers", ", ".join(exposed)))
    return told


def laid_over(headers: Pairs, own: Pairs) -> Pairs:
    """Return *headers* of a function's answer with *own* in place of what it says of the same."""
    names = {name.lower() for name, _ in own if name != "Vary"}
    return [pair for pair in headers if pair[0].lower() not in names] + own


def _texts(cors: Cors, name: str) -> Sequence[str]:
    value = cors.get(name)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
