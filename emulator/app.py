"""The composition root: builds everything, joins the services through their ports, starts and stops it.

Two emulators can live in one process; nothing here or below keeps state outside an `Emulator` object.
"""

import asyncio
import contextlib
import logging
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from emulator import __version__
from emulator.auth.keys import AccessKey, Keyring
from emulator.auth.nonces import NonceMemory
from emulator.auth.schemes import Authenticator
from emulator.config import Config
from emulator.dialect.context import Front
from emulator.gateway.admin import AdminFront
from emulator.gateway.hosts import EMULATED_SUFFIXES, HostPolicy
from emulator.gateway.pipeline import Pipeline
from emulator.gateway.server import LOOPBACK, Server
from emulator.gateway.unavailable import UnknownVersionFront, unavailable_fronts
from emulator.http.certificates import CertificateAuthority
from emulator.keyfile import InstallationKeys, load_or_create
from emulator.kernel.clock import SystemClock
from emulator.kernel.identity import AccountId, Region, World
from emulator.kernel.ids import Ids, RandomIds
from emulator.kernel.timers import LoopTimers
from emulator.oss.front import OssFront
from emulator.services.mns.api import MnsFront
from emulator.services.mns.open_api import MnsOpenFront
from emulator.services.sts.api import StsFront
from emulator.services.sts.service import SCHEMA as STS_SCHEMA
from emulator.services.sts.service import TemporaryKeys
from emulator.storage.database import Database
from emulator.storage.folder import StateFolder
from emulator.storage.migrations import migrate

_log = logging.getLogger(__name__)

STOP_GRACE_S = 5.0


class Emulator:
    """One running emulator.

    ``await start()`` returns when calls are answered; `stop` ends everything it started, in the opposite order.
    `stopped` is set when somebody asked for the end through the admin API.
    """

    def __init__(self, config: Config, *, ids: Ids | None = None) -> None:
        self.config = config
        self.stopped = asyncio.Event()
        self._ids = ids or RandomIds()
        self._clock = SystemClock()
        self._closing = contextlib.AsyncExitStack()

    # --- life ----------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Take the state folder, open the database, bring up the services, listen.

        Raises: FolderInUse, StorageDamaged, StateTooNew, KeyFileDamaged, PortInUse, OSError; nothing is left running
        then.
        """
        try:
            await self._start()
        except BaseException:
            await self._closing.aclose()
            raise

    async def stop(self) -> None:
        """Answer what is under way, then end everything; what was acknowledged is on disk."""
        await self._closing.aclose()

    async def _start(self) -> None:
        config, ids, clock = self.config, self._ids, self._clock
        self._started = clock.monotonic()
        folder = self._closing.enter_context(StateFolder(config.state))
        self.keys = load_or_create(config, ids)
        self.world = World(AccountId(self.keys.account_id), Region(self.keys.region))
        work = Path(self._closing.enter_context(_temporary_folder())) if config.ephemeral else folder.path
        self._database = Database(None if config.ephemeral else work / "state.db", config.durability)
        self._closing.callback(self._database.close)
        migrate(self._database, [STS_SCHEMA])
        timers = LoopTimers(clock, asyncio.get_running_loop())
        self._closing.callback(timers.close)
        self._temporary = TemporaryKeys(self._database, timers, clock, ids)
        self._server = self._make_server(folder.path / "ca")
        await self._server.start()
        self._closing.push_async_callback(self._server.stop, STOP_GRACE_S)

    def _make_server(self, ca_folder: Path) -> Server:
        config = self.config
        policy = HostPolicy(config.allowed_hosts, wide=config.host is not None)
        pipeline = Pipeline(
            fronts=self._fronts(),
            authenticator=Authenticator(
                Keyring(_own_key(self.keys), self._temporary), lenient=config.auth == "lenient", nonces=NonceMemory()
            ),
            policy=policy,
            database=self._database,
            clock=self._clock,
            ids=self._ids,
            account=self.world.account,
            region=self.world.region,
        )
        authority = CertificateAuthority(
            ca_folder, accepts=policy.allows, clock=self._clock, domains=config.allowed_hosts
        )
        return Server(
            pipeline,
            clock=self._clock,
            hosts=config.host or LOOPBACK,
            port=config.port,
            https_port=config.https_port,
            authority=authority,
        )

    def _fronts(self) -> dict[str, Front]:
        ids = self._ids
        return {
            "admin": AdminFront(self, self.keys.admin_token, ids),
            "mns": MnsFront(ids),
            "mns-open": MnsOpenFront(ids),
            "oss": OssFront(ids),
            "sts": StsFront(self._temporary, ids),
            "rpc": UnknownVersionFront(ids),
            **unavailable_fronts(ids),
        }

    # --- what it tells (gateway.admin.Controls) --------------------------------------------------------------------

    @property
    def http_url(self) -> str:
        """``http://127.0.0.1:PORT``."""
        return f"http://127.0.0.1:{self._server.port}"

    @property
    def https_url(self) -> str:
        """``https://127.0.0.1:PORT``."""
        return f"https://127.0.0.1:{self._server.https_port}"

    def health(self) -> dict[str, Any]:
        """Return status, version, services, account and region."""
        return {
            "status": "ok",
            "version": __version__,
            "services": {"sts": "available"},
            "account": self.world.account,
            "region": self.world.region,
        }

    def status(self) -> dict[str, Any]:
        """Return health and more: process, ports, functions, counts."""
        return {
            **self.health(),
            "pid": os.getpid(),
            "uptime_s": round(self._clock.monotonic() - self._started, 1),
            "http": self.http_url,
            "https": self.https_url,
            "state": str(self.config.state),
            "auth": self.config.auth,
            "functions": [],
        }

    async def reset(self) -> None:
        """Forget everything the services know; functions of the folder stay."""

    def stop_soon(self) -> None:
        """End the emulator after the answer that is under way."""
        self.stopped.set()

    def logs(self, function: str, lines: int, *, follow: bool) -> AsyncIterator[bytes]:
        """Yield log lines."""
        raise NotImplementedError

    def code_download(self, token: str) -> bytes | None:
        """Return a code package."""
        del token


@contextlib.contextmanager
def _temporary_folder() -> Any:
    with tempfile.TemporaryDirectory(prefix="localyun-") as folder:
        yield folder


def _own_key(keys: InstallationKeys) -> AccessKey:
    return AccessKey(
        key_id=keys.access_key_id,
        secret=keys.access_key_secret,
        account=AccountId(keys.account_id),
        arn=f"acs:ram::{keys.account_id}:root",
    )


def served(policy: HostPolicy, name: str) -> bool:
    """Tell whether a certificate may be made for *name*."""
    return policy.allows(name) and (name.endswith(EMULATED_SUFFIXES) or policy.is_loopback(name))
