"""The private certificate authority as the server sees it: a TLS context for each host name, made when asked for.

Certificates are made by a child process (`emulator.http.minting`), because the library for it takes longer to import
than the whole server takes to start. All names asked for while the child runs are made by the next one together.

What the authority may sign for is fixed in its certificate: ``aliyuncs.com``, ``fcapp.run``, ``localhost``, everything
below them, and loopback addresses. A custom domain below ``localhost`` (``api.localhost``) therefore works at once. Any
other has to be among *domains*; that renews the authority with the same key, and clients have to read ``ca.pem`` again.
"""

import asyncio
import ipaddress
import logging
import os
import re
import ssl
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from emulator.kernel.clock import DAY, Clock, Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.tasks import TaskGroup, kill

PERMITTED_DOMAINS: Final = ("aliyuncs.com", "fcapp.run", "localhost")
"""Domains, with everything below them, that the authority may always sign for."""

DEFAULT_NAME: Final = "localhost"
"""The leaf for clients that name no host; it covers the loopback addresses as well."""

AUTHORITY_DAYS: Final = 365
AUTHORITY_RENEWAL_DAYS: Final = 60
LEAF_DAYS: Final = 90
LEAF_RENEWAL_DAYS: Final = 15
LEAVES_KEPT: Final = 1000

_FACTS = re.compile(r"localyun not-after=([0-9]+) key-id=([0-9a-f]+) names=([0-9a-z.,-]+)\n")
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_LONGEST_NAME: Final = 240  # leaves room for the rest of a file name; DNS itself allows 253


@frozen
class Facts:
    """When a certificate ends, which authority's key signed it, and for which names or domains it is."""

    not_after: Millis
    key_id: str
    names: tuple[str, ...]

    def line(self) -> bytes:
        """Return the first line of the file."""
        return f"localyun not-after={self.not_after} key-id={self.key_id} names={','.join(self.names)}\n".encode(
            "ascii"
        )


def authority_path(folder: Path) -> Path:
    """Return where the authority's certificate is."""
    return folder / "ca.pem"


def key_path(folder: Path) -> Path:
    """Return where the authority's key is."""
    return folder / "ca-key.pem"


def leaf_path(folder: Path, name: str) -> Path:
    """Return where the key and certificate of *name* are."""
    return folder / "leaves" / f"host-{name}.pem"


def authority_facts(folder: Path) -> Facts | None:
    """Read the authority's facts; None when there is no usable authority."""
    return _facts(authority_path(folder)) if key_path(folder).exists() else None


def leaf_facts(folder: Path, name: str) -> Facts | None:
    """Read the facts of the leaf for *name*; None when there is none."""
    return _facts(leaf_path(folder, name))


def is_good_authority(facts: Facts, now: Millis, domains: Iterable[str]) -> bool:
    """Tell whether the authority need not be renewed yet and permits *domains*."""
    return facts.not_after - AUTHORITY_RENEWAL_DAYS * DAY > now and {*PERMITTED_DOMAINS, *domains} <= {*facts.names}


def is_host_name(text: str) -> bool:
    """Tell whether *text* is a host name in lower case that a certificate can be made for."""
    return 0 < len(text) <= _LONGEST_NAME and all(_LABEL.fullmatch(label) for label in text.split("."))


def is_permitted(name: str, domains: Iterable[str]) -> bool:
    """Tell whether the authority may sign for *name*: one of its domains, or below one."""
    return any(name == domain or name.endswith(f".{domain}") for domain in (*PERMITTED_DOMAINS, *domains))


def _facts(path: Path) -> Facts | None:
    try:
        with path.open(encoding="ascii") as file:
            match = _FACTS.fullmatch(file.readline())
    except (OSError, UnicodeDecodeError):  # the child will meet the same trouble and say so
        return None
    if match is None:
        return None
    return Facts(not_after=Millis(int(match[1])), key_id=match[2], names=tuple(match[3].split(",")))


_log = logging.getLogger(__name__)

_CHILD_S: Final = 30
_BATCH: Final = 64
_PACKAGE_ROOT: Final = Path(__file__).resolve().parents[2]


class NameRefused(Exception):
    """No certificate is made for this name."""


class MintingFailed(Exception):
    """The child process that makes certificates did not."""


class CertificateAuthority:
    """Keeps ``ca.pem``, its key and the leaves in *folder*; hands out server contexts.

    *accepts* tells whether the emulator serves a host name. *clock* has to be real time, since clients judge the
    certificates by theirs. Of *domains* those that are addresses or no host names are passed over; they are served over
    plain HTTP all the same. At most *contexts* names are kept ready in memory.
    """

    def __init__(
        self,
        folder: Path,
        *,
        accepts: Callable[[str], bool],
        clock: Clock,
        domains: Iterable[str] = (),
        contexts: int = 256,
    ) -> None:
        self._folder = folder
        self._accepts = accepts
        self._clock = clock
        self._domains = tuple(sorted(_domain_names(domains)))
        self._most = contexts
        self._contexts: OrderedDict[str, tuple[Millis, ssl.SSLContext]] = OrderedDict()
        self._queue: list[str] = []
        self._wanted: dict[str, asyncio.Future[str | None]] = {}
        self._minting = False
        self._tasks = TaskGroup("certificates")

    def permit(self, domain: str) -> bool:
        """Let the authority sign for *domain* from now on; return whether that makes it due for renewal.

        The renewal happens with the next `ensure_ca`, `prepare` or `context_for`.
        """
        if is_permitted(domain, self._domains) or not is_host_name(domain):
            return False
        self._domains = tuple(sorted({*self._domains, domain}))
        return True

    async def ensure_ca(self) -> Path:
        """Return the file clients have to trust, made or renewed first if need be.

        Raises: MintingFailed.
        """
        await self.prepare(())
        return authority_path(self._folder)

    async def prepare(self, names: Iterable[str]) -> None:
        """Make the authority and what *names* need, in one go, so that their first connections do not wait.

        Raises: NameRefused, MintingFailed.
        """
        checked = {DEFAULT_NAME, *(self._checked(name) for name in names)}
        await self._mint([name for name in sorted(checked) if self._renewal_of(name) is None])

    async def context_for(self, server_name: str | None) -> ssl.SSLContext:
        """Return the context to serve a client that asked for *server_name*.

        Without a name, or with an address in its place, it is the one for ``localhost``, 127.0.0.1 and ::1.

        Raises: NameRefused, MintingFailed.
        """
        name = self._checked(server_name)
        if (context := self._kept(name)) is not None:
            return context
        renewal = self._renewal_of(name)
        if renewal is None:
            await self._mint([name])
            renewal = self._renewal_of(name)
        if renewal is None:
            raise MintingFailed(f"the certificate made for {name} cannot be used")
        if (context := self._kept(name)) is None:  # others may have waited for the same name
            context = _server_context(leaf_path(self._folder, name))
            self._contexts[name] = (renewal, context)
            while len(self._contexts) > self._most:
                self._contexts.popitem(last=False)
        return context

    async def close(self) -> None:
        """End the child process, if one is running."""
        await self._tasks.close()

    def _checked(self, server_name: str | None) -> str:
        if server_name is None or _is_address(server_name):
            return DEFAULT_NAME
        name = server_name.lower()
        if not is_host_name(name):
            raise NameRefused(f"{server_name!r} is not a host name")
        if not is_permitted(name, self._domains) or not self._accepts(name):
            raise NameRefused(f"{name} is not served here")
        return name

    def _kept(self, name: str) -> ssl.SSLContext | None:
        renewal, context = self._contexts.get(name, (Millis(0), None))
        if context is None or renewal <= self._clock.now():
            return None
        self._contexts.move_to_end(name)
        return context

    def _renewal_of(self, name: str) -> Millis | None:
        """Return when the leaf on disk is due for renewal; None when it, or the authority, has to be made now."""
        now = self._clock.now()
        authority = authority_facts(self._folder)
        leaf = leaf_facts(self._folder, name)
        if authority is None or leaf is None or not is_good_authority(authority, now, self._domains):
            return None
        renewal = Millis(leaf.not_after - LEAF_RENEWAL_DAYS * DAY)
        return renewal if leaf.key_id == authority.key_id and renewal > now else None

    async def _mint(self, names: list[str]) -> None:
        """Wait until a child has made certificates for *names*; each is made once however many wait for it."""
        waiting = []
        for name in names:
            if name not in self._wanted:
                self._wanted[name] = asyncio.get_running_loop().create_future()
                self._queue.append(name)
            waiting.append(self._wanted[name])
        if self._queue and not self._minting:
            self._minting = True
            self._tasks.spawn(self._work(), "mint")
        for future in waiting:
            error = await asyncio.shield(future)
            if error is not None:
                raise MintingFailed(error)

    async def _work(self) -> None:
        batch: list[str] = []
        try:
            while self._queue:
                batch, self._queue = self._queue[:_BATCH], self._queue[_BATCH:]
                error = await self._run_child(batch)
                self._settle(batch, error)
        except asyncio.CancelledError:
            self._settle([*batch, *self._queue], "the server stops")
            raise
        finally:
            self._minting = False

    def _settle(self, names: list[str], error: str | None) -> None:
        for name in names:
            if (waiting := self._wanted.pop(name, None)) is not None:
                waiting.set_result(error)

    async def _run_child(self, names: list[str]) -> str | None:
        """Run the child for *names*; return None, or why it failed."""
        permits = [word for domain in self._domains for word in ("--permit", domain)]
        path = os.pathsep.join(filter(None, (str(_PACKAGE_ROOT), os.environ.get("PYTHONPATH"))))
        # -P: a file of the user's working directory must not pass for a module
        command = [sys.executable, "-P", "-m", "emulator.http.minting", *permits]
        try:
            child = await asyncio.create_subprocess_exec(
                *command,
                str(self._folder),
                str(self._clock.now()),
                *names,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": path},
            )
        except OSError as error:
            return f"no process can be started: {error}"
        try:
            async with asyncio.timeout(_CHILD_S):
                _, complaint = await child.communicate()
        except TimeoutError:
            return f"no certificate was made within {_CHILD_S} s"
        finally:
            kill(child)
            await child.wait()
        if child.returncode == 0:
            return None
        text = complaint.decode("utf-8", "replace").strip()
        _log.error("making certificates failed with exit code %d:\n%s", child.returncode, text)
        return text.rpartition("\n")[2] or f"exit code {child.returncode}"


def _server_context(leaf: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    context.load_cert_chain(leaf)
    return context


def _domain_names(domains: Iterable[str]) -> Iterator[str]:
    for domain in domains:
        if is_host_name(domain.lower()) and not _is_address(domain):
            yield domain.lower()
        else:
            _log.warning("%s is not served over HTTPS: no certificate can be made for it", domain)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
