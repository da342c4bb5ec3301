"""Pushes to web addresses: the rule for allowed addresses, the push itself, and its outcome.

Source: HttpEndpoint page; FAQ on push time-outs for which answers count. That redirects are not followed is assumed.
"""

import asyncio
import ipaddress
import ssl
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from emulator.auth.push import PushSigner, SigningFailed, string_to_sign
from emulator.http.client import HttpClient
from emulator.http.client_connection import ClientError
from emulator.http.message import Origin, Unsendable, split_url
from emulator.kernel.clock import Clock
from emulator.kernel.ids import Ids
from emulator.services.mns.limits import BODY_SHOWN, PUSH_TIMEOUT_S
from emulator.services.mns.topics.model import Outcome, Publication, Push, Subscription
from emulator.services.mns.topics.notification import notification, push_headers

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_METADATA = frozenset({ipaddress.ip_address("100.100.100.200"), ipaddress.ip_address("169.254.169.254")})


class PushPolicy:
    """The rule for addresses that may be called, beside public ones.

    *allowed* has addresses, networks (``10.0.0.0/8``), host names (``*.test`` for all below) or ``*`` for any.
    """

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._networks: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []
        self._names: set[str] = set()
        self._suffixes: list[str] = []
        self._everywhere = False
        for entry in allowed:
            self._add(entry.strip().lower())

    def names(self, host: str) -> bool:
        """Whether *host* was allowed by its name, so that its addresses need not be."""
        return host in self._names or any(host.endswith(suffix) for suffix in self._suffixes)

    def permits(self, address: str) -> bool:
        """Whether a push may go to *address*."""
        parsed = ipaddress.ip_address(address)
        if parsed.is_loopback:
            return True
        if _is_forbidden(parsed):
            return False
        return self._everywhere or any(parsed in network for network in self._networks)

    def permits_named(self, address: str) -> bool:
        """Whether a push may go to *address*, which belongs to a host that was allowed by its name."""
        return not _is_forbidden(ipaddress.ip_address(address))

    def _add(self, entry: str) -> None:
        if entry == "*":
            self._everywhere = True
        elif entry.startswith("*."):
            self._suffixes.append(entry[1:])
        else:
            try:
                self._networks.append(ipaddress.ip_network(entry, strict=False))
            except ValueError:
                self._names.add(entry)


def _is_forbidden(address: _Address) -> bool:
    return (
        address.is_link_local or address.is_multicast or address.is_unspecified or address in _METADATA
    ) and not address.is_loopback


_KEPT_S = 1.0
"""How long a connection is kept for the next push: shorter than any server keeps one, as a push over a closing
connection fails and is retried only seconds later."""

_ANSWER_BYTES = 1024 * 1024


Trusted = Callable[[], Awaitable[Path]]
"""Returns a file of certificate authorities once it is there, or once it is known that it cannot be had."""


class GuardedClients:
    """Clients that call only where *policy* allows; *trusted* returns a file with further authorities for https."""

    def __init__(self, policy: PushPolicy, trusted: Trusted | None) -> None:
        self._policy = policy
        self._trusted = trusted
        self._clients: dict[tuple[bool, bool], HttpClient] = {}
        self._context: ssl.SSLContext | None = None

    async def client(self, origin: Origin, *, plain: bool) -> HttpClient:
        """Return the client for calls to *origin*; *plain*: without https even if the address says so."""
        secure = origin.scheme == "https" and not plain
        named = self._policy.names(origin.host)
        if secure and self._context is None:
            file = await self._trusted() if self._trusted is not None else None
            # reading the system's authorities takes tens of milliseconds
            self._context = await asyncio.get_running_loop().run_in_executor(None, _client_context, file)
        client = self._clients.get((secure, named))
        if client is None:
            client = self._clients[secure, named] = HttpClient(
                permit=self._policy.permits_named if named else self._policy.permits,
                ssl_context=self._context if secure else None,
                idle_s=_KEPT_S,
            )
        return client

    async def close(self) -> None:
        """Close the connections that are kept."""
        for client in self._clients.values():
            await client.close()
        self._clients.clear()


Home = Callable[[str], tuple[str, int] | None]
"""Address and port that serve a host name of this emulator by plain HTTP; None for any other name."""


class Pusher:
    """Pushes messages to web addresses, signed.

    *certificate_url* returns the address that serves the certificate. *home* finds function URLs, custom domains and
    the like, which lead back here. *trusted* returns a file with further certificate authorities for https.
    """

    def __init__(
        self,
        signer: PushSigner,
        clock: Clock,
        ids: Ids,
        policy: PushPolicy,
        *,
        certificate_url: Callable[[], str],
        home: Home = lambda host: None,
        trusted: Trusted | None = None,
    ) -> None:
        self._signer = signer
        self._clock = clock
        self._ids = ids
        self._certificate_url = certificate_url
        self._home = home
        self._clients = GuardedClients(policy, trusted)

    async def push(self, url: str, subscription: Subscription, publication: Publication) -> Outcome:
        """Push a message; never raises but when cancelled.

        A status from 200 to 299, with its whole body, within 5 seconds is success.
        """
        headers: list[tuple[str, str]] = []
        body, target = b"", ""
        try:
            origin, target = split_url(url)
            body = notification(subscription, publication).encode()
            headers = await self._signed(subscription, publication, body, target)
            address = self._home(origin.host)
            called = url if address is None else f"http://{origin.authority}{target}"
            response = await (await self._clients.client(origin, plain=address is not None)).request(
                "POST",
                called,
                timeout_s=PUSH_TIMEOUT_S,
                headers=headers,
                body=body,
                connect_to=address,
                max_response=_ANSWER_BYTES,
            )
        except (ClientError, Unsendable, SigningFailed) as error:
            push = Push(url=url, target=target, headers=tuple(headers), body=_shown(body))
            return Outcome(delivered=False, detail=str(error), push=push)
        push = Push(
            url=url,
            target=target,
            headers=tuple(headers),
            body=_shown(body),
            status=response.status,
            answer_headers=tuple(response.headers.pairs),
            answer_body=_shown(response.body),
        )
        return Outcome(delivered=200 <= response.status <= 299, detail=f"HTTP {response.status}", push=push)

    def warm(self) -> None:
        """Start the process that signs pushes, so that the first push need not wait for it."""
        self._signer.warm()

    async def certificate(self) -> bytes:
        """Return the certificate that receivers verify pushes with, as PEM.

        Raises: SigningFailed.
        """
        return await self._signer.certificate()

    async def close(self) -> None:
        """Close the connections that are kept."""
        await self._clients.close()

    async def _signed(
        self, subscription: Subscription, publication: Publication, body: bytes, target: str
    ) -> list[tuple[str, str]]:
        now = self._clock.now()
        headers = push_headers(
            subscription,
            publication,
            body,
            now=now,
            request_id=f"{now // 1000:08X}{self._ids.hex(16).upper()}",
            cert_url=self._certificate_url(),
        )
        headers.append(("Authorization", await self._signer.authorization(string_to_sign(headers, target))))
        return headers


def _shown(body: bytes) -> str:
    return body[:BODY_SHOWN].decode("utf-8", "replace")


def _client_context(trusted: Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if trusted is not None and trusted.exists():
        context.load_verify_locations(trusted)
    return context
