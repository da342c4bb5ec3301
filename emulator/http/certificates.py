"""The private certificate authority as the server sees it: which certificates there are, and a TLS context for each.

Certificates are made by a child process (`emulator.http.minting`), because the library for it takes longer to import
than the whole server takes to start. Leaves with many names, one for each region, are made ahead and serve nearly every
client; one for all regions would make each handshake half as long again. Any other name has a leaf of its own, made
when the name is registered or asked for with CONNECT: during a handshake OpenSSL's callback only chooses, because it
cannot wait. A client that asks for an unregistered name gets a certificate which it refuses, and finds its own
when it comes again.

What the authority may sign for is fixed in its certificate: ``aliyuncs.com``, ``fcapp.run``, ``localhost``, everything
below them, and loopback addresses. A custom domain below ``localhost`` (``api.localhost``) therefore works at once. Any
other has to be permitted; that renews the authority with the same key, and clients have to read ``ca.pem`` again.
"""

import asyncio
import ipaddress
import logging
import ssl
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from emulator.http.certificate_files import (
    COMMON,
    LEAF_RENEWAL_DAYS,
    REGIONS,
    Facts,
    authority_facts,
    authority_path,
    is_good_authority,
    is_host_name,
    is_permitted,
    leaf_facts,
    leaf_names,
    leaf_of,
    leaf_path,
    times,
)
from emulator.kernel.clock import DAY, Clock, Millis
from emulator.kernel.tasks import TaskGroup, kill, start_module

_log = logging.getLogger(__name__)

_CHILD_S: Final = 30
_BATCH: Final = 64


class NameRefused(Exception):
    """No certificate is made for this name."""


class MintingFailed(Exception):
    """The child process that makes certificates has failed."""


class CertificateAuthority:
    """Keeps ``ca.pem``, its key and the leaves in *folder*; hands out server contexts.

    *accepts* decides whether the emulator serves a host name. Certificates are valid by the machine's time and by that
    of *clock*. Of *domains* those that are addresses or no host names are ignored; they are served over plain HTTP all
    the same. At most *contexts* names are kept ready in memory.
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
        self._registered = set(self._domains)
        self._most = contexts
        self._contexts: OrderedDict[str, tuple[Millis, ssl.SSLContext]] = OrderedDict()
        self._queue: list[str] = []
        self._wanted: dict[str, asyncio.Future[str | None]] = {}
        self._minting = False
        self._tasks = TaskGroup("certificates")

    def register(self, name: str) -> bool:
        """Keep a certificate for *name* and permit its domain; return whether `prepare` has something to make now."""
        if not is_host_name(name):
            return False
        if not is_permitted(name, self._domains):
            self._domains = tuple(sorted({*self._domains, name}))
        self._registered.add(name)
        return self._renewal_of(leaf_of(name)) is None

    def unregister(self, name: str) -> None:
        """Stop renewing the certificate for *name*; the authority permits the name until the next start."""
        self._registered.discard(name)

    async def ensure_ca(self) -> Path:
        """Return the file clients have to trust, made or renewed first if need be.

        Raises: MintingFailed.
        """
        await self.prepare()
        return authority_path(self._folder)

    async def prepare(self, names: Iterable[str] = ()) -> None:
        """Make what is missing for all registered names and for *names*, in one go.

        Raises: NameRefused, MintingFailed.
        """
        leaves = {COMMON, *REGIONS, *(self._leaf(name) for name in names)}
        leaves |= {leaf_of(name) for name in self._registered if self._accepts(name)}
        authority = self._good_authority()
        await self._mint([leaf for leaf in sorted(leaves) if self._renewal_by(authority, leaf) is None])

    async def context(self, name: str | None = None) -> ssl.SSLContext:
        """Return the context to begin a handshake with.

        It presents the certificate for *name*, without one the common certificate, to clients that name no host. Others
        get the certificate for the host that they name.

        Raises: NameRefused, MintingFailed.
        """
        leaf = self._leaf(name)
        context = self._kept(leaf)
        if context is None:
            await self.prepare(() if name is None else (name,))
            context = self._context_of(leaf)
        if context is None:
            raise MintingFailed(f"the certificate made for {leaf} cannot be used")
        return context

    async def close(self) -> None:
        """End the child process, if one is running; whoever waits for a certificate gets MintingFailed."""
        await self._tasks.close()
        self._settle(list(self._wanted), "the server stops")  # not in the task, which may end before its first step

    def _choose(self, connection: ssl.SSLObject, server_name: str | None, begun: ssl.SSLContext) -> None:
        """Choose the certificate during a handshake (``SSLContext.sni_callback``); `context` has had it made.

        A host without one gets the context *begun* with, whose certificate the client refuses by its names. An alert
        would not reach the client: asyncio drops what a failed handshake leaves unsent.
        """
        if server_name is None:
            return
        try:
            context = self._context_of(self._leaf(server_name))
        except NameRefused as error:
            _log.warning("a TLS client will refuse the certificate: %s", error)
            return
        if context is not None:
            connection.context = context

    def _leaf(self, server_name: str | None) -> str:
        """Return the leaf for *server_name*.

        Raises: NameRefused.
        """
        if server_name is None or is_address(server_name):
            return COMMON
        name = server_name.lower()
        if not is_host_name(name):
            raise NameRefused(f"{server_name!r} is not a host name")
        if not is_permitted(name, self._domains) or not self._accepts(name):
            raise NameRefused(f"{name} is not served here")
        return leaf_of(name)

    def _context_of(self, leaf: str) -> ssl.SSLContext | None:
        """Return the context of a leaf, None when it has to be made first."""
        context = self._kept(leaf)
        if context is None and (renewal := self._renewal_of(leaf)) is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.minimum_version = ssl.TLSVersion.TLSv1_2
            context.set_alpn_protocols(["http/1.1"])
            context.load_cert_chain(leaf_path(self._folder, leaf))
            context.sni_callback = self._choose
            self._contexts[leaf] = (renewal, context)
            while len(self._contexts) > self._most:
                self._contexts.popitem(last=False)
        return context

    def _kept(self, leaf: str) -> ssl.SSLContext | None:
        renewal, context = self._contexts.get(leaf, (Millis(0), None))
        if context is None or renewal <= times(self._clock)[1]:
            return None
        self._contexts.move_to_end(leaf)
        return context

    def _renewal_of(self, name: str) -> Millis | None:
        """Return when the leaf on disk is due for renewal; None when it, or the authority, has to be made now."""
        return self._renewal_by(self._good_authority(), name)

    def _renewal_by(self, authority: Facts | None, name: str) -> Millis | None:
        leaf = leaf_facts(self._folder, name) if authority is not None else None
        if authority is None or leaf is None:
            return None
        renewal = Millis(leaf.not_after - LEAF_RENEWAL_DAYS * DAY)
        good = leaf.key_id == authority.key_id and leaf.names == leaf_names(name)
        return renewal if good and renewal > times(self._clock)[1] else None

    def _good_authority(self) -> Facts | None:
        """Read the facts of the authority on disk; None when it has to be made now."""
        facts = authority_facts(self._folder)
        return facts if facts is not None and is_good_authority(facts, times(self._clock)[1], self._domains) else None

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
        try:
            while self._queue:
                batch, self._queue = self._queue[:_BATCH], self._queue[_BATCH:]
                error = await self._run_child(batch)
                self._settle(batch, error)
        finally:
            self._minting = False

    def _settle(self, names: list[str], error: str | None) -> None:
        for name in names:
            if (waiting := self._wanted.pop(name, None)) is not None:
                waiting.set_result(error)

    async def _run_child(self, names: list[str]) -> str | None:
        """Run the child for *names*; return None, or why it failed."""
        permits = [word for domain in self._domains for word in ("--permit", domain)]
        arguments = [*permits, str(self._folder), *map(str, times(self._clock)), *names]
        nothing = asyncio.subprocess.DEVNULL
        try:
            child = await start_module("emulator.http.minting", *arguments, stdin=nothing, stdout=nothing)
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


def _domain_names(domains: Iterable[str]) -> Iterator[str]:
    for domain in domains:
        if is_host_name(domain.lower()) and not is_address(domain):
            yield domain.lower()
        else:
            _log.warning("%s is not served over HTTPS: no certificate can be made for it", domain)


def is_address(text: str) -> bool:
    """Whether *text* is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
