"""One emulator: locks its state folder, listens, loads the services, and ends all of it in the opposite order.

The server listens first. Loading the services takes most of the time of a start, so it happens in a thread while the
first clients already connect; their calls wait for it. Errors for reasons outside the program (a folder in use, a
damaged or newer file, a taken port) are raised before anything listens.

Two emulators can live in one process; nothing here or below keeps state outside an `Emulator` object.
"""

import asyncio
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator import __version__
from emulator.adapters.changed_rows import CHANGED_ROWS
from emulator.addresses import Addresses
from emulator.auth.authenticator import Authenticator, Keyring, NonceMemory
from emulator.auth.policy import Facts
from emulator.config import Config
from emulator.console import front as console_front
from emulator.console.changes import EVERYTHING, Changes
from emulator.console.front import Bridge, ConsoleFront, Pages, Sessions
from emulator.gateway import errors as gateway_errors
from emulator.gateway import recording
from emulator.gateway.admin import OWN, AdminFront, AdminOperations
from emulator.gateway.entrance import Entrance
from emulator.gateway.hosts import Bundle, FunctionNames, HostPolicy
from emulator.gateway.journal import Journal
from emulator.gateway.pipeline import Pipeline
from emulator.gateway.recording import Recording
from emulator.gateway.server import LOOPBACK, Server
from emulator.gateway.traffic import OpenRequests, Traffic
from emulator.http.certificates import CertificateAuthority
from emulator.http.proxy import FORWARDING, SERVED_ONLY, ProxyDesk
from emulator.kernel.clock import AdjustableClock
from emulator.kernel.identity import AccountId, Demand, Principal
from emulator.kernel.ids import Drawn, RandomIds, SeededDraws, SystemDraws
from emulator.kernel.metrics import Family, LoopLag, Sample, gauge, process_figures, render
from emulator.kernel.tasks import TaskGroup
from emulator.kernel.timers import LoopTimers
from emulator.keyfile import load_or_create
from emulator.lab import admin as lab_admin
from emulator.lab import doubles_admin
from emulator.lab.clock_table import load_clock
from emulator.lab.service import Bench, Lab, keep_series, next_series
from emulator.resets import Resets
from emulator.storage.database import Database
from emulator.storage.exchange import finish_interrupted
from emulator.storage.folder import StateFolder, scratch_folder, sweep_scratch
from emulator.storage.maintenance import keep_small, make_shrinkable, storage_figures
from emulator.storage.migration import Schema, migrate
from emulator.storage.steps import Performer
from emulator.usage import admin as usage_admin
from emulator.wire.request import Front

if TYPE_CHECKING:
    from emulator.composition import Composition
    from emulator.deploy.seeds import Seeds
    from emulator.joining import Foundation

_log = logging.getLogger(__name__)

STOP_GRACE_S = 5.0

SERVICES = ("fc", "fnf", "mns", "ram", "sts")
"""The services listed by the health page."""

_FOLDER = Path(__file__).parent
_SCHEMAS = [
    Schema(folder.rpartition("/")[2], _FOLDER / folder / "schema")
    for folder in (
        "services/sts", "services/workflow", "services/mns", "services/fc", "services/ram", "oss", "records", "deploy",
        "lab", "usage",
    )
]  # fmt: skip
"""Schemas that add columns come first, because SQLite reads all existing tables again for each column."""


class Emulator:
    """One running emulator.

    ``await start()`` returns when every service is up; `stop` ends everything it started. `stopped` is set when a
    request to the admin API asks for the end.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.stopped = asyncio.Event()
        self._draws = SeededDraws(config.seed) if config.seed is not None else None
        secrets = SystemDraws()
        self._ids = RandomIds(self._draws or secrets, secrets)
        self._clock = AdjustableClock()
        self._closing = AsyncExitStack()
        self._background = TaskGroup("emulator")
        self._traffic = Traffic()
        self._lag = LoopLag(self._clock)
        self._journal = Journal(self._clock)
        self._services: Composition | None = None
        self._bench = Bench(
            self._clock,
            self._ids,
            changed=lambda: self._open_requests.notify(),
            timers=lambda: self._timers,
            address=lambda: self.http_url,
            interfere=lambda stage: self._pipeline.interfere(stage),
            sign=lambda text: self.services.sign_push(text),
            operations=lambda service: self.services.operation_names(service),
            errors=lambda: self.services.error_codes(),
        )
        self._open_requests = OpenRequests(self._bench.mocks.resting)
        self._is_loaded = False

    async def start(self) -> None:
        """Lock the state folder, open the database, listen, start the services.

        Raises: FolderInUse, StorageDamaged, StateTooNew, KeyFileDamaged, PortInUse, OSError; nothing is left running
        then.
        """
        try:
            await self._start()
        except BaseException:
            await self._closing.aclose()
            raise

    async def stop(self) -> None:
        """Answer the requests under way, then end everything; whatever was acknowledged is on disk."""
        await self._closing.aclose()

    async def _start(self) -> None:
        self._started = self._clock.monotonic()
        self._watch()
        folder = self._closing.enter_context(StateFolder(self.config.state)).path
        self.keys = load_or_create(self.config, self._ids)
        self.tenant = self.keys.tenant
        work = folder if not self.config.ephemeral else self._closing.enter_context(scratch_folder())
        self._database = database = self._open_database(work)
        load_clock(database, self._clock, self.config.start_at, frozen=self.config.freeze)
        if self._draws is not None:
            self._draws.drawn = Drawn(next_series(database), 0)
            keep_series(database, self._draws.drawn.series)
        self._timers = timers = LoopTimers(self._clock, asyncio.get_running_loop())
        self._closing.callback(timers.close)
        timers.run_only_when(database.is_writable)

        keyring = Keyring(self.keys.root)
        self._admin = admin = AdminFront(self.keys.admin_token, self._ids, [(self, OWN)], is_local=self.config.is_local)
        fronts: dict[str, Front] = {"admin": admin}
        loaded: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        policy = HostPolicy(self.config.allowed_hosts, wide=not self.config.is_local)
        authority = CertificateAuthority(
            folder / "ca", accepts=policy.allows, clock=self._clock, domains=self.config.allowed_hosts
        )
        self._closing.push_async_callback(self._close_services)  # after the server's end: calls use them
        secret = self._ids.secret(24).hex()
        proxy = ProxyDesk(secret, emulates=policy.emulates)
        self._entrance = Entrance(
            fronts=fronts,
            loaded=loaded,
            authenticator=Authenticator(keyring, lenient=self.config.auth == "lenient", nonces=NonceMemory()),
            policy=policy,
            clock=self._clock,
            account=self.tenant.account,
            region=self.tenant.region,
        )
        self._pipeline = Pipeline(
            self._entrance,
            database=database,
            clock=self._clock,
            ids=self._ids,
            traffic=self._traffic,
            open_requests=self._open_requests,
            allows=self._allows if self.config.enforce_ram else None,
        )
        await self._listen(self._pipeline, authority, proxy)
        self._addresses = Addresses(self._server, secret, self.keys, self.config.state, folder / "ca")

        self._bundle = bundle = Bundle(authority, self._addresses.bundle)
        self._closing.push_async_callback(bundle.close)
        bundle.renew()
        names = FunctionNames(policy, authority, bundle)
        services = await self._load_services(database, timers, work, names, bundle)
        services.clock_moved(self._clock)
        await services.start()
        keyring.add(services.temporary_keys)
        keyring.add(services.accounts)
        keyring.add(services.user_keys)
        fronts.update(services.fronts())
        if services.edits is not None:
            self._entrance.edits = services.edits
        usage = services.usage(self._traffic.carried, lambda id: self._lab.effects.trace(id))
        self._lab = lab = Lab(
            database,
            self._clock,
            timers,
            services,
            bench=self._bench,
            requests=self._open_requests,
            journal=self._journal,
            tenant=self.tenant,
            work=work,
            schemas=_SCHEMAS,
            close_door=self._entrance.closed,
            draws=self._draws,
            resumed=usage.meter.mark,
        )
        self._closing.push_async_callback(lab.close)
        self._background.spawn(lab.checkpoints.clean(), "leftovers")
        await asyncio.sleep(0)  # lets the task set the leftovers aside before the first request for a checkpoint
        if self.config.ephemeral:
            self._background.spawn(asyncio.to_thread(sweep_scratch, work), "scratch")
        await usage.meter.start()
        self._closing.callback(usage.meter.close)
        parts: list[AdminOperations] = [*services.admin(), (lab, lab_admin), (lab, doubles_admin)]
        parts += [(self._entrance.refusals, gateway_errors), (usage, usage_admin)]
        parts.append((Recording(self._pipeline.record), recording.OWN))
        if self.config.console:
            front = self._console(services, lab)
            fronts["console"] = front
            parts.append((front, console_front))
        for close in keep_small(database, self._clock):
            self._closing.callback(close)
        lab.effects.start()
        self._closing.callback(lab.effects.close)
        admin.add(parts)
        database.lock.set_patience(waits=False)
        loaded.set_result(None)
        self._is_loaded = True
        self._resets = Resets(
            services,
            lab,
            close_door=self._entrance.closed,
            surroundings=self._addresses.surroundings,
            stopped=self.stopped,
            background=self._background,
        )
        await self._resets.deploy()
        if services.declared is not None and not self.stopped.is_set():
            self._background.spawn(self._run_commands(services.declared), "hooks")

    async def _run_commands(self, declared: "Seeds") -> None:
        """Run the commands that the configuration names; they may read the file of certificates."""
        await self._bundle.settled()
        await declared.ready(self._addresses.surroundings())

    def _console(self, services: "Composition", lab: Lab) -> ConsoleFront:
        """Return the front of the console, whose pages are imported with the first request."""
        sessions = Sessions(self._clock, self._ids, self._server.port, self.keys.admin_token)

        changes = Changes(partial(self._database.watch_rows, CHANGED_ROWS), self._journal, first=self._clock.system())
        self._database.on_rollback(partial(changes.note, EVERYTHING))

        def about() -> dict[str, Any]:
            return self.health() | {"http": self.http_url, "changes": changes.mark()}

        def load(bridge: Bridge) -> Pages:
            from emulator.console.app import make_application  # with Flask, on the first request for a page
            from emulator.console.tutorials import TutorialRuns

            runs = TutorialRuns(self._addresses.surroundings)
            self._closing.callback(runs.close)
            return make_application(services.view(lab, about, self._admin.perform, bridge), sessions, runs)

        front = ConsoleFront(
            self._ids,
            sessions,
            load,
            changes,
            services.function_log,
            partial(Performer, self._database, self._entrance.once_loaded),
        )
        self._closing.callback(front.close)
        return front

    def _watch(self) -> None:
        """Start the lag meter and the journal of the log."""
        self._lag.start()
        self._closing.callback(self._lag.close)
        self._journal.open()
        self._closing.callback(self._journal.close)

    def _open_database(self, work: Path) -> Database:
        """Open the state file, or one in memory, and bring it to this program's schema."""
        path = None if self.config.ephemeral else work / "state.db"
        if path is not None:
            finish_interrupted(path)
        database = Database(path, self.config.durability)
        self._closing.callback(database.close)
        make_shrinkable(database)
        migrate(database, _SCHEMAS)
        return database

    def _allows(self, principal: Principal, demand: Demand, facts: Facts) -> bool:
        """Whether a caller may do what *demand* says; no call is judged before the services are loaded."""
        return self.services.authorizer.allows(principal, demand, facts)

    async def _listen(self, pipeline: Pipeline, authority: CertificateAuthority, proxy: ProxyDesk) -> None:
        """Listen on the ports: answer health at once, and other requests once the services are loaded."""
        self._server = Server(
            pipeline,
            clock=self._clock,
            hosts=self.config.host or LOOPBACK,
            port=self.config.port,
            https_port=self.config.https_port,
            authority=authority,
            proxy=proxy,
            on_stopping=lambda: self._services.end_polls() if self._services is not None else None,
        )
        self._closing.push_async_callback(self._server.stop, STOP_GRACE_S)
        self._closing.push_async_callback(self._background.close)
        await self._server.start()

    async def _load_services(
        self, database: Database, timers: LoopTimers, work: Path, names: FunctionNames, bundle: Bundle
    ) -> "Composition":
        """Import and build the services; the loop goes on serving meanwhile."""
        foundation, composition = await asyncio.to_thread(_import_assembly)
        base = foundation(
            config=self.config,
            tenant=self.tenant,
            database=database,
            clock=self._clock,
            ids=self._ids,
            timers=timers,
            work=work,
            address=self.http_url,
            authority=self._addresses.authority,
            names=names,
            journal=self._journal,
            environment=self._addresses.environment(),
            trusted=bundle.settled,
            bench=self._bench,
        )
        self._services = composition(base)
        return self._services

    async def _close_services(self) -> None:
        if self._services is not None:
            await self._services.close()

    @property
    def http_url(self) -> str:
        """``http://127.0.0.1:PORT``."""
        return self._addresses.http

    @property
    def https_url(self) -> str:
        """``https://127.0.0.1:PORT``."""
        return self._addresses.https

    @property
    def services(self) -> "Composition":
        """The services; only once `start` has returned."""
        if self._services is None:
            raise RuntimeError("the services are not loaded yet")
        return self._services

    def health(self) -> dict[str, Any]:
        """Return status, version, services, account, region and the id of the installation."""
        return {
            "status": "ok",
            "version": __version__,
            "services": dict.fromkeys(SERVICES, "available" if self._is_loaded else "starting"),
            "account": self.tenant.account,
            "region": self.tenant.region,
            "installation": self.keys.installation,
        }

    async def status(self) -> dict[str, Any]:
        """Return health and more: process, addresses, functions, counts."""
        return {
            **self.health(),
            "pid": os.getpid(),
            "uptime_s": round(self._clock.monotonic() - self._started, 1),
            "http": self.http_url,
            "https": self.https_url,
            "state": str(self.config.state),
            "auth": self.config.auth,
            "clock": self._lab.time.told(),
            **await self.services.status(),
        }

    async def proxy(self) -> dict[str, Any]:
        """Return the addresses of the proxy: for calls to the emulator alone, and for calls to any public host.

        Whoever asks reads the file of the private authority next, so its certificates are there when this returns.
        """
        await self._bundle.settled()
        return {
            name: self._addresses.proxy(user) for name, user in (("served", SERVED_ONLY), ("forwarding", FORWARDING))
        }

    def metrics(self) -> bytes:
        """Return the emulator's figures in the exposition format of Prometheus."""
        return render(self._figures())

    def _figures(self) -> Iterator[Family]:
        yield Family("localyun_info", "gauge", "The version that runs.", [Sample({"version": __version__}, 1)])
        yield gauge("localyun_uptime_seconds", "Time since the start.", self._clock.monotonic() - self._started)
        yield from self._traffic.figures()
        yield gauge("localyun_open_connections", "Connections of clients.", self._server.open_connections)
        yield from self.services.figures()
        yield gauge("localyun_timers", "Timers that are set.", len(self._timers))
        yield from storage_figures(self._database)
        yield self._lag.figures()
        yield from process_figures()

    def trace(self, request: str) -> list[dict[str, Any]]:
        """Return the recent log lines caused by a request, as JSON objects."""
        return self._journal.find(request)

    def openapi(self) -> dict[str, Any]:
        """Return the description of the admin API."""
        from emulator.gateway.openapi import describe  # seldom needed

        return describe(self._admin.operations, self.http_url)

    def report(self) -> list[dict[str, Any]]:
        """Return the recent lines of the log since a checkpoint was restored, without those of the admin API."""
        return [line for line in self._journal.since_mark() if line.get("service") != "admin"]

    async def reset(self, scope: Mapping[str, str]) -> dict[str, Any]:
        """Delete the state in *scope*, without one all of it; see `Resets.reset`."""
        return await self._resets.reset(scope)

    async def remove_account(self, account: str) -> bool:
        """Delete an account, its key and its resources; return whether it existed."""
        return await self._resets.remove_account(AccountId(account))

    def stop_soon(self) -> None:
        """End the emulator after the present answer."""
        self.stopped.set()


def _import_assembly() -> "tuple[type[Foundation], type[Composition]]":
    # most of the time of a start; runs in a thread while the server already accepts connections
    from emulator.composition import Composition
    from emulator.joining import Foundation

    return Foundation, Composition
