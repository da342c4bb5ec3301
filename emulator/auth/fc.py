"""FC, the scheme of Function Compute's first API: HMAC-SHA256 over verb, three headers, ``x-fc-*`` and resource.

The resource of the control plane and of invocations is the decoded path alone: query and body are not covered. For
HTTP triggers it is the path and the parameters, one per line, sorted. A signed URL carries key id, expiry and
signature in the query; the expiry stands where the date would.

Source: function compute "Signature authentication"; fc2 (Python, Node), fc-go-sdk, gateway-fc-util.
"""

import re
from urllib.parse import unquote, unquote_plus

from emulator.auth.signed_request import (
    SignedRequest,
    SignedTexts,
    base64_hmac,
    id_and_signature,
    read_expiry,
    read_http_date,
    required,
    signed_head,
    signed_lines,
)
from emulator.http.message import Request
from emulator.kernel.clock import Millis
from emulator.kernel.errors import Reason

NAME = "FC"

_API_PATH = re.compile(r"/20\d\d-\d\d-\d\d/(?!proxy/)")


def sign(secret: str, string: str) -> str:
    """Return the signature of *string*."""
    return base64_hmac(secret, string, "sha256")


def signed_request(request: Request) -> SignedRequest | None:
    """Read who signed *request*; None when it has neither an ``FC`` authorization nor a signed trigger URL.

    Raises: AuthFailure for a request with something missing.
    """
    headers = request.headers
    authorization = headers.get("authorization")
    if not authorization.startswith("FC "):
        return _signed_of_url(request)
    date_text = headers.get("date")
    date = read_http_date(date_text, NAME)  # the service checks the date first
    key_id, signature = id_and_signature(authorization, NAME)
    return SignedRequest(
        scheme=NAME,
        key_id=key_id,
        signature=signature,
        texts=texts(request, date_text),
        sign=sign,
        token=headers.get("x-fc-security-token"),
        date=date,
        date_text=date_text,
    )


def _signed_of_url(request: Request) -> SignedRequest | None:
    if request.query is None or "x-fc-signature" not in request.query or not is_trigger(request):
        return None
    query = dict(request.query_pairs)
    if "x-fc-signature" not in query:
        return None
    expires = query.get("x-fc-expires", "")
    return SignedRequest(
        scheme=NAME,
        key_id=required(query.get("x-fc-access-key-id", ""), Reason.MISSING_KEY_ID, NAME, "x-fc-access-key-id"),
        signature=required(query["x-fc-signature"], Reason.MISSING_SIGNATURE, NAME, "x-fc-signature"),
        deadline=read_expiry(expires, NAME),
        texts=texts(request, expires),
        sign=sign,
        token=query.get("x-fc-security-token") or request.headers.get("x-fc-security-token"),
        date_text=expires,
    )


def is_trigger(request: Request) -> bool:
    """Whether *request* goes to an HTTP trigger (a proxy path or a domain of its own) and so signs its query."""
    return _API_PATH.match(request.decoded_path if "%" in request.path else request.path) is None


def texts(request: Request, date: str) -> SignedTexts:
    """Yield what may have been signed; *date* is the ``Date`` header, or the expiry of a signed URL."""
    head = _head(request, date)
    path = request.path
    decoded = request.decoded_path if "%" in path else path
    if not is_trigger(request):
        yield head + decoded, ""
        if decoded != path:  # one client signs the path without decoding it
            yield head + path, ""
        return
    parts = [part for part in (request.query or "").split("&") if _name_of(part) != "x-fc-signature"]
    lines = "\n".join(sorted(_line(part) for part in parts if part))
    yield f"{head}{decoded}\n{lines}", ""
    # gateway-fc-util: the order they were sent in, plus signs kept
    yield f"{head}{decoded}\n" + "\n".join(unquote(part, errors="surrogateescape") for part in parts), ""
    # @alicloud/fc2: the path still encoded
    yield f"{head}{path}\n{lines}", ""


def _head(request: Request, date: str) -> str:
    return signed_head(request, date) + signed_lines(request.headers.starting_with("x-fc-"))


def _name_of(part: str) -> str:
    return unquote_plus(part.partition("=")[0], errors="surrogateescape")


def _line(part: str) -> str:
    name, mark, value = part.partition("=")
    return _name_of(name) + mark + unquote_plus(value, errors="surrogateescape")


def authorization(request: Request, key_id: str, secret: str) -> str:
    """Return the ``Authorization`` header for *request*, whose other headers (``Date`` among them) are complete."""
    return f"{NAME} {key_id}:{sign(secret, next(texts(request, request.headers.get('date')))[0])}"


def signed_query(
    request: Request, key_id: str, secret: str, expires: Millis, token: str | None = None
) -> list[tuple[str, str]]:
    """Return the query (decoded pairs) of a trigger URL that anybody may call with *request*'s verb until *expires*."""
    query = [*request.query_pairs, ("x-fc-access-key-id", key_id), ("x-fc-expires", str(expires // 1000))]
    if token:
        query.append(("x-fc-security-token", token))
    lines = "\n".join(sorted(f"{name}={value}" for name, value in query))
    string = f"{_head(request, str(expires // 1000))}{request.decoded_path}\n{lines}"
    return [*query, ("x-fc-signature", sign(secret, string))]
