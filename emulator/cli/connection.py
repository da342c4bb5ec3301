"""The connection of a command to an emulator: calls over HTTP, and checks whether it is the expected emulator.

`emulator.cli.client` signs the calls. `Transaction` is a blocking HTTP/1.1 client: the standard library's imports all
of ``email``, which is a fifth of the time of a short command.
"""

import json
import os
import select
import shlex
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httptools

from emulator.cli import endpoint
from emulator.cli.endpoint import Endpoint
from emulator.cli.output import CallRefused, CommandFailed, NoEmulator, OtherEmulator, WrongUsage, _, reason_of
from emulator.config import DEFAULT_PORT
from emulator.kernel.identity import REGION_SUFFIX
from emulator.keyfile import InstallationKeys

_PIECE = 65536


class BrokenAnswer(Exception):
    """The bytes received are not a complete HTTP answer."""


class Transaction:
    """One request and its answer; ``with`` closes the connection, or returns it to the *kept* ones.

    ``status`` and ``headers`` (lower-case names) are there from the beginning, the body comes with `pieces`. *kept* are
    idle connections to the address; None makes a new connection for the request.

    Raises: BrokenAnswer; OSError, a TimeoutError after *timeout_s* seconds without any byte.
    """

    def __init__(
        self,
        address: tuple[str, int],
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        timeout_s: float | None,
        kept: list[socket.socket] | None = None,
    ) -> None:
        host = f"[{address[0]}]" if ":" in address[0] else address[0]
        fields = {"Host": f"{host}:{address[1]}", **headers}
        if kept is None:
            fields["Connection"] = "close"
        if body or method in {"POST", "PUT"}:
            fields["Content-Length"] = str(len(body))
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.status = 0
        self.headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._over = False
        self._parser = httptools.HttpResponseParser(self)
        self._kept = kept
        self._may_be_kept = False
        self._socket = _idle(kept or [], timeout_s) or _connected(address, timeout_s)
        try:
            self._socket.sendall(f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + body)
            while not self.status:
                self._receive()
        except BaseException:
            self._socket.close()
            raise

    def pieces(self) -> Iterator[bytes]:
        """Yield the body as it comes.

        Raises: as the class.
        """
        while self._body or not self._over:
            if self._body:
                yield b"".join(self._body)
                self._body.clear()
            else:
                self._receive()

    def __enter__(self) -> "Transaction":
        return self

    def __exit__(self, *error: object) -> None:
        if self._kept is not None and self._may_be_kept:
            self._kept.append(self._socket)
        else:
            self._socket.close()

    def _receive(self) -> None:
        data = self._socket.recv(_PIECE)
        if not data:
            if not self.status or "content-length" in self.headers or "transfer-encoding" in self.headers:
                raise BrokenAnswer("the connection was closed before the answer was complete")
            self._over = True
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            interrupt = error.__context__
            if interrupt is not None and not isinstance(interrupt, Exception):  # Ctrl-C in one of the methods below
                raise interrupt from None
            raise BrokenAnswer(str(error) or "the answer is no HTTP") from None

    # httptools calls these while it is fed.

    def on_header(self, name: bytes, value: bytes) -> None:
        """Parse one header field."""
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Take the status; an interim answer is skipped."""
        status = self._parser.get_status_code()
        if status >= 200:
            self.status = status

    def on_body(self, data: bytes) -> None:
        """Take a piece of the body."""
        self._body.append(data)

    def on_message_complete(self) -> None:
        """Record that the answer is complete."""
        self._over = self.status > 0
        self._may_be_kept = self._over and self._parser.should_keep_alive()


def _connected(address: tuple[str, int], timeout_s: float | None) -> socket.socket:
    # A text would be encoded as IDNA, whose tables are slow to load; an address has no use for them.
    host = address[0].encode("ascii") if address[0].isascii() else address[0]
    return socket.create_connection((host, address[1]), timeout_s)  # type: ignore[arg-type]  # bytes will do


def _idle(kept: list[socket.socket], timeout_s: float | None) -> socket.socket | None:
    """Remove and return a *kept* connection that the server has not closed (a closed one would be readable)."""
    while kept:
        connection = kept.pop()
        if not select.select([connection], [], [], 0)[0]:
            connection.settimeout(timeout_s)
            return connection
        connection.close()
    return None


class Reply:
    """An answer: ``status``, ``headers`` (lower-case names) and the whole ``body``."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, transaction: Transaction) -> None:
        self.status = transaction.status
        self.headers = transaction.headers
        self.body = b"".join(transaction.pieces())

    def json(self) -> dict[str, Any]:
        """Return the body as a JSON object.

        Raises: CallRefused when the answer is not JSON and therefore not an emulator's.
        """
        content = self._object() if self.body else {}
        if content is None:
            raise CallRefused(
                self.status, "", _("the response is not from an emulator; another program may be listening there")
            )
        return content

    def _object(self) -> dict[str, Any] | None:
        try:
            content = json.loads(self.body)
        except ValueError:
            return None
        return content if isinstance(content, dict) else None

    def refusal(self) -> CallRefused:
        """Return the error in the body, which may have any of the JSON forms."""
        content = self._object() or {}
        code = content.get("Code") or content.get("ErrorCode") or ""
        message = content.get("Message") or content.get("ErrorMessage") or self.body.decode("utf-8", "replace")[:200]
        return CallRefused(self.status, str(code), str(message), content)


def _above(state: Path) -> str:
    """Return how to use the emulator of the nearest parent folder of *state*, "" when none runs there."""
    owners = {Path(each.state).parent: each.state for each in endpoint.running()}
    found = next((folder for folder in state.parent.parents if folder in owners), None)
    if found is None:
        return ""
    text = _("The emulator of {folder}, a folder above, runs: go there, or use it with --state {state}.")
    return text.format(folder=found, state=shlex.quote(owners[found]))


class Connection:
    """The connection to the emulator at *where*, which has to be that of *keys* (None when the state folder has none).

    *given_over* are the state folder's keys if *keys* are others, from the configuration. *region* is the region of
    calls, "" for the emulator's own.
    """

    def __init__(
        self,
        where: Endpoint,
        keys: InstallationKeys | None,
        state: object,
        *,
        given_over: InstallationKeys | None = None,
        region: str = "",
    ) -> None:
        self.endpoint = where
        self._host = f"{region}{REGION_SUFFIX}" if region else ""
        self._found_keys = keys
        self._given_over = given_over
        self._state = state
        self._always: Mapping[str, str] = {}
        """Headers of every request."""
        self._kept: list[socket.socket] | None = None

    @contextmanager
    def kept_alive(self) -> Iterator[None]:
        """Keep connections open for the next calls within the block, also those of copies of this client."""
        self._kept = kept = list[socket.socket]()
        try:
            yield
        finally:
            self._kept = None
            for connection in kept:
                connection.close()

    @property
    def keys(self) -> InstallationKeys:
        """The keys of this installation.

        Raises: NoEmulator when the state folder has none.
        """
        if self._found_keys is None:
            self.compare()  # raises an error that names the folder of the emulator that answers, if one does
            text = _(
                "no emulator has been started for {state}; run localyun start -d first, or name another folder with "
                "--state DIR"
            )
            raise NoEmulator(text.format(state=self._state), _above(Path(str(self._state))))
        return self._found_keys

    def health(self, timeout_s: float = 5.0) -> dict[str, Any]:
        """Return status, version, services, account, region and installation.

        Raises: NoEmulator; OtherEmulator when it is not the emulator of the keys this client holds.
        """
        content = self.ping(timeout_s)
        if not self._is_ours(content):
            raise self._other(content)
        return content

    def compare(self) -> None:
        """Check that the emulator that answers is that of the keys; if none answers, the next call reports it.

        Raises: OtherEmulator.
        """
        with suppress(NoEmulator):
            self.health()

    def ping(self, timeout_s: float = 1.0) -> dict[str, Any]:
        """Return the same as `health`, of any emulator that answers.

        Raises: NoEmulator.
        """
        reply = self.send("GET", "/_localyun/health", {}, timeout_s=timeout_s)
        try:
            content = reply.json() if reply.status == 200 else {}
        except CallRefused:
            content = {}
        if "services" not in content:
            text = _("the program at {address} (from {source}) is not localyun.")
            text = text.format(address=self.endpoint.http, source=_(self.endpoint.source))
            command = "localyun start --port auto"
            raise NoEmulator(text, _("Start an emulator on another port: {command}", command=command))
        return content

    def _is_ours(self, health: Mapping[str, Any]) -> bool:
        """Whether this health is that of the keys' emulator; keys in the configuration need the same account only."""
        keys = self._found_keys
        if keys is None:
            return False
        same_account = health.get("account") in (None, keys.account_id)
        installation = health.get("installation")
        if not keys.installation or not installation:
            return same_account
        return installation == keys.installation or (self._given_over is not None and same_account)

    def _other(self, health: Mapping[str, Any]) -> OtherEmulator:
        """Return the error about an emulator of another folder, and what to do about it."""
        owner = next((each for each in endpoint.running() if each.installation == health.get("installation")), None)
        fields = {"address": self.endpoint.http, "account": health.get("account"), "state": self._state}
        if owner is None:
            text = _("the emulator at {address} (account {account}) does not belong to {state}.")
            other = _(", or name that emulator's state folder with --state DIR.")
        elif owner.state == os.path.abspath(str(self._state)):  # noqa: PTH100 - any object
            text = _(
                "the emulator at {address} (process {pid}) runs, but its state folder {state} was deleted; "
                "{command} ends it."
            )
            command = f"localyun stop --state {shlex.quote(owner.state)}"
            return OtherEmulator(text.format(**fields, pid=owner.pid, command=command), "")
        else:
            fields |= {"owner": owner.state, "pid": owner.pid}
            text = _("the emulator at {address} belongs to {owner} (account {account}, process {pid}), not to {state}.")
            other = _(", or use that emulator with --state {owner}.", owner=shlex.quote(str(owner.state)))
        if self.endpoint.source == endpoint.VARIABLE:
            advice = _("In this shell, {variable} selects it: open a new terminal.")
            advice = advice.format(variable=endpoint.VARIABLE)
        elif above := _above(Path(str(self._state))):
            advice = above
        else:
            advice = _("Start one for this folder with localyun start --port auto") + other
        return OtherEmulator(text.format(**fields), advice, str(owner.state) if owner else "")

    def explained(self, refusal: CallRefused) -> CommandFailed:
        """Return *refusal*, or its cause: an emulator that does not accept these keys, or another program.

        A refusal without a code is not an emulator's.
        """
        of_keys = refusal.status in {401, 403} or refusal.code.startswith(("InvalidAccessKey", "Signature"))
        if refusal.code and not of_keys:
            return refusal
        try:
            health = self.ping(timeout_s=5.0)
        except NoEmulator as stranger:
            return refusal if refusal.code else stranger
        if not self._is_ours(health):
            return self._other(health)
        if not self.keys.admin_token and refusal.code == "Forbidden":
            text = _(
                "this command needs the emulator's admin token: name its state folder with --state DIR, or set "
                "LOCALYUN_TOKEN"
            )
            return CommandFailed(text)
        if not refusal.code.startswith(("InvalidAccessKey", "Signature")):
            return refusal
        owner = next((each.state for each in endpoint.running() if each.http == self.endpoint.http), "-")
        if refusal.code.startswith("Signature"):
            text = _("{refusal} (reached the emulator of {owner} at {address}; its key {key} has another secret)")
        else:
            text = _("{refusal} (reached the emulator of {owner} at {address}; the key {key} is not one of its keys)")
        text = text.format(refusal=refusal, owner=owner, address=self.endpoint.http, key=self.keys.access_key_id)
        return CommandFailed(text)

    def send(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes = b"", timeout_s: float | None = None
    ) -> Reply:
        """Make a call and return its whole answer, whatever its status.

        Raises: NoEmulator.
        """
        with self.transaction(method, target, headers, body, timeout_s) as transaction:
            return Reply(transaction)

    @contextmanager
    def transaction(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes, timeout_s: float | None
    ) -> Iterator[Transaction]:
        """Make a call whose answer is read inside the block.

        Raises: NoEmulator, WrongUsage.
        """
        fields = {"address": self.endpoint.http, "source": _(self.endpoint.source)}
        try:
            parts = urlsplit(self.endpoint.http)
            address = parts.hostname or "", parts.port or 80
        except ValueError as error:
            raise WrongUsage(
                _("{address} (from {source}) is not an address: {error}", error=error, **fields)
            ) from error
        if self._host:
            headers = {"Host": self._host, **headers}
        headers = {**self._always, **headers}
        try:
            with Transaction(
                address, method, target, headers, body, timeout_s=timeout_s, kept=self._kept
            ) as transaction:
                yield transaction
        except TimeoutError as error:
            raise NoEmulator(_("{address} (from {source}) did not answer in time.", **fields)) from error
        except (OSError, BrokenAnswer) as error:
            reason = reason_of(error) or type(error).__name__
            if isinstance(error, ConnectionRefusedError):
                reason = _("connection refused")
            text = _("no emulator answered at {address} (from {source}): {reason}.", reason=reason.lower(), **fields)
            command = f"localyun start{self._port_option(address[1])}"
            raise NoEmulator(text, _("Start one with: {command}", command=command)) from error

    def _port_option(self, port: int) -> str:
        """Return the option that makes ``start`` use the called *port*, where this folder's emulator was before."""
        if self.endpoint.pid is not None:
            return "" if port == DEFAULT_PORT else f" --port {port}"
        return " --port auto" if endpoint.is_taken(DEFAULT_PORT) else ""

    def accepted(self, reply: Reply) -> Reply:
        """Return *reply*, if it is not an error.

        Raises: CallRefused, or the error that `explained` returns, when it is one.
        """
        if reply.status >= 300:
            raise self.explained(reply.refusal())
        return reply
