"""Calls to a running emulator, signed like those of SDKs: the admin API and the services.

Every client command begins with `connect`; `until` and `pause` wait for a state of the emulator.
"""

import json
import os
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from emulator import keyfile
from emulator.cli import endpoint
from emulator.cli.connection import Connection, Reply
from emulator.cli.output import CallRefused, CommandFailed, _, complain, note, reason_of, spoken, wants_json
from emulator.config import Config, Settings
from emulator.kernel.clock import SystemClock
from emulator.kernel.frozen import replace
from emulator.kernel.metering import UNMETERED
from emulator.keyfile import InstallationKeys

if TYPE_CHECKING:
    from emulator.http.message import Request

FC_VERSION = "2016-08-15"
FC3_VERSION = "2023-03-30"
FNF_VERSION = "2019-03-15"
MNS_VERSION = "2022-01-19"
STS_VERSION = "2015-04-01"

CALL_TIMEOUT_S = 90.0
"""Seconds; longer than the longest wait a service offers (60 s)."""

POLL_INTERVAL_S = 0.02
"""Seconds between two checks of `until`."""


class Client(Connection):
    """A connection whose calls are signed with its keys.

    Every call raises NoEmulator when none answers and, unless it says otherwise, CallRefused for an error.
    """

    def looking(self) -> "Client":
        """Return a client for read-only calls that do not count as usage."""
        from copy import copy  # few commands need a read-only client

        looking = copy(self)
        looking._always = {UNMETERED: "1"}
        return looking

    @property
    def account(self) -> str:
        """The account of the keys; keys in the configuration may belong to an account that was added.

        Raises: CallRefused; CommandFailed for keys that the emulator does not have.
        """
        self._learn_account()
        return self.keys.account_id

    def _learn_account(self) -> None:
        if self._given_over is not None:
            caller = self.rpc(STS_VERSION, "GetCallerIdentity", {})
            self._found_keys = replace(self.keys, account_id=str(caller["AccountId"]))

    def use_working_keys(self) -> None:
        """Find out the account of the keys in the configuration; if they are refused, use the emulator's own."""
        try:
            self._learn_account()
        except CallRefused:
            raise
        except CommandFailed:
            refused, self._found_keys = self.keys.access_key_id, self._given_over
            self._given_over = None
            complain(
                _(
                    "the key {key} in this shell is not one of this emulator's; the emulator's own keys are used",
                    key=refused,
                )
            )

    def account_of(self, health: Mapping[str, Any]) -> str:
        """Return the account of the working keys, given the emulator's *health*."""
        own = self._given_over is None
        return str((health.get("account") if own else None) or self.keys.account_id)

    def admin_address(self, page: str, member: str) -> str | None:
        """Return an address contained in the answer of an admin page; None when this emulator does not give it."""
        try:
            return str(self.admin("GET", page)[member])
        except (CommandFailed, KeyError):  # no token: the emulator is not the one of this state folder
            return None

    def other_regions(self) -> list[str]:
        """Return the regions that have resources, except this client's."""
        return [each for each in self.admin("GET", "status").get("regions", ()) if each != self.keys.region]

    def admin(self, method: str, page: str, content: Mapping[str, Any] | None = None, **query: str) -> dict[str, Any]:
        """Call an admin page, with *content* as the JSON body of a POST, and return its JSON."""
        body = json.dumps(content or {}).encode() if method == "POST" else b""
        return self._admin(method, page, query, body)

    def admin_bytes(self, page: str, **query: str) -> bytes:
        """Return the whole body of an admin page's answer."""
        return b"".join(self.admin_text(page, **query))

    def admin_put(self, page: str, content: bytes, **query: str) -> dict[str, Any]:
        """PUT *content* to an admin page and return its JSON."""
        return self._admin("PUT", page, query, content, "application/octet-stream")

    def _admin(
        self, method: str, page: str, query: Mapping[str, str], body: bytes, kind: str = "application/json"
    ) -> dict[str, Any]:
        headers = {"X-Localyun-Token": self.keys.admin_token, "Content-Type": kind}
        with _own_words():
            return self.accepted(self.send(method, _page(page, query), headers, body, CALL_TIMEOUT_S)).json()

    def admin_text(self, page: str, **query: str) -> Iterator[bytes]:
        """Yield the text of an admin page as it arrives, without a time limit."""
        yield from self._stream("GET", _page(page, query))

    def _stream(self, method: str, target: str, body: bytes = b"") -> Iterator[bytes]:
        headers = {"X-Localyun-Token": self.keys.admin_token, "Content-Type": "application/json"}
        with _own_words(), self.transaction(method, target, headers, body, None) as transaction:
            if transaction.status != 200:
                raise self.explained(Reply(transaction).refusal())
            yield from transaction.pieces()

    def admin_steps(self, page: str, content: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """POST to an admin page that answers with a line of JSON per event, and yield each; without a time limit."""
        yield from map(json.loads, lines_of(self._stream("POST", _page(page, {}), json.dumps(content).encode())))

    def workflow(self, action: str, timeout_s: float = CALL_TIMEOUT_S, /, **parameters: str) -> dict[str, Any]:
        """Call an operation of Serverless Workflow and return its answer."""
        return self.rpc(FNF_VERSION, action, parameters, timeout_s)

    def workflow_pages(self, action: str, member: str, /, **parameters: str) -> Iterator[dict[str, Any]]:
        """Yield every item of a list operation of Serverless Workflow; *member* holds the items of a page."""
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
        """Call an operation of the RPC service that has this API version and return its answer."""
        from emulator.auth import rpc  # a command uses one signature scheme only, or none
        from emulator.kernel.ids import RandomIds

        signed = rpc.signed_parameters(
            "POST",
            {"Action": action, "Version": version, "RegionId": self.keys.region, **parameters},
            key_id=self.keys.access_key_id,
            secret=self.keys.access_key_secret,
            timestamp=SystemClock().now(),
            nonce=RandomIds().uuid(),
        )
        body = urlencode(signed, quote_via=quote).encode("ascii")
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.accepted(self.send("POST", "/", headers, body, timeout_s)).json()

    def functions(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str], timeout_s: float | None = CALL_TIMEOUT_S
    ) -> Reply:
        """Call an operation of Function Compute; *path* holds the version and is percent-encoded."""
        from emulator.auth import fc  # only a call that is signed with this scheme loads it

        return self.accepted(self._signed(fc.authorization, method, path, body, headers, timeout_s))

    def messages(self, method: str, target: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        """Call an operation of the Message Service and return its answer, errors too: `emulator.cli.mns` reads XML.

        *target* is path and query, percent-encoded.
        """
        from emulator.auth import mns  # only a call that is signed with this scheme loads it

        return self._signed(mns.authorization, method, target, body, headers, CALL_TIMEOUT_S)

    def objects(self, method: str, target: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        """Call an operation of the object store, at ``/bucket/key?query``, and return its answer, errors too."""
        from emulator.auth import oss  # only for files with buckets

        return self._signed(oss.authorization, method, target, body, headers, CALL_TIMEOUT_S)

    def _signed(
        self,
        authorization: "Callable[[Request, str, str], str]",
        method: str,
        target: str,
        body: bytes,
        headers: Mapping[str, str],
        timeout_s: float | None,
    ) -> Reply:
        from emulator.http.message import Headers, Request  # imported with the scheme
        from emulator.wire.dates import http_date

        host = self._host or urlsplit(self.endpoint.http).netloc
        complete = {"Date": http_date(SystemClock().now()), "Host": host, **headers}
        request = Request(method, target, Headers(complete.items()), body)
        complete["Authorization"] = authorization(request, self.keys.access_key_id, self.keys.access_key_secret)
        return self.send(method, target, complete, body, timeout_s)


@contextmanager
def _own_words() -> Iterator[None]:
    """Mark a refusal raised inside as the emulator's own, unless it passes on that of a service."""
    try:
        yield
    except CallRefused as error:
        error.is_own = error.code in _OWN_CODES
        raise


_OWN_CODES = frozenset(
    {
        *("InvalidParameter", "InvalidClock", "NotSettled", "SkipEnded", "LimitExceeded", "InvalidCheckpoint"),
        *("NotKept", "NotFound", "InvalidArgument", "InvalidAccountId", "AccountAlreadyExists"),
    }
)
"""Error codes of the admin API itself; other codes are those of the services behind it."""


def _page(page: str, query: Mapping[str, str]) -> str:
    return f"/_localyun/{page}?{urlencode(query)}" if query else f"/_localyun/{page}"


def lines_of(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of text that arrives in *pieces*, the last one also without a line end."""
    pending = b""
    for piece in pieces:
        *lines, pending = (pending + piece).split(b"\n")
        yield from lines
    if pending:
        yield pending


def connect(settings: Settings, environ: Mapping[str, str] = os.environ) -> Client:
    """Return a client for the emulator that the settings and *environ* name; whether it answers is not checked.

    Raises: WrongUsage, CommandFailed.
    """
    config = settings.config
    try:
        keys = keyfile.load(config)
    except keyfile.KeyFileDamaged as error:
        raise CommandFailed(spoken(str(error))) from error
    except OSError as error:
        text = _("the keys in {state} cannot be read: {reason}", state=config.state, reason=reason_of(error))
        raise CommandFailed(text) from error
    where = endpoint.find(config, environ, is_named=settings.origins["state"] == "--state")
    own = keys
    if own is not None and where.pid is not None:  # the region with which the running emulator was started
        own = replace(own, **where.keys) if where.keys is not None else _kept(config)
        keys = own if config.access_key_id is None else keys
    if keys is None and config.access_key_id and config.access_key_secret and config.account_id:
        # An emulator elsewhere, as in a container, known from the environment alone, as `localyun env` prints it there.
        keys = keyfile.InstallationKeys(
            access_key_id=config.access_key_id,
            access_key_secret=config.access_key_secret,
            account_id=config.account_id,
            region=config.region or "cn-hangzhou",
            admin_token=environ.get("LOCALYUN_TOKEN", ""),
        )
    given_over = own if keys != own else None
    region = config.region if own is not None and config.region != own.region else None
    if keys is not None and region is not None:
        keys = replace(keys, region=region)
    client = Client(where, keys, config.state, given_over=given_over, region=region or "")
    if where.source == endpoint.CONFIGURED and keys is not None:
        client.compare()  # this folder's emulator does not run: another one may answer at the usual port
    return client


def connected(settings: Settings) -> Client:
    """Return a client for an emulator that answers.

    Raises: WrongUsage, CommandFailed, NoEmulator; OtherEmulator when it is not that of the keys.
    """
    client = connect(settings)
    client.health()
    return client


def say_where_else(settings: Settings) -> None:
    """Print the regions and accounts that a missing resource may be in, if the emulator knows of any."""
    with suppress(CommandFailed):
        client = connect(settings)
        status, account = client.admin("GET", "status"), client.account
        if others := client.other_regions():
            text = _("only {region} was searched; to search {others}: {command}", region=client.keys.region,
                     others=", ".join(others), command=f"LOCALYUN_REGION={others[0]} localyun ...")  # fmt: skip
            complain(text)
        accounts = dict.fromkeys(each["account"] for each in status.get("places", ()))
        if others := [each for each in accounts if each != account]:
            complain(_("only account {account} was searched; there are resources in {others}; {advice}",
                       account=account, others=", ".join(others), advice=_to_reach(others[0], status)))  # fmt: skip


def say_what_is_elsewhere(arguments: Namespace, client: Client, kind: str) -> None:
    """After a list, print how many of its *kind* other regions and accounts have, and how to list those."""
    if wants_json(arguments):
        return
    with suppress(CommandFailed):  # without the admin token other accounts are unknown
        region, account, status = client.keys.region, client.account, client.admin("GET", "status")
        counted = [each for each in status.get("places", ()) if each.get(kind)]
        regions = {each["region"]: each[kind] for each in counted if each["account"] == account}
        regions.pop(region, None)
        if regions:
            others = ", ".join(f"{name} ({number})" for name, number in regions.items())
            text = _("only {region} is listed; to list {others}: {command}", region=region, others=others,
                     command=f"LOCALYUN_REGION={next(iter(regions))} localyun ...")  # fmt: skip
            note(text)
        accounts = {each["account"]: 0 for each in counted if each["account"] != account}
        if accounts:
            for each in counted:
                if each["account"] in accounts:
                    accounts[each["account"]] += each[kind]
            others = ", ".join(f"{name} ({number})" for name, number in accounts.items())
            note(_("only account {account} is listed; there are more in {others}; {advice}",
                   account=account, others=others, advice=_to_reach(next(iter(accounts)), status)))  # fmt: skip


def _to_reach(account: str, status: Mapping[str, Any]) -> str:
    """Return how to get a key of another account: by a command, or, for the emulator's own, without variables."""
    if account == status.get("account"):
        return _("{variable} in this shell chooses the account", variable="LOCALYUN_ACCESS_KEY_ID")
    return _("{command} prints a key", command=f"localyun account add {account}")


def _kept(config: Config) -> InstallationKeys | None:
    """Return the keys in the state folder."""
    return keyfile.load(replace(config, access_key_id=None, access_key_secret=None, account_id=None, region=None))


def pause(seconds: float) -> None:
    """Do nothing for *seconds*."""
    from threading import Event  # few commands pause

    Event().wait(seconds)


def until(reached: Callable[[], bool], timeout_s: float) -> bool:
    """Call *reached* repeatedly; return whether it returned true within *timeout_s*."""
    clock = SystemClock()
    deadline = clock.monotonic() + timeout_s
    while not reached():
        if clock.monotonic() >= deadline:
            return False
        pause(POLL_INTERVAL_S)
    return True
