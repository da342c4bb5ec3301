"""Calls to a running emulator, signed like any SDK's: the admin API and the services.

`connect` is what every client command starts from; `until` and `pause` wait for the emulator to get somewhere.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from emulator import keyfile
from emulator.cli import endpoint
from emulator.cli.endpoint import Endpoint
from emulator.cli.output import CallRefused, CommandFailed, NoEmulator, OtherEmulator, WrongUsage, _, complain
from emulator.config import DEFAULT_PORT, Config, Settings
from emulator.http.blocking import BrokenAnswer, Exchange
from emulator.http.message import Headers, Request
from emulator.kernel.clock import SystemClock
from emulator.kernel.frozen import replace
from emulator.kernel.ids import RandomIds
from emulator.keyfile import InstallationKeys
from emulator.wire.dates import http_date

FC_VERSION = "2016-08-15"
FC3_VERSION = "2023-03-30"
FNF_VERSION = "2019-03-15"
STS_VERSION = "2015-04-01"

CALL_TIMEOUT_S = 90.0
"""Longer than the longest wait a service offers (60 s)."""

_KEYS_REFUSED = frozenset({401, 403})

POLL_INTERVAL_S = 0.02
"""How often `until` looks."""


class Reply:
    """An answer: ``status``, ``headers`` (lower-case names) and the whole ``body``."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, exchange: Exchange) -> None:
        self.status = exchange.status
        self.headers = exchange.headers
        self.body = b"".join(exchange.pieces())

    def json(self) -> dict[str, Any]:
        """Return the body as a JSON object.

        Raises: CallRefused when it is none, so not an emulator's.
        """
        try:
            content = json.loads(self.body or b"{}")
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise CallRefused(self.status, "", _("the answer is not one of an emulator's; is something else there?"))
        return content


class Client:
    """Speaks to the emulator at *where* with this installation's *keys* (None when the state folder has none).

    *given_over* are the state folder's keys when *keys* are others, which the configuration gives.
    """

    def __init__(
        self,
        where: Endpoint,
        keys: InstallationKeys | None,
        state: object,
        *,
        given_over: InstallationKeys | None = None,
    ) -> None:
        self.endpoint = where
        self._found_keys = keys
        self._given_over = given_over
        self._state = state
        self._clock = SystemClock()
        self._ids = RandomIds()
        self._host = urlsplit(where.http).netloc

    @property
    def keys(self) -> InstallationKeys:
        """This installation's keys.

        Raises: CommandFailed when the state folder has none.
        """
        if self._found_keys is None:
            self.compare()  # says whose emulator answers, if one does
            text = _("there are no keys in {state}; name the emulator's state folder with --state DIR")
            raise CommandFailed(text.format(state=self._state))
        return self._found_keys

    def proxy(self, use: str) -> str | None:
        """Return the address of the proxy, ``served`` or ``forwarding``; None when this emulator does not tell it."""
        try:
            return str(self.admin("GET", "proxy")[use])
        except (CommandFailed, KeyError):  # no token for it: the emulator is not the one of this state folder
            return None

    def health(self, timeout_s: float = 5.0) -> dict[str, Any]:
        """Return status, version, services, account, region and installation.

        Raises: NoEmulator; OtherEmulator when it is not the emulator of the keys this client holds.
        """
        content = self.ping(timeout_s)
        if not self._is_ours(content):
            raise OtherEmulator(self._whose(content))
        return content

    def compare(self) -> None:
        """Check that what answers is the emulator of the keys; that none answers is for the call to report.

        Raises: OtherEmulator.
        """
        with suppress(NoEmulator):
            self.health()

    def use_working_keys(self) -> None:
        """Go back to the emulator's own keys when it does not accept those that the configuration gives.

        Raises: NoEmulator, CallRefused.
        """
        if self._given_over is None:
            return
        try:
            self.rpc(STS_VERSION, "GetCallerIdentity", {})
        except CallRefused:
            raise
        except CommandFailed:
            refused, self._found_keys = self.keys.access_key_id, self._given_over
            self._given_over = None
            complain(_("{key} of this shell is not a key of this emulator; its own are used", key=refused))

    def ping(self, timeout_s: float = 1.0) -> dict[str, Any]:
        """Return what `health` does, of whichever emulator answers.

        Raises: NoEmulator.
        """
        reply = self._send("GET", "/_localyun/health", {}, b"", timeout_s)
        try:
            content = reply.json() if reply.status == 200 else {}
        except CallRefused:
            content = {}
        if "services" not in content:
            text = _("what answers at {address} (from {source}) is not localyun; start one on another port: {command}")
            command = "localyun start --port auto"
            raise NoEmulator(text.format(address=self.endpoint.http, source=_(self.endpoint.source), command=command))
        return content

    def _is_ours(self, health: Mapping[str, Any]) -> bool:
        """Whether the emulator with this health is that of the keys; given keys need the right account only."""
        keys = self._found_keys
        if keys is None:
            return False
        same_account = health.get("account") in (None, keys.account_id)
        installation = health.get("installation")
        if not keys.installation or not installation:
            return same_account
        return installation == keys.installation or (self._given_over is not None and same_account)

    def _whose(self, health: Mapping[str, Any]) -> str:
        """Return whose emulator answers, and what to do about it."""
        owner = next((each for each in endpoint.running() if each.installation == health.get("installation")), None)
        fields = {"address": self.endpoint.http, "account": health.get("account"), "state": self._state}
        advice = _("Start one for this folder with localyun start --port auto")
        if owner is None:
            text = _("the emulator at {address} (account {account}) is not the one of {state}.")
            return f"{text.format(**fields)} {advice}" + _(", or name that one's state folder with --state DIR.")
        text = _("the emulator at {address} is the one of {owner} (account {account}, process {pid}), not of {state}.")
        whose = text.format(owner=owner.state, pid=owner.pid, **fields)
        return f"{whose} {advice}" + _(", or use that one with --state {owner}.", owner=owner.state)

    def explained(self, refusal: CallRefused) -> CommandFailed:
        """Return *refusal*, or what is behind it when the emulator does not accept this client's keys."""
        if refusal.status not in _KEYS_REFUSED and not refusal.code.startswith(("InvalidAccessKey", "Signature")):
            return refusal
        try:
            health = self.ping(timeout_s=5.0)
        except NoEmulator:
            return refusal
        if not self._is_ours(health):
            return OtherEmulator(self._whose(health))
        if not self.keys.admin_token and refusal.code == "Forbidden":
            return CommandFailed(_("this command needs the admin token in the emulator's state folder: --state DIR"))
        if refusal.code == "Forbidden" or not refusal.code.startswith(("InvalidAccessKey", "Signature")):
            return refusal
        owner = next((each.state for each in endpoint.running() if each.http == self.endpoint.http), "-")
        text = _("{refusal} (reached the emulator of {owner} at {address}; the key {key} is not one of its keys)")
        text = text.format(refusal=refusal, owner=owner, address=self.endpoint.http, key=self.keys.access_key_id)
        return CommandFailed(text)

    def admin(self, method: str, page: str, content: Mapping[str, Any] | None = None, **query: str) -> dict[str, Any]:
        """Call an admin page, with *content* as the JSON body of a POST, and return its JSON.

        Raises: NoEmulator, CallRefused.
        """
        body = json.dumps(content or {}).encode() if method == "POST" else b""
        return self._admin(method, _target(f"/_localyun/{page}", query), self._admin_headers(), body)

    def admin_bytes(self, page: str, **query: str) -> bytes:
        """Return what an admin page answers, whole.

        Raises: NoEmulator, CallRefused.
        """
        return b"".join(self._stream("GET", _target(f"/_localyun/{page}", query)))

    def admin_put(self, page: str, content: bytes, **query: str) -> dict[str, Any]:
        """PUT *content* to an admin page and return its JSON.

        Raises: NoEmulator, CallRefused.
        """
        headers = {**self._admin_headers(), "Content-Type": "application/octet-stream"}
        return self._admin("PUT", _target(f"/_localyun/{page}", query), headers, content)

    def _admin(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
        reply = self._send(method, target, headers, body, CALL_TIMEOUT_S)
        if reply.status != 200:
            raise self.explained(_refusal(reply))
        return reply.json()

    def admin_text(self, page: str, **query: str) -> Iterator[bytes]:
        """Yield the text of an admin page as it arrives, without a time limit.

        Raises: NoEmulator, CallRefused.
        """
        yield from self._stream("GET", _target(f"/_localyun/{page}", query))

    def _stream(self, method: str, target: str, body: bytes = b"") -> Iterator[bytes]:
        try:
            with self._exchange(method, target, self._admin_headers(), body, None) as exchange:
                if exchange.status != 200:
                    raise self.explained(_refusal(Reply(exchange)))
                yield from exchange.pieces()
        except (OSError, BrokenAnswer) as error:
            raise self._unreachable(error) from error

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
        from emulator.auth import rpc  # a command signs in one way only

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
            raise self.explained(_refusal(reply))
        return reply.json()

    def functions(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str], timeout_s: float | None = CALL_TIMEOUT_S
    ) -> Reply:
        """Call an operation of Function Compute; *path* holds the version and is percent-encoded.

        Raises: NoEmulator, CallRefused.
        """
        from emulator.auth import fc  # a scheme is loaded by the call that signs with it

        reply = self._signed(fc.authorization, method, path, body, headers, timeout_s)
        if reply.status >= 300:
            raise self.explained(_refusal(reply))
        return reply

    def messages(
        self, method: str, target: str, body: bytes, headers: Mapping[str, str], timeout_s: float = CALL_TIMEOUT_S
    ) -> Reply:
        """Call an operation of the Message Service and return its answer, errors too: `emulator.cli.mns` reads XML.

        *target* is path and query, percent-encoded.

        Raises: NoEmulator.
        """
        from emulator.auth import mns  # a scheme is loaded by the call that signs with it

        return self._signed(mns.authorization, method, target, body, headers, timeout_s)

    def objects(
        self, method: str, target: str, body: bytes, headers: Mapping[str, str], timeout_s: float = CALL_TIMEOUT_S
    ) -> Reply:
        """Call an operation of the object store and return its answer, errors too; *target* is ``/bucket/key?query``.

        Raises: NoEmulator.
        """
        from emulator.auth import oss  # for files with buckets only

        return self._signed(oss.authorization, method, target, body, headers, timeout_s)

    def _signed(
        self,
        authorization: Callable[[Request, str, str], str],
        method: str,
        target: str,
        body: bytes,
        headers: Mapping[str, str],
        timeout_s: float | None,
    ) -> Reply:
        complete = {"Date": http_date(self._clock.now()), "Host": self._host, **headers}
        request = Request(method, target, Headers(complete.items()), body)
        complete["Authorization"] = authorization(request, self.keys.access_key_id, self.keys.access_key_secret)
        return self._send(method, target, complete, body, timeout_s)

    def _send(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes, timeout_s: float | None
    ) -> Reply:
        try:
            with self._exchange(method, target, headers, body, timeout_s) as exchange:
                return Reply(exchange)
        except (OSError, BrokenAnswer) as error:
            raise self._unreachable(error) from error

    def _exchange(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes, timeout_s: float | None
    ) -> Exchange:
        try:
            parts = urlsplit(self.endpoint.http)
            address = parts.hostname or "", parts.port or 80
        except ValueError as error:
            text = _("{address} (from {source}) is no address: {error}")
            fields = {"address": self.endpoint.http, "source": _(self.endpoint.source), "error": error}
            raise WrongUsage(text.format(**fields)) from error
        return Exchange(address, method, target, headers, body, timeout_s=timeout_s)

    def _unreachable(self, error: Exception) -> NoEmulator:
        fields = {"address": self.endpoint.http, "source": _(self.endpoint.source)}
        if isinstance(error, TimeoutError):
            return NoEmulator(_("{address} (from {source}) did not answer in time", **fields))
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
        text = _("no emulator answered at {address} (from {source}): {reason}. Start one with: {command}")
        elsewhere = " --port auto" if endpoint.is_taken(DEFAULT_PORT) else ""
        return NoEmulator(text.format(reason=reason.lower(), command=f"localyun start{elsewhere}", **fields))


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
    return CallRefused(reply.status, str(code), str(message), content)


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
        text = _("the keys in {state} cannot be read: {reason}", state=config.state, reason=error.strerror)
        raise CommandFailed(text) from error
    where = endpoint.find(config, environ)
    own = keys
    if own is not None and where.pid is not None:  # what the running emulator was started with
        own = replace(own, **where.keys) if where.keys is not None else _kept(config)
        keys = own if config.access_key_id is None else keys
    if keys is None and config.access_key_id and config.access_key_secret and config.account_id:
        # An emulator elsewhere, known from the environment alone: enough to sign, not enough for the admin API.
        keys = keyfile.InstallationKeys(
            access_key_id=config.access_key_id,
            access_key_secret=config.access_key_secret,
            account_id=config.account_id,
            region=config.region or "cn-hangzhou",
            admin_token="",
        )
    client = Client(where, keys, config.state, given_over=own if keys != own else None)
    if where.source == endpoint.CONFIGURED and keys is not None:
        client.compare()  # no emulator of this folder runs: what answers at the usual port may be another's
    return client


def _kept(config: Config) -> InstallationKeys | None:
    """Return the keys of the state folder as they stand there."""
    return keyfile.load(replace(config, access_key_id=None, access_key_secret=None, account_id=None, region=None))


def pause(seconds: float) -> None:
    """Do nothing for *seconds*."""
    from threading import Event  # few commands wait

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
