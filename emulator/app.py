"""The composition root: builds everything, joins the services through their ports, starts and stops it.

Two emulators can live in one process; nothing here or below keeps state outside an `Emulator` object.
"""

import asyncio
import contextlib
import logging
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from emulator import __version__
from emulator.auth.keys import AccessKey, Keyring
from emulator.auth.nonces import NonceMemory
from emulator.auth.schemes import Authenticator
from emulator.config import Config
from emulator.dialect.context import Front
from emulator.gateway.admin import AdminFront
from emulator.gateway.hosts import HostPolicy
from emulator.gateway.pipeline import Pipeline
from emulator.gateway.server import LOOPBACK, Server
from emulator.gateway.unavailable import UnknownVersionFront, unavailable_fronts
from emulator.http.certificates import CertificateAuthority
from emulator.kernel.clock import Clock, SystemClock
from emulator.kernel.identity import AccountId, Region, World
from emulator.kernel.ids import Ids, RandomIds
from emulator.kernel.timers import LoopTimers
from emulator.keyfile import InstallationKeys, load_or_create
from emulator.oss.front import OssFront
from emulator.services.fc.front import FcFront
from emulator.services.fc.logbook import LogBook
from emulator.services.fc.runtime.instance import Credentials
from emulator.services.fc.runtime.pool import InstancePool
from emulator.services.fc.runtime.settings import RuntimeSettings
from emulator.services.fc.service import SCHEMA as FC_SCHEMA
from emulator.services.fc.service import FunctionCompute
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

SERVICES = ("fc", "sts")

DEFAULT_ROLE = "AliyunFcDefaultRole"
"""The role of functions that name none."""


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
        self._started = self._clock.monotonic()
        folder = self._closing.enter_context(StateFolder(self.config.state))
        self.keys = load_or_create(self.config, self._ids)
        self.world = World(AccountId(self.keys.account_id), Region(self.keys.region))
        # an ephemeral run keeps its keys and certificates, which clients know, and nothing else
        work = self._closing.enter_context(_temporary_folder()) if self.config.ephemeral else folder.path
        self._database = Database(None if self.config.ephemeral else work / "state.db", self.config.durability)
        self._closing.callback(self._database.close)
        migrate(self._database, [STS_SCHEMA, FC_SCHEMA])
        self._timers = LoopTimers(self._clock, asyncio.get_running_loop())
        self._closing.callback(self._timers.close)
        self._temporary = TemporaryKeys(self._database, self._timers, self._clock, self._ids)
        self._build_functions(work)
        policy = HostPolicy(self.config.allowed_hosts, wide=self.config.host is not None)
        self._authority = CertificateAuthority(
            folder.path / "ca", accepts=policy.allows, clock=self._clock, domains=self.config.allowed_hosts
        )
        self._server = self._build_server(policy)
        self._closing.push_async_callback(self._server.stop, STOP_GRACE_S)
        await self._server.bind()  # functions are told the ports, so these are taken first
        self._tell_functions(folder.path)
        await self._pool.start()
        self._closing.push_async_callback(self._pool.close)
        await self._functions.start(self.config.functions)
        self._closing.push_async_callback(self._functions.close)
        await self._server.start()

    def _build_functions(self, work: Path) -> None:
        self._logbook = LogBook(work / "logs" / "functions")
        self._instance_environment: dict[str, str] = {}
        settings = RuntimeSettings(
            interpreters={name: str(path) for name, path in self.config.runtimes.items()},
            extra_environment=self._instance_environment,
        )
        self._pool = InstancePool(self._clock, self._ids, settings, self._logbook.on_log)
        self._functions = FunctionCompute(
            database=self._database,
            clock=self._clock,
            ids=self._ids,
            timers=self._timers,
            instances=self._pool,
            code_folder=work / "code",
            logbook=self._logbook,
            account=self.world.account,
            region=self.world.region,
            endpoint=lambda: self.http_url,
            credentials=RoleKeys(self._temporary, self._clock),
        )

    def _tell_functions(self, folder: Path) -> None:
        """Fill in what instances find in their environment about this emulator."""
        self._instance_environment.update(
            LOCALYUN_ENDPOINT=self.http_url,
            LOCALYUN_HTTP_PORT=str(self._server.port),
            LOCALYUN_HTTPS_PORT=str(self._server.https_port),
            LOCALYUN_REGION=self.world.region,
            LOCALYUN_ACCOUNT_ID=self.world.account,
            LOCALYUN_CA_BUNDLE=str((folder / "ca" / "ca.pem").absolute()),
        )

    def _build_server(self, policy: HostPolicy) -> Server:
        pipeline = Pipeline(
            fronts=self._fronts(),
            authenticator=Authenticator(
                Keyring(_own_key(self.keys), self._temporary),
                lenient=self.config.auth == "lenient",
                nonces=NonceMemory(),
            ),
            policy=policy,
            database=self._database,
            clock=self._clock,
            ids=self._ids,
            account=self.world.account,
            region=self.world.region,
        )
        return Server(
            pipeline,
            clock=self._clock,
            hosts=self.config.host or LOOPBACK,
            port=self.config.port,
            https_port=self.config.https_port,
            authority=self._authority,
        )

    def _fronts(self) -> dict[str, Front]:
        ids = self._ids
        return {
            "admin": AdminFront(self, self.keys.admin_token, ids),
            "fc": FcFront(self._functions, ids),
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
            "services": dict.fromkeys(SERVICES, "available"),
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
            "functions": self._function_names(),
            "counts": self._functions.counts(),
        }

    def _function_names(self) -> list[str]:
        functions = self._functions.store.keys()
        return sorted(
            f"{service}/{function}" if service else function
            for world, service, function, version in functions
            if world == self.world and not version
        )

    async def reset(self) -> None:
        """Forget everything the services know; functions of the folder stay."""
        await self._functions.reset()

    def stop_soon(self) -> None:
        """End the emulator after the answer that is under way."""
        self.stopped.set()

    def logs(self, function: str, lines: int, *, follow: bool) -> AsyncIterator[bytes]:
        """Yield the last *lines* of a function's log, then new ones while following.

        Raises: FunctionNotFound.
        """
        return self._functions.logs(function, lines, follow=follow)

    def code_download(self, token: str) -> bytes | None:
        """Return the zip a GetFunctionCode answer pointed to, or None."""
        return self._functions.code_download(token)


class RoleKeys:
    """Gives functions the temporary keys of their role (the port `CredentialIssuer`)."""

    def __init__(self, temporary: TemporaryKeys, clock: Clock) -> None:
        self._temporary = temporary
        self._clock = clock

    def for_role(self, account: AccountId, role_arn: str, session: str) -> Credentials:
        """Return keys of *role_arn*; a function without a role acts as the default one."""
        role = role_arn.rpartition("/")[2] or DEFAULT_ROLE
        keys = self._temporary.for_role(account, role, session, self._clock.now())
        return Credentials(
            access_key_id=keys.access_key_id,
            access_key_secret=keys.access_key_secret,
            security_token=keys.security_token,
        )


@contextlib.contextmanager
def _temporary_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="localyun-") as folder:
        yield Path(folder)


def _own_key(keys: InstallationKeys) -> AccessKey:
    return AccessKey(
        key_id=keys.access_key_id,
        secret=keys.access_key_secret,
        account=AccountId(keys.account_id),
        arn=f"acs:ram::{keys.account_id}:root",
    )
