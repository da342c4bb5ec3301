"""Calls to a running emulator: the admin API with its token, the services signed as an SDK signs them."""

import json
from collections.abc import Callable, Mapping
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
    """The body that a test reads as JSON is not JSON; the text shows it, and what to do if it is Base64."""


hidden = methodcaller("errisinstance", TestingError)
"""The ``__tracebackhide__`` of the kit's modules: pytest shows the test's line of a refusal, not the kit's.

Source: pytest's documentation, Writing well integrated assertion helpers.
"""

__tracebackhide__ = hidden

CALL_TIMEOUT_S = 660.0
"""Seconds; longer than the longest call of a function."""

FNF_VERSION = "2019-03-15"
MNS_VERSION = "2015-06-06"


def load_requests() -> Any:
    """Import the package `requests`.

    Raises: NotInstalled.
    """
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
        self._session: requests.Session = load_requests().Session()
        self._session.trust_env = False  # the emulator is not reached through a proxy
        self._clock = SystemClock()
        self._ids = RandomIds()

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def admin(self, method: str, page: str, body: Any = None, **query: Any) -> Any:
        """Call ``/_localyun/`` + *page* and return its JSON; *body* is sent as JSON.

        Raises: ApiError.
        """
        content = json.dumps({} if body is None else body).encode() if method != "GET" else None
        return _json_of(self._ask_admin(method, page, query, content))

    def admin_text(self, page: str, **query: Any) -> str:
        """Return the text of an admin page.

        Raises: ApiError.
        """
        return str(self._ask_admin("GET", page, query, None).text)

    def _ask_admin(
        self, method: str, page: str, query: Mapping[str, Any], content: bytes | None
    ) -> "requests.Response":
        target = f"/_localyun/{page}" + (f"?{urlencode(query)}" if query else "")
        headers = {"X-Localyun-Token": self._token, "Content-Type": "application/json"}
        return _accepted(self._send(method, target, headers, content))

    def fnf(self, action: str, **parameters: Any) -> dict[str, Any]:
        """Call an operation of CloudFlow; None among *parameters* is left out.

        Raises: ApiError.
        """
        given = ((name, value) for name, value in parameters.items() if value is not None)
        texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in given}
        signed = rpc.signed_parameters(
            "POST",
            {"Action": action, "Version": FNF_VERSION, **texts},
            key_id=self._key_id,
            secret=self._secret,
            timestamp=self._clock.now(),
            nonce=self._ids.uuid(),
        )
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return dict(_json_of(_accepted(self._send("POST", "/", headers, urlencode(signed).encode()))))

    def mns(self, method: str, target: str, body: bytes = b"") -> Element | None:
        """Call Simple Message Queue and return the root of its XML, None for an empty answer.

        Raises: ApiError.
        """
        headers = {"x-mns-version": MNS_VERSION, **({"Content-Type": "text/xml;charset=utf-8"} if body else {})}
        answer = self._signed(mns.authorization, method, target, body, headers)
        root = fromstring(answer.content) if answer.content else None  # noqa: S314 - our own
        for element in root.iter() if root is not None else ():
            element.tag = element.tag.rpartition("}")[2]
        if answer.status_code >= 400:
            code, message = (root.findtext(name, "") if root is not None else "" for name in ("Code", "Message"))
            raise ApiError(answer.status_code, code, message, answer.text)
        return root

    def fc(self, method: str, target: str, body: bytes = b"", **headers: str) -> "requests.Response":
        """Call Function Compute with a path such as ``/2023-03-30/functions``; the answer is returned as it is."""
        return self._signed(fc.authorization, method, target, body, headers)

    def _signed(
        self,
        authorization: Callable[[Request, str, str], str],
        method: str,
        target: str,
        body: bytes,
        headers: Mapping[str, str],
    ) -> "requests.Response":
        fields = {"Date": http_date(self._clock.now()), "Host": self._host, **headers}
        request = Request(method, target, Headers(fields.items()), body)
        fields["Authorization"] = authorization(request, self._key_id, self._secret)
        return self._send(method, target, fields, body)

    def _send(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> "requests.Response":
        return self._session.request(
            method, self._endpoint + target, headers=headers, data=body, timeout=self._timeout_s
        )


def segment(name: str) -> str:
    """Return *name* as one segment of a path."""
    return quote(name, safe="")


def _json_of(answer: "requests.Response") -> Any:
    if not answer.content:
        return {}
    try:
        return answer.json()
    except ValueError:
        return answer.text


def _accepted(answer: "requests.Response") -> "requests.Response":
    if answer.status_code >= 400:
        raise refusal(answer)
    return answer


def refusal(answer: "requests.Response") -> ApiError:
    """Return the error that an answer in any of the JSON forms holds."""
    parsed = _json_of(answer)
    body = parsed if isinstance(parsed, dict) else {}
    code = body.get("Code") or body.get("ErrorCode") or ""
    message = body.get("Message") or body.get("ErrorMessage") or (parsed if isinstance(parsed, str) else "")
    return ApiError(answer.status_code, str(code), str(message), parsed)
