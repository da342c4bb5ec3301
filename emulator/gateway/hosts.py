"""Host names: normalising them, which are served, and what account and region they name.

Source: endpoint tables of the official SDKs; the allow-list is the defence against DNS rebinding.
"""

import asyncio
import ipaddress
import logging
import os
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

from emulator.http.certificates import CertificateAuthority, MintingFailed, is_address
from emulator.http.message import Request
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import FUNCTION_SUFFIX, REGION_SUFFIX
from emulator.kernel.tasks import TaskGroup
from emulator.redirect.environment import write_bundle

_log = logging.getLogger(__name__)

_FRONT = "fc"

EMULATED_SUFFIXES = (".aliyuncs.com", ".fcapp.run", ".fc.devsapp.net")

_LOCAL = r"(?P<region>[a-z][a-z0-9-]{0,63})\.region\.localhost"

# Texts, not compiled patterns: most clients come to a loopback address, and a start does not pay for the others.
_MNS = r"(?P<account>[^.]+)\.mns(?:-[a-z0-9-]+)?\.(?P<region>[a-z0-9-]+)\.aliyuncs\.com"
_FC_ACCOUNT = r"(?P<account>[^.]+)\.(?P<region>[a-z0-9-]+)\.fc\.aliyuncs\.com"
_FC = (
    r"(?:(?P<r1>[a-z]+-[a-z0-9-]+)\.fc|fcv3(?:-vpc|-internal)?\.(?P<r2>[a-z0-9-]+)|fc\.(?P<r3>[a-z0-9-]+)|fc)"
    r"\.aliyuncs\.com"
)
_FC_TRIGGER = r"\.(?P<region>[a-z]+-[a-z0-9-]+)(?:-internal|-vpc)?\.(?:fcapp\.run|fc\.devsapp\.net)\Z"
_OSS = (
    r"(?:[a-z0-9-]+\.)?(?:oss-(?:accelerate(?:-overseas)?|(?P<r1>[a-z0-9-]+?)(?:-internal)?)|(?P<r2>[a-z]+-[a-z0-9-]+)\.oss)"
    r"\.aliyuncs\.com"
)
_PRODUCT = (
    r"(?:(?:(?P<account>[^.]+)\.)?(?P<r1>[a-z]+-[a-z0-9-]+)\.fnf|(?:fnf|mns-open|sts|sts-vpc|ros|location|location-readonly)"
    r"(?:\.(?P<r2>[a-z]+-[a-z0-9-]+))?)\.aliyuncs\.com"
)
_LOG = r"(?:[a-z0-9][a-z0-9-]*\.)?(?P<region>[a-z0-9-]+?)(?:-intranet)?\.log\.aliyuncs\.com"
_NETWORKS = ("-internal-vpc", "-internal", "-vpc", "-control")


@frozen(kw_only=False)
class HostFacts:
    """What a host name says. ``service`` is a front's name or ""; empty texts mean that it does not say."""

    service: str = ""
    account: str = ""
    region: str = ""


@lru_cache(maxsize=256)
def normalise(raw: str) -> str:
    """Return the bare host name: lower case, without the scheme some clients put there, without port, dot or slash."""
    host = raw.strip().lower()
    for scheme in ("http://", "https://"):
        host = host.removeprefix(scheme)
    host = host.rstrip("/. \t")
    if host.startswith("["):
        return host[1:].partition("]")[0]
    if host.count(":") > 1:
        return host  # a bare IPv6 literal
    name, colon, port = host.partition(":")
    return name if colon and port.isdecimal() else host


def host_of(request: Request) -> str:
    """Return the name the client wanted to reach: the proxy target, else the Host header (TLS names agree with it)."""
    return normalise(request.authority or request.headers.get("host"))


def facts(host: str) -> HostFacts:
    """Read service, account and region out of an emulated host name; any other says nothing."""
    if not host.endswith(EMULATED_SUFFIXES):
        match = re.fullmatch(_LOCAL, host) if host.endswith(REGION_SUFFIX) else None
        return HostFacts("", "", match["region"]) if match else HostFacts()
    if match := re.fullmatch(_MNS, host):
        return HostFacts("mns", _digits(match["account"]), _region(match["region"]))
    if match := re.fullmatch(_FC_ACCOUNT, host):
        return HostFacts("fc", _digits(match["account"]), _region(match["region"]))
    if match := re.fullmatch(_PRODUCT, host):
        name = "fnf" if match["r1"] or host.startswith("fnf.") else host.partition(".")[0].removesuffix("-vpc")
        account = _digits(match["account"] or "")
        return HostFacts(name.removesuffix("-readonly"), account, _region(match["r1"] or match["r2"] or ""))
    if match := re.fullmatch(_FC, host):
        return HostFacts("fc", "", _region(match["r1"] or match["r2"] or match["r3"] or ""))
    if match := re.search(_FC_TRIGGER, host):
        return HostFacts("fc", "", _region(match["region"]))
    if match := re.fullmatch(_LOG, host):
        return HostFacts("log", "", match["region"])
    if match := re.fullmatch(_OSS, host):
        return HostFacts("oss", "", _region(match["r1"] or match["r2"] or ""))
    return HostFacts()


class HostPolicy:
    """The host names that are answered.

    *extra* are names the user allowed. With *wide*, for a server that listens beyond loopback, every IP literal is
    answered too: DNS rebinding needs a name.
    """

    def __init__(self, extra: Iterable[str] = (), *, wide: bool = False) -> None:
        self._extra = frozenset(name.lower() for name in extra)
        self._wide = wide
        self._known: dict[str, bool] = {}
        self._owned: dict[str, str] = {}

    def allow(self, host: str, front: str) -> None:
        """Answer *host* from now on; requests to it are for *front*, whatever else they look like."""
        self._owned[host.lower()] = front

    def forget(self, host: str) -> None:
        """Revoke `allow` for a name."""
        self._owned.pop(host.lower(), None)

    def front_of(self, host: str) -> str:
        """Return the front that *host* (normalised) belongs to, empty when it belongs to none."""
        return self._owned.get(host) or (_FRONT if host.endswith(FUNCTION_SUFFIX) else "")

    def allows(self, host: str) -> bool:
        """Whether *host* (normalised) may be asked for."""
        known = host in self._owned or self._known.get(host)
        if known is None:
            known = self._judge(host)
            if len(self._known) < 1024:
                self._known[host] = known
        return known

    def emulates(self, host: str) -> bool:
        """Whether the emulator stands in for *host* (normalised): a name, and not one of this machine."""
        return self.allows(host) and not is_loopback(host) and not is_address(host)

    def _judge(self, host: str) -> bool:
        if host in self._extra or is_loopback(host) or host.endswith(EMULATED_SUFFIXES):
            return True
        return self._wide and is_address(host)


@lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Whether *host* (normalised) names this machine's loopback."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _digits(label: str) -> str:
    return label if label.isdigit() else ""


def _region(label: str) -> str:
    return next((label.removesuffix(each) for each in _NETWORKS if label.endswith(each)), label)


CERTIFICATE_PAUSES_S = (0.0, 10.0, 60.0)
"""Seconds before certificates are made, and after each failed try."""


class Bundle:
    """The file of certificates that programs trust: the private authority's, and those of this machine.

    It is there a moment after the emulator listens, because making the authority takes as long as the start, and it is
    written anew when a name needs a new certificate.
    """

    def __init__(self, authority: CertificateAuthority, file: Path) -> None:
        self._authority = authority
        self._file = file
        self._tasks = TaskGroup("certificates")
        self._tries: set[asyncio.Future[None]] = set()
        self._closed = False
        self._alone = asyncio.Lock()
        """Held while the file is written: there is one draft of it in a process."""

    def renew(self) -> None:
        """Have what is missing of the authority and its certificates made, and the file written.

        On a machine that is busy beyond measure it is tried again.
        """
        if self._closed:
            return
        tried: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tries.add(tried)

        def over(_: object) -> None:
            self._tries.discard(tried)
            if not tried.done():
                tried.set_result(None)

        # not in a finally of the task: one that is ended before its first step never gets there
        self._tasks.spawn(self._prepare(over), "certificates").add_done_callback(over)

    async def settled(self) -> None:
        """Wait until the file is written, or the first try to do so has failed; also while it is written anew.

        A program that read it earlier would find none, or one without its name, and Node.js looks for it only once.
        """
        while self._tries:
            await asyncio.wait(self._tries)

    async def close(self) -> None:
        """Make no more certificates; nobody waits for them any longer."""
        self._closed = True
        await self._tasks.close()

    async def _prepare(self, over: Callable[[object], None]) -> None:
        for pause_s in CERTIFICATE_PAUSES_S:
            await asyncio.sleep(pause_s)
            try:
                async with self._alone:
                    certificate = await self._authority.ensure_ca()
                    await asyncio.to_thread(write_bundle, certificate, self._file, os.environ)
            except (MintingFailed, OSError) as error:
                _log.warning("no certificates, so https will not work: %s", error)
            else:
                return
            finally:
                over(None)


class FunctionNames:
    """Has host names of functions answered, and certified for HTTPS (Function Compute's port `HostNames`)."""

    def __init__(self, policy: HostPolicy, authority: CertificateAuthority, bundle: Bundle) -> None:
        self._policy = policy
        self._authority = authority
        self._bundle = bundle

    def allow(self, host: str, *, https: bool) -> None:
        """Answer *host* from now on, with *https* over TLS as well."""
        self._policy.allow(host, _FRONT)
        if https and self._authority.register(host):
            self._bundle.renew()

    async def certified(self) -> None:
        """Wait until programs that read the authority's file trust every name allowed, or until that has failed."""
        await self._bundle.settled()

    def emulates(self, host: str) -> bool:
        """Whether *host* (normalised) is answered here, now, and is no name of this machine."""
        return self._policy.emulates(host)

    def forget(self, host: str) -> None:
        """Answer *host* no longer; the authority goes on permitting it until the next start."""
        self._policy.forget(host)
        self._authority.unregister(host)
