"""One request on its way through a dialect: what was asked, in decoded pieces, and how answers are written."""

import json
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from emulator.http.message import Request, Response
from emulator.kernel.clock import Millis
from emulator.kernel.identity import Tenant
from emulator.services.fc import checks, limits
from emulator.services.fc.catalog.fields import Field, read
from emulator.services.fc.catalog.store import Slice
from emulator.services.fc.checks import shape, text
from emulator.services.fc.code.store import CodeSource
from emulator.services.fc.dialects.routing import valid_text
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.limits import DESCRIPTION_LENGTH
from emulator.services.fc.model import Scope
from emulator.wire.request import OperationRequest

if TYPE_CHECKING:
    from emulator.services.fc.service import FunctionCompute


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_LARGE_BODY = 256 * 1024
"""A body from this size on is parsed in a thread; a package of megabytes would hold up the loop."""


class Exchange:
    """A request, the path segments its route named, and the service it is for."""

    __slots__ = ("_path", "_query", "context", "service")

    def __init__(self, service: "FunctionCompute", context: OperationRequest, path: Mapping[str, str]) -> None:
        self.service = service
        self.context = context
        self._path = path
        self._query: dict[str, str] | None = None

    # --- what was asked ------------------------------------------------------------------------------------------

    @property
    def tenant(self) -> Tenant:
        """Whose resources, and where."""
        return self.context.tenant

    @property
    def now(self) -> Millis:
        """When the request came."""
        return self.context.now

    @property
    def if_match(self) -> str:
        """The ETag the caller expects, empty when none."""
        return self.context.http.headers.get("if-match")

    def segment(self, name: str) -> str:
        """Return a path segment."""
        return self._path[name]

    def query(self, name: str) -> str:
        """Return a query parameter, empty when it is not there."""
        return self.queries().get(name, "")

    def queries(self) -> dict[str, str]:
        """Return all query parameters."""
        if self._query is None:
            pairs = self.context.http.query_pairs
            self._query = {name: valid_text(value) for name, value in pairs}
        return self._query

    @property
    def has_service(self) -> bool:
        """Whether the path names a service."""
        return "service" in self._path

    @property
    def service_name(self) -> str:
        """The service in the path, without its qualifier."""
        return self._path["service"].partition(".")[0]

    @property
    def qualifier(self) -> str | None:
        """The qualifier: ``service.qualifier`` in the path, else the query parameter."""
        return self._path.get("service", "").partition(".")[2] or self.query("qualifier") or None

    @property
    def scope(self) -> Scope:
        """The owner of versions and aliases that the path names.

        Raises: InvalidArgument when the path has a qualifier.
        """
        if "service" not in self._path:
            return Scope(function=self._path["function"])
        return Scope(service=self.writable_service())

    def writable_service(self) -> str:
        """Return the service in the path of a changing operation, which must not name a version of it.

        Raises: InvalidArgument.
        Source: assumed.
        """
        if "." in self._path["service"]:
            raise InvalidArgument(
                f"'{self._path['service']}' is invalid: a version or alias cannot be changed this way"
            )
        return self._path["service"]

    # --- bodies --------------------------------------------------------------------------------------------------

    def body(self) -> dict[str, Any]:
        """Return the JSON object in the body; an empty body is an empty object.

        Raises: InvalidArgument.
        """
        return _parse(self.context.http.body)

    async def large_body(self) -> dict[str, Any]:
        """Return the JSON object in a body that may hold a code package.

        Raises: InvalidArgument.
        """
        body = self.context.http.body
        if len(body) < _LARGE_BODY:
            return _parse(body)
        return await self.service.codes.in_thread(lambda: _parse(body))

    # --- lists ---------------------------------------------------------------------------------------------------

    def limit(self, name: str = "limit") -> int:
        """Return the page size asked for.

        Raises: InvalidArgument.
        """
        text = self.query(name)
        if not text:
            return limits.LIST.default
        if not text.isascii() or not text.isdigit() or not limits.LIST.contains(int(text[:9])):
            raise InvalidArgument(f"{name} '{text[:40]}' is invalid: it must be from 1 to {limits.LIST.high}")
        return int(text)

    def part(self, tags: Mapping[str, str] | None = None) -> Slice:
        """Return the part of a list of names asked for by ``limit``, ``nextToken``, ``startKey`` and ``prefix``.

        Raises: InvalidArgument.
        """
        start = max(self.marker(), self.query("startKey"))
        return Slice(limit=self.limit(), start=start, prefix=self.query("prefix"), tags=tags or {})

    def marker(self, name: str = "nextToken") -> str:
        """Return what the opaque token stands for, empty when there is none.

        Raises: InvalidArgument.
        """
        token = self.query(name)
        if not token:
            return ""
        try:
            return b64decode(token + "=" * (-len(token) % 4), b"-_", validate=True).decode("utf-8")
        except ValueError:
            raise InvalidArgument(f"{name} '{token[:80]}' is invalid") from None

    # --- answers -------------------------------------------------------------------------------------------------

    def answer(self, body: Mapping[str, Any], etag: str = "") -> Response:
        """Return a 200 with a JSON body."""
        headers = [("Content-Type", "application/json")]
        if etag:
            headers.append(("Etag", etag))
        return Response(200, encode(body), headers)


def no_content() -> Response:
    """Return the answer of a deletion."""
    return Response(204)


def encode(body: Mapping[str, Any]) -> bytes:
    """Write a JSON body; lone surrogates from odd requests must not break an answer."""
    return _encode(body).encode("utf-8", "replace")


def next_token(marker: str | None) -> str:
    """Return the opaque token for the item a list goes on with, empty at the end."""
    return urlsafe_b64encode(marker.encode()).decode().rstrip("=") if marker else ""


def _parse(body: bytes) -> dict[str, Any]:
    if not body:
        return {}
    try:
        parsed = json.loads(body.decode("utf-8-sig"))
        if b"\\" in body:  # half of a surrogate pair is no text: it could be neither stored nor answered
            json.dumps(parsed, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise InvalidArgument("the request body is not valid JSON") from None
    if not isinstance(parsed, dict):
        raise InvalidArgument("the request body must be a JSON object")
    return parsed


DESCRIPTION = Field("description", "description", text(DESCRIPTION_LENGTH))

_CODE = shape(zipFile=text(), ossBucketName=text(), ossObjectName=text(), checksum=text())


def code_source(body: Mapping[str, Any], checksum_header: str = "") -> CodeSource | None:
    """Return where the code is, None when the body has none; the checksum comes from the header or from the body.

    Raises: InvalidArgument unless exactly one of zip and object is given.
    """
    given = next((value for key, value in body.items() if key.lower() == "code"), None)
    if given is None:
        return None
    code = _CODE(given, "code")
    package = code.get("zipFile", "")
    bucket, name = code.get("ossBucketName", ""), code.get("ossObjectName", "")
    if not package and not bucket and not name:
        return None
    if package and (bucket or name):
        raise InvalidArgument("code must have either zipFile or ossBucketName and ossObjectName, not both")
    if not package and not (bucket and name):
        raise InvalidArgument("code.ossBucketName and code.ossObjectName must be given together")
    checksum = checksum_header.strip() or code.get("checksum", "")
    return CodeSource(zip_base64=package, bucket=bucket, object_name=name, checksum=checksum)


def description(body: Mapping[str, Any]) -> str:
    """Return the description in a publish request.

    Raises: InvalidArgument.
    """
    return str(read((DESCRIPTION,), body).get("description", ""))


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


def tag_filter(value: object, field: str) -> dict[str, str | None]:
    """Read ``[{"Key": ..., "Value": ...}]``, in upper or lower case; None for a key without a value.

    Raises: InvalidArgument.
    """
    rows = checks.items(shape(key=text(shortest=1), value=text()))(value, field)
    for row in rows:
        if "key" not in row:
            raise InvalidArgument(f"{field} must be a list of objects with Key and Value")
    return {row["key"]: row.get("value") for row in rows}


def tag_pairs(value: object, field: str) -> dict[str, str]:
    """Read ``[{"Key": ..., "Value": ...}]``, in upper or lower case.

    Raises: InvalidArgument.
    """
    return {key: value or "" for key, value in tag_filter(value, field).items()}


PLACES = ("header", "query", "form", "cookie")


def value_at(request: Request, place: str, name: str) -> str | None:
    """Return the value called *name* at *place*, one of `PLACES`; None when there is none.

    Of several header fields the first counts, of several parameters the last.
    """
    match place:
        case "header":
            return request.headers.get(name.lower()) if name.lower() in request.headers else None
        case "query":
            return dict(request.query_pairs).get(name)
        case "form":
            return dict(request.form_pairs).get(name)
        case "cookie":
            return _cookie(request, name)
        case _:
            raise ValueError(f"{place!r} is no place in a request")


def _cookie(request: Request, name: str) -> str | None:
    from http.cookies import CookieError, SimpleCookie  # here, because few rules look into cookies

    try:
        morsel = SimpleCookie("; ".join(request.headers.all("cookie"))).get(name)
    except CookieError:
        return None
    return None if morsel is None else morsel.value
