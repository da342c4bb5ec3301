"""Who may send an HTTP trigger or a custom domain requests: pages of other origins (CORS), holders of JSON web tokens.

``tokenLookup`` is ``place:name[:prefix],...`` with the places header, query, form and cookie; ``claimPassBy`` is
``place:claim:name,...``. A domain may leave paths out (``whitelist``) or protect some only (``blacklist``).

Source: Function Compute, JWT authentication for HTTP triggers and custom domains; s-fc3 for the texts' form; statuses,
messages and the form of path lists are assumed.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote_plus, urlencode

from emulator.http.message import Pairs, Request
from emulator.kernel.clock import SECOND, Millis
from emulator.services.fc.codec import PLACES, value_at
from emulator.services.fc.errors import FcError, InvalidArgument

if TYPE_CHECKING:
    from jwt import PyJWK

Cors = Mapping[str, Any]
"""A ``corsConfig``, of a domain or a trigger."""


def preflight(cors: Cors, request: Request) -> Pairs | None:
    """Return the header fields that answer a preflight, None for a request of another kind.

    An origin or method that is not allowed gets an answer that allows nothing.
    """
    method = request.headers.get("access-control-request-method")
    if request.method != "OPTIONS" or not method or "origin" not in request.headers:
        return None
    fields = allowed_fields(cors, request)
    methods = _texts(cors, "allowMethods")
    if not fields or not ("*" in methods or method.upper() in {each.upper() for each in methods}):
        return []
    asked = request.headers.get("access-control-request-headers")
    headers = _texts(cors, "allowHeaders")
    fields.append(("Access-Control-Allow-Methods", method.upper() if "*" in methods else ", ".join(methods)))
    if headers:
        fields.append(("Access-Control-Allow-Headers", (asked or "*") if "*" in headers else ", ".join(headers)))
    if cors.get("maxAge") is not None:
        fields.append(("Access-Control-Max-Age", str(cors["maxAge"])))
    return fields


def allowed_fields(cors: Cors, request: Request) -> Pairs:
    """Return the CORS header fields for an answer to *request*, none when its origin is not allowed."""
    origin = request.headers.get("origin")
    origins = _texts(cors, "allowOrigins")
    if not origin or not any(fnmatchcase(origin, each) for each in origins):
        return []
    credentials = bool(cors.get("allowCredentials"))
    shown = "*" if "*" in origins and not credentials else origin
    fields = [("Access-Control-Allow-Origin", shown), ("Vary", "Origin")]
    if credentials:
        fields.append(("Access-Control-Allow-Credentials", "true"))
    if exposed := _texts(cors, "exposeHeaders"):
        fields.append(("Access-Control-Expose-Headers", ", ".join(exposed)))
    return fields


def with_fields(headers: Pairs, own: Pairs) -> Pairs:
    """Return *headers* of a function's answer with *own* in place of fields of the same names; ``Vary`` is added."""
    names = {name.lower() for name, _ in own if name != "Vary"}
    return [pair for pair in headers if pair[0].lower() not in names] + own


def _texts(cors: Cors, name: str) -> Sequence[str]:
    value = cors.get(name)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


DEFAULT_LOOKUP = "header:Authorization:Bearer"

Claims = Mapping[str, Any]


class Lookup(NamedTuple):
    """Where a token may be; ``prefix`` stands before it."""

    place: str
    name: str
    prefix: str


class Passing(NamedTuple):
    """Which claim goes to the function, and as what."""

    place: str
    claim: str
    name: str


class TokenRules(NamedTuple):
    """The rules of a trigger or domain about tokens; ``keys`` are JSON web keys.

    ``free`` are the paths that need no token; ``guarded``, unless it is empty, are the only ones that need one.
    """

    keys: Sequence[Mapping[str, Any]]
    lookups: Sequence[Lookup]
    passings: Sequence[Passing]
    free: Sequence[str]
    guarded: Sequence[str]

    @property
    def read_form(self) -> bool:
        """Whether the rules read or change form fields, for which the request's body is needed."""
        return "form" in {each.place for each in self.lookups} | {each.place for each in self.passings}

    def concern(self, path: str) -> bool:
        """Whether a request to *path* needs a token."""
        if self.guarded:
            return any(_covers(pattern, path) for pattern in self.guarded)
        return not any(_covers(pattern, path) for pattern in self.free)


def read_rules(config: object, field: str) -> TokenRules:
    """Read ``authConfig`` of a trigger or ``authInfo`` of a domain: an object, or a string that holds one.

    Raises: InvalidArgument.
    """
    rules = _object(config, field)
    keys = _object(rules.get("jwks"), f"{field}.jwks").get("keys")
    if not isinstance(keys, list) or not keys or not all(isinstance(key, dict) for key in keys):
        raise InvalidArgument(f"{field}.jwks must have a list of keys")
    lookups = [Lookup(*parts) for parts in _parts(rules.get("tokenLookup") or DEFAULT_LOOKUP, f"{field}.tokenLookup")]
    passings = [Passing(*parts) for parts in _parts(rules.get("claimPassBy") or "", f"{field}.claimPassBy")]
    lists = [_paths(rules.get(name), f"{field}.{name}") for name in ("whitelist", "blacklist")]
    return TokenRules(keys, lookups, passings, *lists)


class ClaimFields(NamedTuple):
    """The header fields, query and form fields with claims that are added to a request for the function."""

    headers: tuple[tuple[str, str], ...] = ()
    query: str = ""
    form: str = ""


async def claims_of(request: Request, rules: TokenRules, now: Millis) -> Claims:
    """Find a request's token and return its claims once it has been verified.

    Raises: AccessDenied.
    """
    token = next(filter(None, (_token_at(request, lookup) for lookup in rules.lookups)), None)
    if token is None:
        raise FcError("AccessDenied", "missing or malformed jwt")
    try:
        library = await asyncio.to_thread(_import_library)
    except ImportError:
        raise FcError(
            "AccessDenied", "verifying JSON web tokens needs PyJWT beside the emulator: pip install 'localyun[jwt]'"
        ) from None
    try:
        claims = _verified(library, token, rules.keys)
    except library.PyJWTError as error:
        raise FcError("AccessDenied", f"invalid or expired jwt: {error}") from None
    _check_times(claims, now / SECOND)
    return claims


def _check_times(claims: Claims, seconds: float) -> None:
    for name in ("exp", "nbf"):
        at = claims.get(name)
        if at is None:
            continue
        if not isinstance(at, int | float) or (seconds >= at if name == "exp" else seconds < at):
            raise FcError("AccessDenied", f"invalid or expired jwt: {name} is {at}")


def fields_of_claims(claims: Claims, rules: TokenRules) -> ClaimFields:
    """Return the *claims* that go to the function, as fields of its request."""
    passed: dict[str, list[tuple[str, str]]] = {place: [] for place in PLACES}
    for passing in rules.passings:
        if passing.claim in claims:
            value = claims[passing.claim]
            passed[passing.place].append((passing.name, value if isinstance(value, str) else json.dumps(value)))
    headers = [(name, " ".join(value.split())) for name, value in passed["header"]]
    if passed["cookie"]:
        headers.append(("Cookie", "; ".join(f"{name}={quote_plus(value)}" for name, value in passed["cookie"])))
    return ClaimFields(tuple(headers), urlencode(passed["query"]), urlencode(passed["form"]))


def _verified(library: Any, token: str, keys: Sequence[Mapping[str, Any]]) -> Claims:
    """Return the claims of a token that one of *keys* has signed, by the algorithm that the key is for.

    Raises: PyJWTError.
    """
    header = library.get_unverified_header(token)
    named = [key for key in keys if "kid" in header and key.get("kid") == header["kid"]]
    problem: Exception = library.InvalidTokenError("there is no key for it")
    for key in named or [key for key in keys if "kid" not in key or "kid" not in header]:
        try:
            known: PyJWK = library.PyJWK.from_dict(dict(key))
            claims: Claims = library.decode(
                token,
                known.key,
                algorithms=[known.algorithm_name],
                options={"verify_exp": False, "verify_nbf": False, "verify_iat": False, "verify_aud": False},
            )
            return claims
        except library.PyJWTError as error:
            problem = error
    raise problem


def _import_library() -> Any:
    import jwt  # an optional extra, and slow: it brings the cryptography in

    return jwt


def _token_at(request: Request, lookup: Lookup) -> str | None:
    value = value_at(request, lookup.place, lookup.name) or ""
    if lookup.prefix:
        if not value.startswith(lookup.prefix):
            return None
        value = value[len(lookup.prefix) :].strip()
    return value or None


def _object(value: object, field: str) -> Mapping[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise InvalidArgument(f"{field} must be a string that holds JSON") from None
    if not isinstance(value, dict):
        raise InvalidArgument(f"{field} is required for authType jwt and must be an object")
    return value


def _parts(text: object, field: str) -> Iterator[tuple[str, str, str]]:
    if not isinstance(text, str):
        raise InvalidArgument(f"{field} must be a text")
    for entry in filter(None, (entry.strip() for entry in text.split(","))):
        place, _, rest = entry.partition(":")
        name, _, last = rest.partition(":")
        if place.lower() in PLACES and rest.startswith(":") and field.endswith("claimPassBy"):
            continue  # ``query::``, which devsapp/fc3 sends where nothing is passed on
        if place.lower() not in PLACES or not name:
            raise InvalidArgument(
                f"{field} '{entry[:80]}' is invalid: it must be one of {', '.join(PLACES)}, a name, ..."
            )
        yield place.lower(), name, last or (name if field.endswith("claimPassBy") else "")


def _paths(value: object, field: str) -> tuple[str, ...]:
    listed = value.get("path") if isinstance(value, dict) else value
    if listed is None:
        return ()
    if not isinstance(listed, list) or not all(isinstance(path, str) for path in listed):
        raise InvalidArgument(f"{field} must be a list of paths")
    return tuple(listed)


def _covers(pattern: str, path: str) -> bool:
    return path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern
