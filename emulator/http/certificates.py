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
import re
import ssl
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from emulator.kernel.clock import DAY, Clock, Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.tasks import TaskGroup, kill, start_module

_log = logging.getLogger(__name__)

PERMITTED_DOMAINS: Final = ("aliyuncs.com", "fcapp.run", "localhost")
"""Domains, with everything below them, that the authority may always sign for."""

COMMON: Final = "localhost"
"""The leaf for names without a region, for loopback addresses, and for clients that name no host."""

REGIONS: Final = (
    "cn-hangzhou", "cn-shanghai", "cn-beijing", "cn-shenzhen", "cn-zhangjiakou", "cn-huhehaote", "cn-wulanchabu",
    "cn-qingdao", "cn-chengdu", "cn-guangzhou", "cn-heyuan", "cn-nanjing", "cn-fuzhou", "cn-hongkong",
    "cn-hangzhou-finance", "cn-shanghai-finance-1", "cn-shenzhen-finance-1", "cn-beijing-finance-1", "cn-north-2-gov-1",
    "ap-northeast-1", "ap-northeast-2", "ap-south-1", "ap-southeast-1", "ap-southeast-2", "ap-southeast-3",
    "ap-southeast-5", "ap-southeast-6", "ap-southeast-7", "eu-central-1", "eu-west-1", "me-central-1", "me-east-1",
    "us-east-1", "us-west-1",
)  # fmt: skip
"""Regions whose endpoints have a leaf made ahead. Source: endpoint tables of the official SDKs."""

_ENDPOINTS: Final = (
    "{}.aliyuncs.com", "mns.{}.aliyuncs.com", "mns.{}-internal.aliyuncs.com", "mns.{}-internal-vpc.aliyuncs.com",
    "{}.fc.aliyuncs.com", "{}-internal.fc.aliyuncs.com", "{}.fnf.aliyuncs.com",
    "oss-{}.aliyuncs.com", "oss-{}-internal.aliyuncs.com", "{}.oss.aliyuncs.com",
    "{}.fcapp.run", "{}-internal.fcapp.run", "{}-vpc.fcapp.run",
)  # fmt: skip

_PARENTS: Final = {
    COMMON: (
        "aliyuncs.com", "fnf.aliyuncs.com", "fc.aliyuncs.com", "oss.aliyuncs.com", "fcapp.run",
        "fc.localhost", "oss-accelerate.aliyuncs.com", "oss-accelerate-overseas.aliyuncs.com",
    ),
    **{region: tuple(endpoint.format(region) for endpoint in _ENDPOINTS) for region in REGIONS},
}  # fmt: skip
"""The leaves made ahead: each is for every name one label below its parents."""

_LEAF_BY_PARENT: Final = {parent: leaf for leaf, parents in _PARENTS.items() for parent in parents}

AUTHORITY_DAYS: Final = 365
AUTHORITY_RENEWAL_DAYS: Final = 60
LEAF_DAYS: Final = 90
LEAF_RENEWAL_DAYS: Final = 15
LEAVES_KEPT: Final = 1000

_FACTS = r"localyun not-after=([0-9]+) key-id=([0-9a-f]+) names=([0-9a-z_.,*-]+)\n"
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
"""Names of functions have underscores, and clients ask for them although a host name in DNS has none."""
_LONGEST_NAME: Final = 240  # leaves room for the rest of a file name; DNS itself allows 253


@frozen
class Facts:
    """The first line of a certificate's file: its end, the authority's key that signed it, its names or domains."""

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
    """Whether the authority need not be renewed yet and permits *domains*."""
    return facts.not_after - AUTHORITY_RENEWAL_DAYS * DAY > now and {*PERMITTED_DOMAINS, *domains} <= {*facts.names}


def leaf_names(leaf: str) -> tuple[str, ...]:
    """Return the host names of a leaf."""
    own = () if leaf in REGIONS else (leaf,)
    return (*own, *(f"*.{parent}" for parent in _PARENTS.get(leaf, ())))


def leaf_of(name: str) -> str:
    """Return the leaf for a host name; OpenSSL takes no wildcard for a label with an underscore."""
    label, _, parent = name.partition(".")
    return name if "_" in label else _LEAF_BY_PARENT.get(parent, name)


def is_host_name(text: str) -> bool:
    """Whether *text* is a host name in lower case that a certificate can be made for."""
    return 0 < len(text) <= _LONGEST_NAME and all(_LABEL.fullmatch(label) for label in text.split("."))


def is_permitted(name: str, domains: Iterable[str]) -> bool:
    """Whether the authority may sign for *name*: one of its domains, or below one."""
    return any(name == domain or name.endswith(f".{domain}") for domain in (*PERMITTED_DOMAINS, *domains))


def _facts(path: Path) -> Facts | None:
    try:
        with path.open(encoding="ascii") as file:
            match = re.fullmatch(_FACTS, file.readline())
    except (OSError, UnicodeDecodeError):  # the child process will fail too, and report why
        return None
    if match is None:
        return None
    return Facts(not_after=Millis(int(match[1])), key_id=match[2], names=tuple(match[3].split(",")))


_CHILD_S: Final = 30
_BATCH: Final = 64


class NameRefused(Exception):
    """No certificate is made for this name."""


class MintingFailed(Exception):
    """The child process that makes certificates has failed."""


class CertificateAuthority:
    """Keeps ``ca.pem``, its key and the leaves in *folder*; hands out server contexts.

    *accepts* decides whether the emulator serves a host name. *clock* has to be real time, since clients judge the
    certificates by theirs. Of *domains* those that are addresses or no host names are ignored; they are served over
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
        leaves = {*_PARENTS, *(self._leaf(name) for name in names)}
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
        if context is None or renewal <= self._clock.now():
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
        return renewal if good and renewal > self._clock.now() else None

    def _good_authority(self) -> Facts | None:
        """Read the facts of the authority on disk; None when it has to be made now."""
        facts = authority_facts(self._folder)
        return facts if facts is not None and is_good_authority(facts, self._clock.now(), self._domains) else None

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
        arguments = [*permits, str(self._folder), str(self._clock.now()), *names]
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
