"""The services, as one object for the rest of the emulator.

Built after the front door listens, because loading them takes most of a start.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from emulator.adapters.lab import FlowActivity, FunctionActivity, MessageActivity, SkipConditions
from emulator.adapters.operations import error_codes, operation_names
from emulator.adapters.roles import AssumableRoles
from emulator.adapters.usage import Counts, ExecutionUsage
from emulator.auth.signed_request import KeySource
from emulator.console.front import Bridge
from emulator.gateway.admin import AdminOperations
from emulator.gateway.deployments import Deployments, DeploymentsFront
from emulator.gateway.errors import GatewayError
from emulator.gateway.openings import OpeningFront
from emulator.gateway.other_products import LocationFront, OrchestrationFront, UnknownVersionFront
from emulator.gateway.traffic import Carried
from emulator.http.message import Request
from emulator.joining import Foundation, Services
from emulator.kernel.clock import AdjustableClock
from emulator.kernel.identity import Region, Tenant
from emulator.kernel.instrumentation import Observed
from emulator.kernel.metrics import Family
from emulator.lab.errors import LabError
from emulator.lab.faults import Rule, read_rule
from emulator.lab.service import Lab
from emulator.lab.sinks import SinkFront
from emulator.oss.front import OssFront
from emulator.records.front import PRODUCTS, LogFront, NetworkFront
from emulator.services.fc import admin as fc_admin
from emulator.services.fc.administration import FunctionAdmin
from emulator.services.fc.front import FcFront
from emulator.services.mns import admin as mns_admin
from emulator.services.mns.front import ManagementFront, MnsFront
from emulator.services.ram import admin as ram_admin
from emulator.services.ram.admin import Accounts
from emulator.services.ram.front import RamFront
from emulator.services.sts.front import StsFront
from emulator.services.workflow import admin as workflow_admin
from emulator.services.workflow.front import WorkflowFront
from emulator.storage.database import Database
from emulator.usage.admin import Usage
from emulator.usage.meter import Meter
from emulator.wire.request import Front

if TYPE_CHECKING:
    from emulator.console.view import Perform, View
    from emulator.deploy.places import LocatedValue
    from emulator.deploy.seeds import Seeds

_log = logging.getLogger(__name__)


class Composition:
    """All services of one emulator: starting, closing, resetting, and access to them."""

    def __init__(self, base: Foundation) -> None:
        self._config = base.config
        self._database = base.database
        self._bench = base.bench
        self._clock = base.clock
        self._tenant = base.tenant
        self._journal = base.journal
        self._ids = base.ids
        self._turns = base.timers.turns
        self.declared: Seeds | None = None
        self._faults: list[Rule] = []
        if base.config.resources:
            from emulator.deploy import seeds  # slow to import, and few folders declare resources

            self.declared = seeds.Seeds(base.config, base.tenant, base.clock, self._read_fault)
        self._deployments = Deployments(base.database, base.tenant, base.clock)
        self._closing = AsyncExitStack()
        self._services = services = Services(base)
        self._access, self._records = services.access, services.records
        self._messages, self._objects = services.messages, services.objects
        self._functions, self._workflow = services.functions, services.workflow
        self.temporary_keys: KeySource = services.temporary_keys
        self.user_keys: KeySource = services.access.keys
        self.accounts = Accounts(base.database, base.ids, base.tenant.account)
        self.authorizer = services.authorizer
        self._function_front = FcFront(self._functions, base.ids)
        self._function_admin = FunctionAdmin(self._functions, base.clock, base.ids, services.pool)

    async def start(self) -> None:
        """Load the functions folder; continue the work that an earlier run left unfinished."""
        self._closing.push_async_callback(self._services.signer.close)
        self._closing.push_async_callback(self._messages.aclose)
        self._closing.push_async_callback(self._objects.close)
        await self._objects.tidy()
        await self._messages.catch_up()
        self._messages.start()
        self._seed_messages()
        await self._services.pool.start()
        self._closing.push_async_callback(self._services.pool.close)
        self._closing.push_async_callback(self._functions.close)
        await self._functions.start(self._config.functions)
        self._messages.deliver()
        self._closing.push_async_callback(self._services.flow_http.close)
        self._closing.push_async_callback(self._workflow.close)
        await self._workflow.start()
        await self.seed()

    def _read_fault(self, part: "LocatedValue") -> None:
        """Read a fault of the configuration; an invalid one is a problem of *part*."""
        value = part.value if isinstance(part.value, dict) else {}
        try:
            self._faults.append(read_rule(value, operation_names, error_codes()))
        except LabError as error:
            part.problem(error.message)

    def arm_faults(self) -> None:
        """Inject the faults in the configuration, after its deployments."""
        for rule in self._faults:
            self._bench.faults.add(rule)

    def _seed_messages(self) -> None:
        """Create the queues and topics in the configuration."""
        if self.declared is not None:
            self.declared.apply_messaging(self._messages)

    def end_polls(self) -> None:
        """Answer every parked long poll; the server is about to stop."""
        self._messages.end_polls()
        self._workflow.end_polls()

    async def close(self) -> None:
        """End the services, in the opposite order of `start`."""
        await self._closing.aclose()

    def files(self) -> list[str]:
        """Return the files the tables name: paths below the work folder."""
        return [*self._functions.files(), *self._objects.files()]

    def read_through(self, database: Database) -> list[str]:
        """Read all rows of *database*, another state, as at a start; return the files they name.

        Raises: any exception, for invalid rows.
        """
        from emulator.adapters.examination import read_through  # seldom needed

        return read_through(database)

    async def release(self, files: Collection[str]) -> None:
        """Remove those of *files* that no table names any more."""
        await self._functions.release()
        await self._objects.release(files)

    async def rest(self) -> None:
        """End running work; until `resume`, services answer requests but start no work themselves."""
        await self._workflow.suspend()  # first, because its executions call the other services
        await self._functions.suspend()
        await self._messages.suspend()

    async def suspend(self) -> None:
        """End running work: all tables, and the files they name, are about to be replaced."""
        await self.rest()
        await self._objects.suspend()

    async def resume(self) -> None:
        """Resume from the present tables; all timers, and what memory held of the tables, were dropped before."""
        self._objects.resume()
        self._messages.resume()
        await asyncio.sleep(0)  # lets waiting requests proceed: the emulator is not served yet
        await self._functions.resume()
        self._messages.deliver()
        await asyncio.sleep(0)
        await self._workflow.resume()

    async def forget(self) -> None:
        """Drop state outside of tables, after the tables were emptied and before `resume`."""
        self._bench.clear()
        await self._functions.forget()
        self._seed_messages()  # before triggers of the folder subscribe to its topics

    async def seed(self) -> None:
        """Create the resources in the configuration other than queues and topics."""
        if self.declared is not None:
            await self.declared.apply(self._access, self._objects, self._workflow)

    async def reset(self, scope: Mapping[str, str]) -> dict[str, Any]:
        """Delete the state in *scope*, and return the answer.

        *scope* has a ``service``, or a ``queue``, ``topic``, ``flow`` or ``function``; such a resource stays, but its
        messages, deliveries, executions, asynchronous calls and instances are deleted. Functions of the folder stay.

        Raises: ServiceError for a name that does not exist.
        """
        match [(kind, name) for kind, name in scope.items() if name]:
            case [("service", service)]:
                await self._reset_service(service)
            case [("queue", queue)]:
                return {"queue": queue, "deleted": await self._messages.purge(self._tenant, queue)}
            case [("topic", topic)]:
                self._messages.reset_topic(self._tenant, topic)
                return {"topic": topic}
            case [("flow", flow)]:
                return {"flow": flow, "deleted": await self._workflow.reset_flow(self._tenant, flow)}
            case [("function", function)]:
                service, _, name = function.rpartition("/")
                return {"function": function, "ended": self._functions.reset_function(service, name)}
            case _:
                raise GatewayError(
                    "InvalidArgument", "name one service, queue, topic, flow or function, or none for everything"
                )
        return {"status": "reset"}

    async def _reset_service(self, service: str) -> None:
        match service:
            case "fnf":
                self._workflow.reset()
                await self.seed()
            case "mns":
                self._messages.reset()
                self._seed_messages()
            case "ram":
                self._access.reset()
                await self.seed()
            case "oss":
                await self._objects.reset()
                await self.seed()
            case "fc":
                await self._functions.reset()
            case "records":
                self._records.clear()
            case _:
                raise GatewayError(
                    "InvalidArgument", f"there is no service {service!r}; there are fc, fnf, mns, oss, ram and records"
                )

    @property
    def edits(self) -> Callable[[Request], Awaitable[None] | None] | None:
        """A function that returns what a request awaits while an edited functions folder is read; None without one."""
        return self._function_front.edits if self._functions.follower is not None else None

    def fronts(self) -> dict[str, Front]:
        """Return the services' fronts by the router's names."""
        ids, roles = self._ids, AssumableRoles(self.authorizer, enforced=self._config.enforce_ram)
        return {
            "deployments": DeploymentsFront(self._deployments, ids),
            "fc": self._function_front,
            "fnf": WorkflowFront(self._workflow, ids),
            "location": LocationFront(ids),
            "mns": MnsFront(self._messages, ids),
            "mns-open": ManagementFront(self._messages, ids),
            "oss": OssFront(ids, self._objects),
            "ram": RamFront(self._access, ids),
            "sts": StsFront(self._services.temporary_keys, ids, roles),
            "log": LogFront(self._records, ids, strict=self._config.strict),
            **{name: NetworkFront(name, self._records, ids, strict=self._config.strict) for name in PRODUCTS},
            "opening": OpeningFront(ids),
            "rpc": UnknownVersionFront(ids),
            "sink": SinkFront(self._bench.sinks, ids),
            "ros": OrchestrationFront(ids),
        }

    def admin(self) -> list[AdminOperations]:
        """Return the services that have admin operations, each with the module that declares them."""
        return [
            (self._function_admin, fc_admin),
            (self._messages, mns_admin),
            (self.accounts, ram_admin),
            (self._workflow, workflow_admin),
        ]

    def activities(self) -> list[Observed]:
        """Return the services for the lab."""
        return [
            MessageActivity(self._messages, self._turns),
            FunctionActivity(self._functions, self._bench.mocks, self._turns),
            FlowActivity(self._workflow, self._bench.mocks, self._turns),
        ]

    def clock_moved(self, clock: AdjustableClock) -> None:
        """Pass the emulator's time on to functions after it was moved, frozen or unfrozen."""
        self._services.function_time.shift = (clock.offset_ms, clock.frozen_at) if clock.is_adjusted else None
        self._services.pool.clock_moved()

    def operation_names(self, service: str) -> Collection[str]:
        """Return the operations of a service that faults can name; none where the service has no list."""
        return operation_names(service)

    def error_codes(self) -> Collection[str]:
        """Return the error codes of all services."""
        return error_codes()

    async def sign_push(self, text: str) -> str:
        """Return the signature of a push with the string to sign *text*."""
        return await self._services.signer.authorization(text)

    def function_log(self, function: str, region: str) -> AsyncIterator[bytes]:
        """Yield the last lines of a function's log, then new ones; an empty *region* is the emulator's own.

        Raises: FunctionNotFound.
        """
        return self._function_admin.of_region(region).logs(function, 200, follow=True)

    def view(self, lab: Lab, about: Callable[[], dict[str, Any]], perform: "Perform", bridge: Bridge) -> "View":
        """Return the services as the console's view."""
        from emulator.console.executions import Folds  # imports the pages, which draw graphs
        from emulator.console.view import View  # imports Flask, on the first request for a page

        return View(
            tenant=self._tenant,
            functions=self._functions,
            function_admin=self._function_admin,
            messages=self._messages,
            workflow=self._workflow,
            objects=self._objects,
            lab=lab,
            journal=self._journal,
            time=self._clock,
            describe=about,
            list_regions=self.regions,
            problems=self.problems,
            perform=perform,
            bridge=bridge,
            fronts=self.fronts(),
            folds=Folds(),
        )

    def usage(self, carried: Callable[[], Iterable[Carried]], trace: Callable[[str], Mapping[str, Any]]) -> Usage:
        """Return the usage counters; *carried* returns the gateway's counts, *trace* the tree of an id."""
        counts = Counts(self._function_admin, self._messages, self._workflow, carried)
        executions = ExecutionUsage(self._functions, self._messages, self._workflow, trace)
        return Usage(Meter(self._database, counts), executions, self._deployments.get)

    def conditions(self) -> SkipConditions:
        """Return the conditions on messages, calls and executions that a skip of time can wait for."""
        return SkipConditions(self._messages, self._functions, self._workflow)

    def regions(self) -> list[Region]:
        """Return the emulator's own region and the others in which its account has resources other than buckets."""
        return self._regions(self._tenants())

    def _regions(self, kinds: dict[str, dict[Tenant, int]]) -> list[Region]:
        account, home = self._tenant.account, self._tenant.region
        used = {each.region for counts in kinds.values() for each in counts if each.account == account}
        return [home, *sorted(used - {home})]

    def _tenants(self) -> dict[str, dict[Tenant, int]]:
        """Return the number of resources by kind and tenant."""
        return {
            "functions": self._functions.store.tenants(),
            "triggers": self._functions.sources.store.tenants(),
            "queues": self._messages.queue_store.tenants(),
            "topics": self._messages.topic_store.tenants(),
            "flows": self._workflow.flows.tenants(),
        }

    def places(self) -> list[dict[str, Any]]:
        """Return what each account has in each region: ``account``, ``region`` and the number of each kind."""
        return self._places(self._tenants())

    def _places(self, kinds: dict[str, dict[Tenant, int]]) -> list[dict[str, Any]]:
        tenants = {tenant for counts in kinds.values() for tenant in counts}
        return [
            {
                "account": tenant.account,
                "region": tenant.region,
                **{kind: counts[tenant] for kind, counts in kinds.items() if counts.get(tenant)},
            }
            for tenant in sorted(tenants, key=lambda each: (each != self._tenant, each.account, each.region))
        ]

    async def status(self) -> dict[str, Any]:
        """Return the content of the emulator: functions, resources, regions, waiting triggers, `problems`, work left.

        Names, triggers and counts are each taken in a turn of its own: there may be thousands.
        """
        names = self._function_admin.names()
        await asyncio.sleep(0)
        waiting = self._function_admin.waiting_triggers()
        await asyncio.sleep(0)
        kinds = self._tenants()
        return {
            "functions": names,
            "waiting": [f"trigger {row['trigger']} of {row['function']}: {row['waitsFor']}" for row in waiting],
            "problems": self.problems(),
            "hooks": self.declared.commands_left if self.declared else 0,
            "counts": {**self._function_admin.counts(), "records": self._records.count(self._tenant.account)},
            "regions": self._regions(kinds),
            "places": self._places(kinds),
        }

    def problems(self) -> list[str]:
        """Return the problems in files of functions, and the failed command of ``localyun.yaml``, if any."""
        return [*self._function_admin.problems(), *(self.declared.problems if self.declared else ())]

    def figures(self) -> Iterator[Family]:
        """Yield the services' metrics."""
        yield from mns_admin.metrics(self._messages, self._clock.now())
        yield from self._function_admin.metrics()
        yield from workflow_admin.metrics(self._workflow)
