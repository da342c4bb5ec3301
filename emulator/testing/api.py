"""Calls to a running emulator: the admin API with its token, the services signed as an SDK signs them."""

import json
from collections.abc import Mapping
from operator import methodcaller
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit
from xml.etree.ElementTree import Element, fromstring

from emulator.auth import fc, mns, rpc
from emulator.http.message import Headers, Request
from emulator.kernel.clock import SystemClock
from emulator.kernel.ids import RandomIds
from emulator.wire.dates import http_date

if TYPE_CHECKING:
    import requests


class TestingError(Exception):
    """Base of the kit's own errors."""

    __test__ = False  # pytest would take the name for a test class


class NotInstalled(TestingError):
    """A package of an extra is missing; the text says which extra brings it."""


class ApiError(TestingError):
    """The emulator refused a call; ``status``, ``code`` and ``message`` are the answer's, ``body`` its JSON or text."""

    def __init__(self, status: int, code: str, message: str, body: Any = None) -> None:
        self.status = status
        self.code = code
        self.message = message
        self.body = body
        super().__init__(f"{status} {code}: {message}")


class NotJson(TestingError, ValueError):
    """A body that a test reads as JSON is none; the text shows it, and what to do where it is Base64."""


hidden = methodcaller("errisinstance", TestingError)
"""The ``__tracebackhide__`` of the kit's modules: pytest shows the test's line of a refusal, not the kit's.

Source: pytest's documentation, Writing well integrated assertion helpers.
"""

__tracebackhide__ = hidden

CALL_TIMEOUT_S = 660.0
"""Longer than the longest call of a function."""

FNF_VERSION = "2019-03-15"
MNS_VERSION = "2015-06-06"


def _requests() -> Any:
    try:
        import requests  # an extra, and slow to import
    except ImportError as error:
        raise NotInstalled("the test kit needs the package requests: pip install 'localyun[testing]'") from error
    return requests


class Api:
    """One emulator's HTTP interface, with one connection kept for all calls."""

    def __init__(
        self,
        endpoint: str,
        *,
        access_key_id: str,
        access_key_secret: str,
        token: str,
        timeout_s: float = CALL_TIMEOUT_S,
    ) -> None:
        self._endpoint = endpoint.rstrip("/")
        self._host = urlsplit(endpoint).netloc
        self._key_id = access_key_id
        self._secret = access_key_secret
        self._token = token
        self._timeout_s = timeout_s
        self._session: requests.Session = _requests().Session()
        self._session.trust_env = False  # a proxy of the environment does not lead here
        self._clock = SystemClock()
        self._ids = RandomIds()

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def admin(
        self, method: str, page: str, body: Any = None, *, accept: tuple[int, ...] = (200, 201, 204), **query: Any
    ) -> Any:
        """Call ``/_localyun/`` + *page* and return its JSON; *body* is sent as JSON.

        Raises: ApiError for a status that is not in *accept*.
        """
        content = json.dumps({} if body is None else body).encode() if method != "GET" else None
        target = f"/_localyun/{page}" + (f"?{urlencode(query)}" if query else "")
        headers = {"X-Localyun-Token": self._token}
        if content is not None:
            headers["Content-Type"] = "application/json"
        answer = self._send(method, target, headers, content)
        parsed = _json_of(answer)
        if answer.status_code not in accept:
            raise _refusal(answer, parsed)
        return parsed

    def admin_text(self, page: str, **query: Any) -> str:
        """Return the text of an admin page.

        Raises: ApiError.
        """
        target = f"/_localyun/{page}" + (f"?{urlencode(query)}" if query else "")
        answer = self._send("GET", target, {"X-Localyun-Token": self._token}, None)
        if answer.status_code != 200:
            raise _refusal(answer, _json_of(answer))
        return str(answer.text)

    def fnf(self, action: str, **parameters: Any) -> dict[str, Any]:
        """Call an operation of Serverless Workflow; None among *parameters* is left out.

        Raises: ApiError.
        """
        pairs = {name: _text(value) for name, value in parameters.items() if value is not None}
        signed = rpc.signed_parameters(
            "POST",
            {"Action": action, "Version": FNF_VERSION, **pairs},
            key_id=self._key_id,
            secret=self._secret,
            timestamp=self._clock.now(),
            nonce=self._ids.uuid(),
        )
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = self._send("POST", "/", headers, urlencode(signed).encode())
        return dict(self._checked(answer))

    def mns(self, method: str, target: str, body: bytes = b"") -> Element | None:
        """Call the message service and return the root of its XML, None for an empty answer.

        Raises: ApiError.
        """
        pairs = [("x-mns-version", MNS_VERSION), ("Date", http_date(self._clock.now())), ("Host", self._host)]
        if body:
            pairs.append(("Content-Type", "text/xml;charset=utf-8"))
        request = Request(method, target, Headers(pairs), body)
        pairs.append(("Authorization", mns.authorization(request, self._key_id, self._secret)))
        answer = self._send(method, target, dict(pairs), body or None)
        root = _without_namespaces(fromstring(answer.content)) if answer.content else None  # noqa: S314 - our own
        if answer.status_code >= 400:
            code, message = (root.findtext(name, "") if root is not None else "" for name in ("Code", "Message"))
            raise ApiError(answer.status_code, code, message, answer.text)
        return root

    def fc(self, method: str, target: str, body: bytes = b"", **headers: str) -> "requests.Response":
        """Call Function Compute with a path such as ``/2023-03-30/functions``; the answer is returned as it is."""
        pairs = [("Date", http_date(self._clock.now())), ("Host", self._host), *headers.items()]
        request = Request(method, target, Headers(pairs), body)
        signature = fc.sign(self._secret, next(fc.texts(request, dict(pairs)["Date"]))[0])
        return self._send(method, target, {**dict(pairs), "Authorization": f"FC {self._key_id}:{signature}"}, body)

    def _checked(self, answer: "requests.Response") -> Any:
        parsed = _json_of(answer)
        if answer.status_code >= 400:
            raise _refusal(answer, parsed)
        return parsed

    def _send(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> "requests.Response":
        return self._session.request(
            method, self._endpoint + target, headers=dict(headers), data=body, timeout=self._timeout_s
        )


def segment(name: str) -> str:
    """Return *name* as one segment of a path."""
    return quote(name, safe="")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


def _json_of(answer: "requests.Response") -> Any:
    if not answer.content:
        return {}
    try:
        return answer.json()
    except ValueError:
        return answer.text


def _refusal(answer: "requests.Response", parsed: Any) -> ApiError:
    body = parsed if isinstance(parsed, dict) else {}
    code = body.get("Code") or body.get("ErrorCode") or ""
    message = body.get("Message") or body.get("ErrorMessage") or (parsed if isinstance(parsed, str) else "")
    return ApiError(answer.status_code, str(code), str(message), parsed)


def _without_namespaces(root: Element) -> Element:
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    return root
