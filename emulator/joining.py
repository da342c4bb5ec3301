"""The services of an emulator, joined: every port of a service is filled here with the methods of another one."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from emulator.adapters.flows import FlowHttp, FlowMessages, FunctionCalls
from emulator.adapters.lab import Doubles, FlowDoubles, TaskNames
from emulator.adapters.messages import OwnNames, ResultMessages, TopicCalls, TriggerQueues, TriggerSubscriptions
from emulator.adapters.objects import CodeObjects, FlowObjects, ObjectTriggers, TriggerBuckets
from emulator.adapters.roles import FlowRights, FunctionRights, RoleKeys, RoleRights
from emulator.auth.push import PushSigner
from emulator.config import Config
from emulator.gateway.hosts import FunctionNames
from emulator.gateway.journal import Journal
from emulator.kernel import system
from emulator.kernel.clock import Clock
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.timers import Timers
from emulator.lab.service import Bench
from emulator.oss.service import LazyStorage
from emulator.records.store import RecordStore
from emulator.redirect import node_hook, python_hook
from emulator.redirect.environment import with_hooks
from emulator.services.fc.invoke.logbook import LogBook
from emulator.services.fc.ports import Ports
from emulator.services.fc.runtime.pool import InstancePool
from emulator.services.fc.runtime.settings import FunctionTime, RuntimeSettings
from emulator.services.fc.service import FunctionCompute
from emulator.services.mns.limits import RELAXED, STRICT
from emulator.services.mns.service import CERTIFICATE_PAGE, MessageService
from emulator.services.mns.topics.push import Home, Pusher, PushPolicy
from emulator.services.ram.service import AccessManagement, Authorizer
from emulator.services.sts.service import TemporaryKeys
from emulator.services.workflow.service import Workflow
from emulator.storage.database import Database
from emulator.storage.folder import secret_files


@frozen
class Foundation:
    """The common arguments of all services of an emulator.

    ``work`` is the folder for code and logs; ``address`` the emulator's own ``http://127.0.0.1:PORT``; ``authority``
    the file of its private certificate authority; ``names`` takes host names of functions, ``journal`` the output of
    functions; ``environment`` are the variables of function instances, ``trusted`` waits for the files they name.
    """

    config: Config
    tenant: Tenant
    database: Database
    clock: Clock
    ids: Ids
    timers: Timers
    work: Path
    address: str
    authority: Path
    names: FunctionNames
    journal: Journal
    environment: dict[str, str]
    trusted: Callable[[], Awaitable[None]]
    bench: Bench

    async def own_authority(self) -> Path:
        """Return the file of the private authority once it is there, or cannot be made."""
        await self.trusted()
        return self.authority


class Services:
    """All services, joined. One object per emulator."""

    def __init__(self, base: Foundation) -> None:
        database, clock, ids = base.database, base.clock, base.ids
        self.temporary_keys = TemporaryKeys(database, ids)
        self.access = AccessManagement(database, ids)
        self.authorizer = Authorizer(self.access)
        self.records = RecordStore(database)
        rights = RoleRights(self.authorizer, clock) if base.config.enforce_ram else None
        home = OwnNames(base.names.emulates, base.address).find
        pushes = PushPolicy(base.config.allow_push_to)
        self.signer = PushSigner(base.authority.parent / "notifications", clock=clock)
        self.messages = self._messages(base, pushes, home)
        self.objects = LazyStorage(
            database, base.work / "objects", ids, home=base.tenant.region, sync=base.config.durability == "full"
        )
        self.function_time = FunctionTime()
        self.pool, self.functions = self._functions(base, rights)
        self.messages.connect(TopicCalls(self.functions), self.functions.sources)
        self.objects.connect(ObjectTriggers(self.functions))
        self.flow_http = FlowHttp(pushes, home, base.own_authority, base.bench.faults)
        self.workflow = self._workflow(base, rights)
        base.bench.mocks.check = TaskNames(self.workflow, base.tenant).check

    def _messages(self, base: Foundation, pushes: PushPolicy, home: Home) -> MessageService:
        pusher = Pusher(
            self.signer,
            base.clock,
            base.ids,
            pushes,
            certificate_url=lambda: f"{base.address}/_localyun/{CERTIFICATE_PAGE}",
            home=home,
            trusted=base.own_authority,
        )
        return MessageService(
            base.database,
            base.clock,
            base.ids,
            base.timers,
            pusher=pusher,
            retry_scale=base.config.push_retry_scale,
            profile=STRICT if base.config.strict else RELAXED,
            interference=base.bench.faults,
        )

    def _workflow(self, base: Foundation, rights: RoleRights | None) -> Workflow:
        clock, ids, faults = base.clock, base.ids, base.bench.faults
        return Workflow(
            database=base.database,
            clock=clock,
            ids=ids,
            timers=base.timers,
            functions=FunctionCalls(self.functions, ids, base.timers.turns),
            messages=FlowMessages(self.messages, clock, ids, faults),
            kept_days=base.config.keep_executions,
            guard=FlowRights(rights) if rights else None,
            interference=faults,
            http=self.flow_http,
            objects=FlowObjects(self.objects, clock, ids, faults),
            doubles=FlowDoubles(base.bench, clock),
        )

    def _functions(self, base: Foundation, rights: RoleRights | None) -> tuple[InstancePool, FunctionCompute]:
        clock, ids, faults = base.clock, base.ids, base.bench.faults
        logbook = LogBook(base.work / "logs" / "functions", base.tenant, also=base.journal.output)
        pool = InstancePool(clock, ids, self._runtime_settings(base), logbook.on_log, base.timers.turns)
        ports = Ports(
            credentials=RoleKeys(self.temporary_keys, clock),
            guard=FunctionRights(rights) if rights else None,
            objects=CodeObjects(self.objects, self.temporary_keys, clock, ids),
            host_names=base.names,
            topics=TriggerSubscriptions(self.messages),
            queues=TriggerQueues(self.messages),
            buckets=TriggerBuckets(self.objects),
            destinations=ResultMessages(self.messages, faults),
            interference=faults,
            doubles=Doubles(base.bench, clock),
        )
        return pool, FunctionCompute(
            database=base.database,
            clock=clock,
            ids=ids,
            timers=base.timers,
            instances=pool,
            code_folder=base.work / "code",
            logbook=logbook,
            account=base.tenant.account,
            region=base.tenant.region,
            endpoint=lambda: base.address,
            ports=ports,
        )

    def _runtime_settings(self, base: Foundation) -> RuntimeSettings:
        config, environment = base.config, base.environment
        return RuntimeSettings(
            interpreters={name: str(path) for name, path in config.runtimes.items()},
            extra_environment=environment,
            trusted=base.trusted,
            redirect_hook=python_hook(),
            add_hooks=lambda variables: with_hooks(variables, environment, node_hook()),
            time=self.function_time,
            confined=(system.home() or Path(os.devnull), *secret_files(config.state)) if config.isolate else (),
            packages=base.work / "code",
            project=config.functions.absolute().parent if config.functions else None,
        )
