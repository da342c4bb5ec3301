"""The services and how they are joined: built after the front door listens, because loading them takes most of a start.

Every port of a service is filled here and nowhere else.
"""

import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.adapters.flows import FlowHttp, FlowMessages, FunctionCalls
from emulator.adapters.lab import Doubles, FlowActivity, FunctionActivity, MessageActivity, SkipConditions
from emulator.adapters.messages import OwnNames, ResultMessages, TopicCalls, TriggerQueues, TriggerSubscriptions
from emulator.adapters.objects import CodeObjects, FlowObjects, ObjectTriggers
from emulator.adapters.operations import operation_names
from emulator.adapters.roles import AssumableRoles, FlowRights, FunctionRights, RoleKeys, RoleRights
from emulator.auth.push import PushSigner
from emulator.auth.signed_request import KeySource
from emulator.config import Config, ConfigError, placed
from emulator.console.front import Bridge
from emulator.gateway.admin import AdminOperations
from emulator.gateway.deployments import Deployments, DeploymentsFront
from emulator.gateway.errors import GatewayError
from emulator.gateway.hosts import FunctionNames
from emulator.gateway.journal import Journal
from emulator.gateway.other_products import LocationFront, OrchestrationFront, UnknownVersionFront
from emulator.kernel.clock import AdjustableClock, Clock
from emulator.kernel.identity import Region, Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.instrumentation import Observed
from emulator.kernel.metrics import Family
from emulator.kernel.timers import Timers
from emulator.lab.errors import LabError
from emulator.lab.faults import Rule, read_rule
from emulator.lab.service import Bench, Lab
from emulator.lab.sinks import SinkFront
from emulator.oss.front import OssFront
from emulator.oss.service import LazyStorage
from emulator.redirect import node_hook, python_hook
from emulator.redirect.environment import with_hooks
from emulator.services.fc import admin as fc_admin
from emulator.services.fc.admin import FunctionAdmin
from emulator.services.fc.front import FcFront
from emulator.services.fc.invoke.logbook import LogBook
from emulator.services.fc.ports import Ports
from emulator.services.fc.runtime.pool import InstancePool
from emulator.services.fc.runtime.settings import FunctionTime, RuntimeSettings
from emulator.services.fc.service import FunctionCompute
from emulator.services.mns import admin as mns_admin
from emulator.services.mns.front import ManagementFront, MnsFront
from emulator.services.mns.service import MessageService
from emulator.services.mns.topics.push import PushPolicy
from emulator.services.ram import admin as ram_admin
from emulator.services.ram.admin import Accounts
from emulator.services.ram.front import RamFront
from emulator.services.ram.service import AccessManagement, Authorizer
from emulator.services.sts.front import StsFront
from emulator.services.sts.service import TemporaryKeys
from emulator.services.workflow import admin as workflow_admin
from emulator.services.workflow.front import WorkflowFront
from emulator.services.workflow.service import Workflow
from emulator.storage.database import Database
from emulator.storage.folder import secret_files
from emulator.wire.request import Front

if TYPE_CHECKING:
    from emulator.console.view import Perform, View
    from emulator.deploy.seeds import Seeds
    from emulator.deploy.shapes import LocatedValue

_log = logging.getLogger(__name__)


class Composition:
    """All services of one emulator.

    *work* is the folder for code and logs; *address* the emulator's own ``http://127.0.0.1:PORT``; *authority* the file
    of its private certificate authority; *names* gets the host names that lead to functions, *journal* what functions
    write to their logs; *environment* is what
    function instances find in theirs.
    """

    def __init__(
        self,
        *,
        config: Config,
        tenant: Tenant,
        database: Database,
        clock: Clock,
        ids: Ids,
        timers: Timers,
        work: Path,
        address: str,
        authority: Path,
        names: FunctionNames,
        journal: Journal,
        environment: dict[str, str],
        bench: Bench,
    ) -> None:
        self._config = config
        self._bench = bench
        self._function_time = FunctionTime()
        self._clock = clock
        self._tenant = tenant
        self._journal = journal
        self._ids = ids
        self.declared: Seeds | None = None
        if config.resources:
            from emulator.deploy import seeds  # slow, and most folders declare nothing

            self.declared = seeds.Seeds(config, tenant, clock)
        self._faults = [_fault(part) for part in self.declared.faults] if self.declared else []
        self._deployments = Deployments(database, tenant, clock)
        self._closing = AsyncExitStack()
        self.temporary_keys: KeySource
        self._temporary = self.temporary_keys = TemporaryKeys(database, timers, clock, ids)
        self._access = AccessManagement(database, ids)
        self.user_keys: KeySource = self._access.keys
        self.accounts = Accounts(database, ids, tenant.account)
        self.authorizer = Authorizer(self._access)
        rights = RoleRights(self.authorizer, clock)
        logbook = LogBook(work / "logs" / "functions", also=journal.output)
        settings = RuntimeSettings(
            interpreters={name: str(path) for name, path in config.runtimes.items()},
            extra_environment=environment,
            redirect_hook=python_hook(),
            add_hooks=lambda variables: with_hooks(variables, environment, node_hook()),
            time=self._function_time,
            confined=(Path.home(), *secret_files(config.state)) if config.isolate else (),
        )
        self._pool = InstancePool(clock, ids, settings, logbook.on_log)
        self._signer = PushSigner(authority.parent / "notifications", clock=clock)
        self._messages = MessageService(
            database,
            clock,
            ids,
            timers,
            signer=self._signer,
            endpoint=lambda: address,
            functions=TopicCalls(lambda: self._functions),
            topic_made=lambda tenant, name: self._functions.sources.topic_made(tenant, name),
            queue_made=lambda tenant, name: self._functions.sources.queue_made(tenant, name),
            home=OwnNames(names.emulates, address).find,
            trusted=authority,
            allow_push_to=config.allow_push_to,
            retry_scale=config.push_retry_scale,
            interference=bench.faults,
        )
        self._objects = LazyStorage(
            database,
            work / "objects",
            ids,
            ObjectTriggers(lambda: self._functions),
            home=tenant.region,
            sync=config.durability == "full",
        )
        self._functions = FunctionCompute(
            database=database,
            clock=clock,
            ids=ids,
            timers=timers,
            instances=self._pool,
            code_folder=work / "code",
            logbook=logbook,
            account=tenant.account,
            region=tenant.region,
            endpoint=lambda: address,
            ports=Ports(
                credentials=RoleKeys(self._temporary, clock),
                guard=FunctionRights(rights) if config.enforce_ram else None,
                objects=CodeObjects(self._objects, self._temporary, clock, ids),
                host_names=names,
                topics=TriggerSubscriptions(self._messages),
                queues=TriggerQueues(self._messages),
                destinations=ResultMessages(self._messages, bench.faults),
                interference=bench.faults,
                doubles=Doubles(bench, clock),
            ),
        )
        self._function_admin = FunctionAdmin(self._functions, clock, ids, self._pool)
        self._flow_http = FlowHttp(
            PushPolicy(config.allow_push_to), OwnNames(names.emulates, address).find, authority, bench.faults
        )
        self._workflow = Workflow(
            database=database,
            clock=clock,
            ids=ids,
            timers=timers,
            functions=FunctionCalls(self._functions, ids),
            messages=FlowMessages(self._messages, clock, ids, bench.faults),
            kept_days=config.keep_executions,
            guard=FlowRights(rights) if config.enforce_ram else None,
            interference=bench.faults,
            http=self._flow_http,
            objects=FlowObjects(self._objects, clock, ids, bench.faults),
        )

    async def start(self) -> None:
        """Load the functions folder; go on with what an earlier run left unfinished."""
        self._closing.push_async_callback(self._signer.close)
        self._closing.push_async_callback(self._messages.aclose)
        self._closing.push_async_callback(self._objects.close)
        self._messages.start()
        self._seed_messages()
        await self._pool.start()
        self._closing.push_async_callback(self._pool.close)
        self._closing.push_async_callback(self._functions.close)
        await self._functions.start(self._config.functions)
        self._closing.push_async_callback(self._flow_http.close)
        self._closing.push_async_callback(self._workflow.close)
        await self._workflow.start()
        await self._seed()

    def arm_faults(self) -> None:
        """Let the calls go wrong that the configuration names, once all that it deploys is there."""
        for rule in self._faults:
            self._bench.faults.add(rule)

    def _seed_messages(self) -> None:
        """Make the queues and topics that the configuration declares."""
        if self.declared is not None:
            self.declared.apply_messaging(self._messages)

    async def _seed(self) -> None:
        """Make what the configuration declares beside queues and topics."""
        if self.declared is not None:
            await self.declared.apply(self._access, self._objects, self._workflow)

    def end_polls(self) -> None:
        """Answer every parked long poll; the server is about to stop."""
        self._messages.end_polls()
        self._workflow.end_polls()

    async def close(self) -> None:
        """End what `start` began, in the opposite order."""
        await self._closing.aclose()

    def files(self) -> list[str]:
        """Return the files the tables name: paths below the work folder."""
        return [*self._functions.files(), *self._objects.files()]

    async def suspend(self) -> None:
        """End what runs: all tables are about to be replaced."""
        await self._workflow.suspend()  # first: its executions call the others
        await self._functions.suspend()
        await self._messages.suspend()
        await self._objects.suspend()

    async def resume(self) -> None:
        """Go on with what the tables hold now; every timer has been dropped, and what memory held of them."""
        self._temporary.resume()
        self._messages.resume()
        await self._functions.resume()
        await self._workflow.resume()

    async def reset(self, scope: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Forget everything the services know; functions of the folder stay. Returns what to answer.

        *scope* names a ``service``, or a ``queue``, ``topic``, ``flow`` or ``function``, which stays and loses what has
        come about in it: messages, deliveries, executions, asynchronous calls and instances.

        Raises: ServiceError for a name that does not exist.
        """
        match [(kind, name) for kind, name in (scope or {}).items() if name]:
            case []:
                await self._reset_all()
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
                await self._seed()
            case "mns":
                self._messages.reset()
                self._seed_messages()
            case "ram":
                self._access.reset()
                await self._seed()
            case "oss":
                await self._objects.reset()
                await self._seed()
            case "fc":
                await self._functions.reset()
            case _:
                raise GatewayError(
                    "InvalidArgument", f"there is no service {service!r}; there are fc, fnf, mns, oss and ram"
                )

    async def _reset_all(self) -> None:
        self._deployments.clear()
        self._bench.clear()
        self._workflow.reset()  # first: its executions call the others
        self._messages.reset()
        self._seed_messages()
        self._access.reset()
        await self._objects.reset()
        await self._functions.reset()  # last: triggers of the folder subscribe to declared topics
        await self._seed()

    def fronts(self) -> dict[str, Front]:
        """Return the services' fronts by the names the router uses."""
        ids = self._ids
        return {
            "deployments": DeploymentsFront(self._deployments, ids),
            "fc": FcFront(self._functions, ids),
            "fnf": WorkflowFront(self._workflow, ids),
            "location": LocationFront(ids),
            "mns": MnsFront(self._messages, ids),
            "mns-open": ManagementFront(self._messages, ids),
            "oss": OssFront(ids, self._objects),
            "ram": RamFront(self._access, ids),
            "sts": StsFront(self._temporary, ids, AssumableRoles(self.authorizer, enforced=self._config.enforce_ram)),
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
        """Return the services as the lab sees them."""
        return [
            MessageActivity(self._messages),
            FunctionActivity(self._functions, self._bench.mocks),
            FlowActivity(self._workflow, self._bench.mocks),
        ]

    def clock_moved(self, clock: AdjustableClock) -> None:
        """Let functions see the emulator's time, which has been moved, frozen or let go."""
        self._function_time.shift = (clock.offset_ms, clock.frozen_at) if clock.is_adjusted else None

    def operation_names(self, service: str) -> Collection[str]:
        """Return the operations of a service as faults know them; none where the service has no list of them."""
        return operation_names(service)

    async def sign_push(self, text: str) -> str:
        """Return the signature that a push with that string to sign has."""
        return await self._signer.authorization(text)

    def function_log(self, function: str) -> AsyncIterator[bytes]:
        """Yield the last lines of a function's log, then new ones as they come.

        Raises: FunctionNotFound.
        """
        return self._function_admin.logs(function, 200, follow=True)

    def view(self, lab: Lab, about: Callable[[], dict[str, Any]], perform: "Perform", bridge: Bridge) -> "View":
        """Return the services as the console's pages see them."""
        from emulator.console.executions import Folds  # with the pages: draws graphs
        from emulator.console.view import View  # with Flask, on the first request for a page

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
            perform=perform,
            bridge=bridge,
            folds=Folds(),
        )

    def conditions(self) -> SkipConditions:
        """Return what looks at resources for the lab's skip."""
        return SkipConditions(self._messages, self._functions, self._workflow)

    def regions(self) -> list[Region]:
        """Return the region of the emulator and the others in which its account has resources, but buckets."""
        account, home = self._tenant.account, self._tenant.region
        used = self._functions.store.regions(account) | self._messages.regions(account)
        return [home, *sorted((used | self._workflow.flows.regions(account)) - {home})]

    def status(self) -> dict[str, Any]:
        """Return what is served: functions, resources, regions; waiting triggers, problems with the folder's files."""
        return {
            "functions": self._function_admin.names(),
            "waiting": [
                f"trigger {row['trigger']} of {row['function']}: {row['waitsFor']}"
                for row in self._function_admin.triggers()
                if row["waitsFor"]
            ],
            "problems": self._function_admin.problems(),
            "counts": self._function_admin.counts(),
            "regions": self.regions(),
        }

    def figures(self) -> Iterator[Family]:
        """Yield the services' metrics."""
        yield from mns_admin.metrics(self._messages, self._clock.now())
        yield from self._function_admin.metrics()
        yield from workflow_admin.metrics(self._workflow)


def _fault(part: "LocatedValue") -> Rule:
    """Read a fault of the configuration.

    Raises: ConfigError.
    """
    try:
        return read_rule(part.value if isinstance(part.value, dict) else {}, operation_names)
    except LabError as error:
        raise ConfigError(placed(part.mark, f"{'.'.join(part.path)}: {error.message}")) from None
