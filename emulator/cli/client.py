"""Calls to a running emulator, signed like any SDK's: the admin API and the services.

`connect` is what every client command starts from; `until` and `pause` wait for the emulator to get somewhere.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse
from threading import Event
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from emulator import keyfile
from emulator.auth import fc, mns, rpc
from emulator.cli import endpoint
from emulator.cli.endpoint import Endpoint
from emulator.cli.failures import CallRefused, CommandFailed, NoEmulator, WrongUsage
from emulator.config import Settings
from emulator.http.message import Headers, Request
from emulator.kernel.clock import SystemClock
from emulator.kernel.ids import RandomIds
from emulator.keyfile import InstallationKeys
from emulator.wire.dates import http_date

FC_VERSION = "2016-08-15"
FC3_VERSION = "2023-03-30"
FNF_VERSION = "2019-03-15"

CALL_TIMEOUT_S = 90.0
"""Longer than the longest wait a service offers (60 s)."""

POLL_INTERVAL_S = 0.02
"""How often `until` looks."""


class Reply:
    """An answer: ``status``, ``headers`` (lower-case names) and the whole ``body``."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, response: HTTPResponse, body: bytes) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = body

    def json(self) -> dict[str, Any]:
        """Return the body as a JSON object.

        Raises: CallRefused when it is none, so not an emulator's.
        """
        try:
            content = json.loads(self.body or b"{}")
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise CallRefused(self.status, "", "the answer is not one of an emulator's; is something else there?")
        return content


class Client:
    """Speaks to the emulator at *endpoint* with this installation's *keys* (None when there are none to be found)."""

    def __init__(self, endpoint: Endpoint, keys: InstallationKeys | None, state: object) -> None:
        self.endpoint = endpoint
        self._found_keys = keys
        self._state = state
        self._clock = SystemClock()
        self._ids = RandomIds()
        self._host = urlsplit(endpoint.http).netloc

    @property
    def keys(self) -> InstallationKeys:
        """This installation's keys.

        Raises: CommandFailed when the state folder has none.
        """
        if self._found_keys is None:
            raise CommandFailed(
                f"there are no keys in {self._state}; go to the directory the emulator was started in, or tell its "
                "state folder with --state DIR"
            )
        return self._found_keys

    # --- admin ---------------------------------------------------------------------------------------------------

    def proxy(self, use: str) -> str | None:
        """Return the address of the proxy, ``served`` or ``forwarding``; None when this emulator does not tell it."""
        try:
            return str(self.admin("GET", "proxy")[use])
        except (CommandFailed, KeyError):  # no token for it: the emulator is not the one of this state folder
            return None

    def health(self, timeout_s: float = 5.0) -> dict[str, Any]:
        """Return status, version, services, account and region.

        Raises: NoEmulator.
        """
        reply = self._send("GET", "/_localyun/health", {}, b"", timeout_s)
        try:
            content = reply.json() if reply.status == 200 else {}
        except CallRefused:
            content = {}
        if "services" not in content:
            raise NoEmulator(
                f"what answers at {self.endpoint.http} (from {self.endpoint.source}) is not localyun; "
                "start one on another port: localyun start --port 0"
            )
        return content

    def admin(self, method: str, page: str, content: Mapping[str, Any] | None = None, **query: str) -> dict[str, Any]:
        """Call an admin page, with *content* as the JSON body of a POST, and return its JSON.

        Raises: NoEmulator, CallRefused.
        """
        body = json.dumps(content or {}).encode() if method == "POST" else b""
        reply = self._send(method, _target(f"/_localyun/{page}", query), self._admin_headers(), body, CALL_TIMEOUT_S)
        if reply.status != 200:
            raise _refusal(reply)
        return reply.json()

    def admin_text(self, page: str, **query: str) -> Iterator[bytes]:
        """Yield the text of an admin page as it arrives, without a time limit.

        Raises: NoEmulator, CallRefused.
        """
        yield from self._stream("GET", _target(f"/_localyun/{page}", query))

    def _stream(self, method: str, target: str, body: bytes = b"") -> Iterator[bytes]:
        connection = self._connection(None)
        try:
            response = self._exchange(connection, method, target, self._admin_headers(), body)
            if response.status != 200:
                raise _refusal(Reply(response, response.read()))
            while piece := response.read1(65536):
                yield piece
        except (OSError, HTTPException) as error:
            raise self._unreachable(error) from error
        finally:
            connection.close()

    def admin_steps(self, page: str, content: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """POST to an admin page that answers with a line of JSON for each thing that happens; without a time limit.

        Raises: NoEmulator, CallRefused.
        """
        body = json.dumps(content).encode()
        pending = b""
        for piece in self._stream("POST", f"/_localyun/{page}", body):
            *lines, pending = (pending + piece).split(b"\n")
            yield from map(json.loads, lines)

    def _admin_headers(self) -> dict[str, str]:
        return {"X-Localyun-Token": self.keys.admin_token, "Content-Type": "application/json"}

    # --- services ------------------------------------------------------------------------------------------------

    def workflow(self, action: str, timeout_s: float = CALL_TIMEOUT_S, /, **parameters: str) -> dict[str, Any]:
        """Call an operation of Serverless Workflow and return its answer.

        Raises: NoEmulator, CallRefused.
        """
        return self.rpc(FNF_VERSION, action, parameters, timeout_s)

    def workflow_pages(self, action: str, member: str, /, **parameters: str) -> Iterator[dict[str, Any]]:
        """Yield every item of a list operation of Serverless Workflow; *member* holds the items of a page.

        Raises: NoEmulator, CallRefused.
        """
        more: dict[str, str] = {}
        while True:
            page = self.workflow(action, **parameters, **more)
            yield from page.get(member) or []
            if not page.get("NextToken"):
                return
            more = {"NextToken": str(page["NextToken"])}

    def rpc(
        self, version: str, action: str, parameters: Mapping[str, str], timeout_s: float = CALL_TIMEOUT_S
    ) -> dict[str, Any]:
        """Call an operation of the RPC service that has this API version and return its answer.

        Raises: NoEmulator, CallRefused.
        """
        signed = rpc.signed_parameters(
            "POST",
            {"Action": action, "Version": version, "RegionId": self.keys.region, **parameters},
            key_id=self.keys.access_key_id,
            secret=self.keys.access_key_secret,
            timestamp=self._clock.now(),
            nonce=self._ids.uuid(),
        )
        body = urlencode(signed, quote_via=quote).encode("ascii")
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        reply = self._send("POST", "/", headers, body, timeout_s)
        if reply.status >= 300:
            raise _refusal(reply)
        return reply.json()

    def functions(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str], timeout_s: float | None = CALL_TIMEOUT_S
    ) -> Reply:
        """Call an operation of Function Compute; *path* holds the version and is percent-encoded.

        Raises: NoEmulator, CallRefused.
        """
        complete = {"Date": http_date(self._clock.now()), "Host": self._host, **headers}
        request = Request(method, path, Headers(complete.items()), body)
        complete["Authorization"] = fc.authorization(request, self.keys.access_key_id, self.keys.access_key_secret)
        reply = self._send(method, path, complete, body, timeout_s)
        if reply.status >= 300:
            raise _refusal(reply)
        return reply

    def messages(
        self, method: str, target: str, body: bytes, headers: Mapping[str, str], timeout_s: float = CALL_TIMEOUT_S
    ) -> Reply:
        """Call an operation of the Message Service and return its answer, errors too: `emulator.cli.mns` reads XML.

        *target* is path and query, percent-encoded.

        Raises: NoEmulator.
        """
        complete = {"Date": http_date(self._clock.now()), "Host": self._host, **headers}
        request = Request(method, target, Headers(complete.items()), body)
        complete["Authorization"] = mns.authorization(request, self.keys.access_key_id, self.keys.access_key_secret)
        return self._send(method, target, complete, body, timeout_s)

    # --- the wire ------------------------------------------------------------------------------------------------

    def _send(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes, timeout_s: float | None
    ) -> Reply:
        connection = self._connection(timeout_s)
        try:
            response = self._exchange(connection, method, target, headers, body)
            return Reply(response, response.read())
        except (OSError, HTTPException) as error:
            raise self._unreachable(error) from error
        finally:
            connection.close()

    def _connection(self, timeout_s: float | None) -> HTTPConnection:
        try:
            return HTTPConnection(self._host, timeout=timeout_s)
        except HTTPException as error:
            raise WrongUsage(f"{self.endpoint.http} (from {self.endpoint.source}) is no address: {error}") from error

    @staticmethod
    def _exchange(
        connection: HTTPConnection, method: str, target: str, headers: Mapping[str, str], body: bytes = b""
    ) -> HTTPResponse:
        connection.request(method, target, body=body or None, headers=dict(headers))
        return connection.getresponse()

    def _unreachable(self, error: Exception) -> NoEmulator:
        if isinstance(error, TimeoutError):
            return NoEmulator(f"{self.endpoint.http} (from {self.endpoint.source}) did not answer in time")
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
        return NoEmulator(
            f"no emulator answered at {self.endpoint.http} (from {self.endpoint.source}): {reason.lower()}. "
            "Start one with: localyun start"
        )


def _target(path: str, query: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def _refusal(reply: Reply) -> CallRefused:
    """Read an error in any of the JSON forms."""
    try:
        content = json.loads(reply.body)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        content = {}
    code = content.get("Code") or content.get("ErrorCode") or ""
    message = content.get("Message") or content.get("ErrorMessage") or reply.body.decode("utf-8", "replace")[:200]
    return CallRefused(reply.status, str(code), str(message))


def connect(settings: Settings, environ: Mapping[str, str] = os.environ) -> Client:
    """Return a client for the emulator these settings and *environ* lead to; it may turn out that none answers.

    Raises: WrongUsage, CommandFailed.
    """
    config = settings.config
    try:
        keys = keyfile.load(config)
    except keyfile.KeyFileDamaged as error:
        raise CommandFailed(str(error)) from error
    except OSError as error:
        raise CommandFailed(f"the keys in {config.state} cannot be read: {error.strerror}") from error
    if keys is None and config.access_key_id and config.access_key_secret and config.account_id:
        # An emulator elsewhere, known from the environment alone: enough to sign, not enough for the admin API.
        keys = keyfile.InstallationKeys(
            access_key_id=config.access_key_id,
            access_key_secret=config.access_key_secret,
            account_id=config.account_id,
            region=config.region or "cn-hangzhou",
            admin_token="",
        )
    return Client(endpoint.find(config, environ), keys, config.state)


def pause(seconds: float) -> None:
    """Do nothing for *seconds*."""
    Event().wait(seconds)


def until(reached: Callable[[], bool], timeout_s: float) -> bool:
    """Ask *reached* again and again; return whether it said yes within *timeout_s*."""
    clock = SystemClock()
    deadline = clock.monotonic() + timeout_s
    while not reached():
        if clock.monotonic() >= deadline:
            return False
        pause(POLL_INTERVAL_S)
    return True
