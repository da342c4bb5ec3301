"""Requests and answers of the API's three versions: paths, query items, JSON bodies, page tokens.

2016-08-15 and 2021-04-06 have services with functions in them (2.0); 2023-03-30 has functions only (3.0). Operations
that exist in several versions are written once; `api_of` and the names in the path say which version a call speaks.
"""

import json
import re
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from emulator.http.message import Request, Response
from emulator.kernel.digits import read_digits
from emulator.kernel.paging import Range, cut
from emulator.services.fc import limits
from emulator.services.fc.errors import EntityTooLarge, InvalidArgument
from emulator.services.fc.model import LATEST, Dated, FunctionRef, Scope, Slice
from emulator.wire import large_json
from emulator.wire.dates import iso_seconds
from emulator.wire.request import OperationRequest
from emulator.wire.schema.json_bodies import JsonBodies, short
from emulator.wire.schema.kinds import TEXT, Items, Text, record

T = TypeVar("T")

V2016, V2021, V2023 = "2016-08-15", "2021-04-06", "2023-03-30"
WITH_SERVICES = (V2016, V2021)

OF_SERVICE = "/services/{service}/functions/{function}"
"""The path of a function in a service, as a template of routes."""
EVERY_API = (V2016, V2021, V2023)

BODY = JsonBodies("json", InvalidArgument)
"""The notation of JSON bodies; the versions of the API differ in their shapes only."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_TAGS = Items(record(key=Text(shortest=1), value=TEXT))
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
LARGE_BODY = 256 * 1024
"""A body from this size on is parsed in a thread; a package of megabytes would hold up the loop."""


def api_of(call: OperationRequest) -> str:
    """Return the version of the API in the path, 2016-08-15 when the path names none."""
    version = call.http.path[1:11]
    return version if version in {V2021, V2023} and call.http.path[11:12] == "/" else V2016


def valid_text(text: str) -> str:
    """Return *text* with question marks for bytes that are not UTF-8; no resource has such a name."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def service_of(call: OperationRequest) -> str:
    """Return the service in the path without its qualifier, empty for a function of 3.0."""
    return call.path.get("service", "").partition(".")[0]


def writable_service(call: OperationRequest) -> str:
    """Return the service in the path of a changing operation, which must not name a version; empty in 3.0.

    Raises: InvalidArgument.
    Source: assumed.
    """
    service = call.path.get("service", "")
    if "." in service:
        raise InvalidArgument(f"'{service}' is invalid: a version or alias cannot be changed this way")
    return service


def function_of(call: OperationRequest) -> tuple[str, str]:
    """Return service (empty in 3.0) and function in the path."""
    return service_of(call), call.path["function"]


def qualifier_of(call: OperationRequest) -> str | None:
    """Return the qualifier: ``service.qualifier`` in the path, else the query item."""
    return call.path.get("service", "").partition(".")[2] or query(call, "qualifier") or None


def ref_of(call: OperationRequest) -> FunctionRef:
    """Return the function and the qualifier that the path and the query name, ``LATEST`` where they name none."""
    return FunctionRef(call.tenant, *function_of(call), qualifier_of(call) or LATEST)


def owner_of(call: OperationRequest) -> Scope:
    """Return the owner of versions and aliases that the path names.

    Raises: InvalidArgument when the path has a qualifier.
    """
    service = writable_service(call)
    return Scope(service=service) if service else Scope(function=call.path["function"])


def if_match(call: OperationRequest) -> str:
    """Return the ETag the caller expects, empty when none and in 3.0, which has no ETags."""
    return "" if api_of(call) == V2023 else call.header("if-match")


def query(call: OperationRequest, name: str) -> str:
    """Return a query item, empty when it is absent."""
    return valid_text(call.query.get(name, ""))


def whole_number(call: OperationRequest, name: str) -> int | None:
    """Return a query item that is a whole number, None when it is absent.

    Raises: InvalidArgument.
    """
    return parse_number(query(call, name), name)


def parse_number(value: str, name: str) -> int | None:
    """Read a whole number of up to 16 digits, None for an empty text.

    Raises: InvalidArgument.
    """
    if not value:
        return None
    number = read_digits(value, 16)
    if number is None:
        raise InvalidArgument(f"{name} '{value[:40]}' is invalid: it must be a whole number")
    return number


def page_size(call: OperationRequest, name: str = "limit", allowed: Range = limits.LIST) -> int:
    """Return the page size the caller wants.

    Raises: InvalidArgument.
    """
    value = query(call, name)
    if not value:
        return allowed.default
    number = read_digits(value)
    if number is None or not allowed.contains(number):
        raise InvalidArgument(f"{name} '{value[:40]}' is invalid: it must be from {allowed.low} to {allowed.high}")
    return number


def slice_of(call: OperationRequest, tags: Mapping[str, str] | None = None) -> Slice:
    """Return the part of a list of names that ``limit``, ``nextToken``, ``startKey`` and ``prefix`` select.

    Raises: InvalidArgument.
    """
    start = max(page_marker(call), query(call, "startKey"))
    return Slice(limit=page_size(call), start=start, prefix=query(call, "prefix"), tags=tags or {})


def page_marker(call: OperationRequest, name: str = "nextToken") -> str:
    """Return the marker that the opaque token *name* encodes, empty when there is none.

    Raises: InvalidArgument.
    """
    token = query(call, name)
    if not token:
        return ""
    try:
        return b64decode(token + "=" * (-len(token) % 4), b"-_", validate=True).decode("utf-8")
    except ValueError:
        raise InvalidArgument(f"{name} '{token[:80]}' is invalid") from None


def next_token(marker: str | None) -> str:
    """Return the opaque token for the item a list goes on with, empty at the end."""
    return urlsafe_b64encode(marker.encode()).decode().rstrip("=") if marker else ""


def page_answer(name: str, rows: list[Any] | None, marker: str | None, **more: Any) -> Response:
    """Return a part of a list under *name*, with ``nextToken`` only where there is another part.

    Clients loop while the token is not null, and an empty token starts the list again.

    Source: fc-java-sdk, loops of its suite; fc-python-sdk test/provision_test.py, which wants no such member.
    """
    body: dict[str, Any] = {name: rows, **more}
    if marker:
        body["nextToken"] = next_token(marker)
    return json_answer(body)


def list_answer(
    name: str,
    found: Sequence[T],
    limit: int,
    render: Callable[[T], Any],
    key: Callable[[T], str] = attrgetter("name"),
    **more: Any,
) -> Response:
    """Return a page of *found* under *name*; *found* has one item more than *limit* when there is another page.

    *key* returns the marker of an item, from which the next page begins; see `page_answer`.
    """
    page = cut(found, limit, key)
    return page_answer(name, [render(item) for item in page.items], page.next_marker, **more)


def truth(value: object) -> bool:
    """Read a boolean of a query or body, in any spelling clients use; anything else is false."""
    return value is True or (isinstance(value, str) and value.lower() == "true")


def json_list(value: str, field: str) -> list[Any]:
    """Read a list-valued query parameter, which is JSON text; a bare value is a list of one.

    Raises: InvalidArgument.
    """
    if not value:
        return []
    if value[0] != "[":
        return [value]
    try:
        parsed = json.loads(value)
    except ValueError:
        raise InvalidArgument(f"{field} is not a JSON list") from None
    return parsed if isinstance(parsed, list) else []


def json_body(call: OperationRequest) -> dict[str, Any]:
    """Return the JSON object in the body; an empty body is an empty object.

    Raises: InvalidArgument; EntityTooLarge when a large body has too much JSON around its long text, such as a package.
    """
    if call.document is not None:
        document: dict[str, Any] = call.document
        return document
    return _parse(call.http.body)


def _parse(body: bytes) -> dict[str, Any]:
    if not body:
        return {}
    try:
        parsed = _decode(body) if len(body) < LARGE_BODY else large_json.loads(body, _decode)
    except large_json.TooMuchStructure:
        raise EntityTooLarge(limit=large_json.STRUCTURE_BYTES) from None
    except (ValueError, RecursionError):
        raise InvalidArgument("the request body is not valid JSON") from None
    if not isinstance(parsed, dict):
        raise InvalidArgument("the request body must be a JSON object")
    return parsed


def _decode(body: bytes) -> Any:
    parsed = json.loads(body.decode("utf-8-sig"))
    if b"\\" in body:  # half of a surrogate pair is no text: it could be neither stored nor answered
        json.dumps(parsed, ensure_ascii=False).encode()
    return parsed


def check_name(value: Any, field: str, longest: int = limits.SERVICE_NAME_LENGTH) -> str:
    """Check the name of a service, function or alias."""
    if not isinstance(value, str) or not value:
        raise InvalidArgument(f"{field} is required")
    if len(value) > longest or not _NAME.fullmatch(value):
        raise InvalidArgument(
            f"{field} '{short(value)}' is invalid: it must have 1 to {longest} letters, digits, '_' and '-' "
            "and must not start with a digit or '-'"
        )
    return value


def tag_filter(value: object, field: str) -> dict[str, str | None]:
    """Read ``[{"Key": ..., "Value": ...}]``, in upper or lower case; None for a key without a value.

    Raises: InvalidArgument.
    """
    rows = BODY.reader(_TAGS)(value, field)
    for row in rows:
        if "key" not in row:
            raise InvalidArgument(f"{field} must be a list of objects with Key and Value")
    return {row["key"]: row.get("value") for row in rows}


def tag_pairs(value: object, field: str) -> dict[str, str]:
    """Read ``[{"Key": ..., "Value": ...}]``, in upper or lower case.

    Raises: InvalidArgument.
    """
    return {key: value or "" for key, value in tag_filter(value, field).items()}


def json_answer(body: Mapping[str, Any], etag: str = "") -> Response:
    """Return a 200 with a JSON body."""
    headers = [("Content-Type", "application/json")]
    if etag:
        headers.append(("Etag", etag))
    return Response(200, encode(body), headers)


def tagged_answer(call: OperationRequest, body: Mapping[str, Any], etag: str) -> Response:
    """Return a 200 with a JSON body and the resource's *etag*, which is left out in 3.0.

    Source: the classic SDKs and alibabacloud_fc_open20210406; alibabacloud_fc20230330 knows neither header.
    """
    return json_answer(body, "" if api_of(call) == V2023 else etag)


def times_of(resource: Dated) -> dict[str, str]:
    """Return the members of answers with the times at which a resource was created and last changed."""
    return {"createdTime": iso_seconds(resource.created_at), "lastModifiedTime": iso_seconds(resource.modified_at)}


def no_content() -> Response:
    """Return the answer of a deletion."""
    return Response(204)


def encode(body: Mapping[str, Any]) -> bytes:
    """Write a JSON body; lone surrogates from odd requests must not break an answer."""
    return _encode(body).encode("utf-8", "replace")


PLACES = ("header", "query", "form", "cookie")


def value_at(request: Request, place: str, name: str) -> str | None:
    """Return the value called *name* at *place*, one of `PLACES`; None when there is none.

    Of several header fields the first counts, of several parameters the last.
    """
    match place:
        case "header":
            return next(iter(request.headers.all(name.lower())), None)
        case "query":
            return dict(request.query_pairs).get(name)
        case "form":
            return dict(request.form_pairs).get(name)
        case "cookie":
            return _cookie(request, name)
        case _:
            raise ValueError(f"{place!r} is not a place in a request")


def _cookie(request: Request, name: str) -> str | None:
    from http.cookies import CookieError, SimpleCookie  # here, because few rules look into cookies

    try:
        morsel = SimpleCookie("; ".join(request.headers.all("cookie"))).get(name)
    except CookieError:
        return None
    return None if morsel is None else morsel.value
