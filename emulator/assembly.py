"""The services and how they are joined: built after the front door listens, because loading them takes most of a start.

Every port of a service is filled here and nowhere else.
"""

import logging
from binascii import b2a_base64
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from emulator.auth.keys import KeySource
from emulator.auth.push import PushSigner
from emulator.config import Config
from emulator.declared.mns import DeclaredMessaging
from emulator.dialect.context import Front
from emulator.flow_calls import FlowMessages, FunctionCalls
from emulator.gateway.hosts import HostPolicy, is_loopback
from emulator.gateway.unavailable import UnknownVersionFront, unavailable_fronts
from emulator.kernel.clock import Clock
from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import AccountId, World
from emulator.kernel.ids import Ids
from emulator.kernel.timers import Timers
from emulator.oss.front import OssFront
from emulator.redirect import node_hook, python_hook
from emulator.redirect.environment import with_hooks
from emulator.services.fc.arns import parse_function_arn
from emulator.services.fc.errors import FcError
from emulator.services.fc.front import FcFront
from emulator.services.fc.logbook import LogBook
from emulator.services.fc.ports import DestinationRefused, HostNames, TopicMissing
from emulator.services.fc.runtime.instance import Credentials
from emulator.services.fc.runtime.pool import InstancePool
from emulator.services.fc.runtime.settings import RuntimeSettings
from emulator.services.fc.service import FunctionCompute
from emulator.services.mns.api import MnsFront
from emulator.services.mns.open_api import MnsOpenFront
from emulator.services.mns.reports import delivery_object, outbox_object
from emulator.services.mns.service import MessageService
from emulator.services.mns.topic_errors import TopicNotExist
from emulator.services.mns.topic_model import ContentFormat, NotifyStrategy, SubscriptionChange, SubscriptionSettings
from emulator.services.mns.topic_ports import FunctionRefused
from emulator.services.mns.topic_service import TopicService
from emulator.services.sts.api import StsFront
from emulator.services.sts.service import TemporaryKeys
from emulator.services.workflow.api import WorkflowFront
from emulator.services.workflow.service import Workflow
from emulator.storage.database import Database

_log = logging.getLogger(__name__)

DEFAULT_ROLE = "AliyunFcDefaultRole"
"""The role of functions that name none."""


class Assembly:
    """All services of one emulator.

    *work* is the folder for code and logs; *address* the emulator's own ``http://127.0.0.1:PORT``; *authority* the file
    of its private certificate authority; *names* is told which host names lead to functions; *environment* is what
    function instances find in theirs.
    """

    def __init__(
        self,
        *,
        config: Config,
        world: World,
        database: Database,
        clock: Clock,
        ids: Ids,
        timers: Timers,
        work: Path,
        address: str,
        authority: Path,
        names: HostNames,
        environment: dict[str, str],
    ) -> None:
        self._config = config
        self._world = world
        self._ids = ids
        self._declared = DeclaredMessaging(config, world)
        self._closing = AsyncExitStack()
        self.temporary_keys: KeySource
        self._temporary = self.temporary_keys = TemporaryKeys(database, timers, clock, ids)
        logbook = LogBook(work / "logs" / "functions")
        settings = RuntimeSettings(
            interpreters={name: str(path) for name, path in config.runtimes.items()},
            extra_environment=environment,
            redirect_hook=python_hook(),
            add_hooks=lambda variables: with_hooks(variables, environment, node_hook()),
        )
        self._pool = InstancePool(clock, ids, settings, logbook.on_log)
        self._queues = MessageService(database, clock, ids, timers)
        self._signer = PushSigner(authority.parent / "notifications", clock=clock)
        self._topics = TopicService(
            database,
            clock,
            ids,
            timers,
            queues=self._queues,
            signer=self._signer,
            endpoint=lambda: address,
            functions=TopicCalls(lambda: self._functions),
            home=OwnNames(HostPolicy(config.allowed_hosts), address).find,
            trusted=authority,
            allow_push_to=config.allow_push_to,
        )
        self._functions = FunctionCompute(
            database=database,
            clock=clock,
            ids=ids,
            timers=timers,
            instances=self._pool,
            code_folder=work / "code",
            logbook=logbook,
            account=world.account,
            region=world.region,
            endpoint=lambda: address,
            credentials=RoleKeys(self._temporary, clock),
            host_names=names,
            topics=TriggerSubscriptions(self._topics),
            queue_destinations=(results := ResultMessages(self._queues, self._topics)),
            topic_destinations=results,
        )
        self._workflow = Workflow(
            database=database,
            clock=clock,
            ids=ids,
            timers=timers,
            functions=FunctionCalls(self._functions),
            messages=FlowMessages(self._queues, self._topics, clock, ids),
        )

    async def start(self) -> None:
        """Load the functions folder; go on with what an earlier run left unfinished."""
        self._queues.start()
        self._closing.callback(self._queues.close)
        self._closing.push_async_callback(self._signer.close)
        self._closing.push_async_callback(self._topics.close)
        self._topics.start()
        self._declared.apply(self._queues, self._topics)
        await self._pool.start()
        self._closing.push_async_callback(self._pool.close)
        self._closing.push_async_callback(self._functions.close)
        await self._functions.start(self._config.functions)
        self._closing.push_async_callback(self._workflow.close)
        await self._workflow.start()

    def end_polls(self) -> None:
        """Answer every parked long poll; the server is about to stop."""
        self._queues.end_polls()
        self._workflow.end_polls()

    async def close(self) -> None:
        """End what `start` began, in the opposite order."""
        await self._closing.aclose()

    async def reset(self) -> None:
        """Forget everything the services know; functions of the folder stay."""
        self._workflow.reset()  # first: its executions call the others
        await self._topics.reset()
        self._queues.reset()
        self._declared.apply(self._queues, self._topics)
        await self._functions.reset()  # last: triggers of the folder subscribe to declared topics

    def fronts(self) -> dict[str, Front]:
        """Return the services' fronts by the names the router uses."""
        ids = self._ids
        return {
            "fc": FcFront(self._functions, ids),
            "fnf": WorkflowFront(self._workflow, ids),
            "mns": MnsFront(self._queues, ids, self._topics),
            "mns-open": MnsOpenFront(self._queues, self._topics, ids),
            "oss": OssFront(ids),
            "sts": StsFront(self._temporary, ids),
            "rpc": UnknownVersionFront(ids),
            **unavailable_fronts(ids),
        }

    def status(self) -> dict[str, Any]:
        """Return the functions' names and how many resources there are."""
        functions = self._functions.store.keys()
        names = [
            f"{service}/{function}" if service else function
            for world, service, function, version in functions
            if world == self._world and not version
        ]
        return {"functions": sorted(names), "counts": self._functions.counts()}

    def logs(self, function: str, lines: int, *, follow: bool) -> AsyncIterator[bytes]:
        """Yield the last *lines* of a function's log, then new ones while following.

        Raises: FunctionNotFound.
        """
        return self._functions.logs(function, lines, follow=follow)

    def code_download(self, token: str) -> bytes | None:
        """Return the zip a GetFunctionCode answer pointed to, or None."""
        return self._functions.code_download(token)

    async def signing_certificate(self) -> bytes:
        """Return the certificate that pushes of topics are verified with, as PEM.

        Raises: SigningFailed.
        """
        return await self._topics.certificate()

    async def purge_queue(self, queue: str) -> int:
        """Delete every message a queue of the installation's account and region holds; return how many there were.

        Raises: QueueNotExist.
        """
        return await self._queues.purge(self._world, queue)

    def deliveries(self, topic: str, subscription: str, limit: int) -> list[dict[str, Any]]:
        """Return the deliveries of a subscription in JSON's terms, pending ones first.

        Raises: TopicNotExist, SubscriptionNotExist.
        """
        return [delivery_object(each) for each in self._topics.list_deliveries(self._world, topic, subscription, limit)]

    def outbox(self, limit: int) -> list[dict[str, Any]]:
        """Return mails and the like that were recorded instead of being sent, newest first, in JSON's terms."""
        return [outbox_object(each) for each in self._topics.outbox(self._world, limit)]

    def triggers(self) -> list[dict[str, Any]]:
        """Return the triggers of all functions, in JSON's terms."""
        return self._functions.sources.rows(self._world)

    async def fire_trigger(
        self, function: str, trigger: str, payload: str | None, event: bytes | None
    ) -> dict[str, Any]:
        """Call a trigger's function now and return the result in JSON's terms; *function* is ``service/function``.

        Raises: FcError.
        """
        service, _, name = function.rpartition("/")
        fired = await self._functions.sources.fire(self._world, service, name, trigger, payload=payload, event=event)
        return {
            "requestId": fired.request_id,
            "status": fired.status,
            "error": fired.error_type or None,
            "body": b2a_base64(fired.body, newline=False).decode("ascii"),
            "log": fired.log.decode("utf-8", "replace"),
        }


class OwnNames:
    """Finds the host names of the cloud that lead back here: a push to a function's address needs no detour."""

    def __init__(self, policy: HostPolicy, address: str) -> None:
        self._policy = policy
        host, _, port = address.removeprefix("http://").partition(":")
        self._address = (host, int(port))

    def find(self, host: str) -> tuple[str, int] | None:
        """Return where *host* is listening for plain HTTP, None for a name this emulator does not serve."""
        return self._address if self._policy.allows(host) and not is_loopback(host) else None


class ResultMessages:
    """Takes results of asynchronous calls (the ports `DestinationQueue` and `DestinationTopic` of Function Compute).

    Queues and topics keep their messages in the same database, so a result is sent in the transaction that ends its
    call, exactly once; the key is not needed.
    """

    def __init__(self, queues: MessageService, topics: TopicService) -> None:
        self._queues = queues
        self._topics = topics

    def send(self, world: World, queue: str, body: str, *, key: str) -> None:
        """Send a message.

        Raises: DestinationRefused.
        """
        del key
        try:
            self._queues.send(world, queue, body)
        except ServiceError as error:
            raise DestinationRefused(str(error)) from error

    def publish(self, world: World, topic: str, body: str, *, key: str) -> None:
        """Publish a message.

        Raises: DestinationRefused.
        """
        del key
        try:
            self._topics.publish(world, topic, body)
        except ServiceError as error:
            raise DestinationRefused(str(error)) from error


class TopicCalls:
    """Lets topics call functions (the port `FunctionInvoker` of the message service)."""

    def __init__(self, functions: Callable[[], FunctionCompute]) -> None:
        self._functions = functions

    async def invoke_async(self, world: World, arn: str, event: bytes, key: str) -> None:
        """Queue a call of the function that *arn* names.

        Raises: FunctionRefused.
        """
        name = parse_function_arn(arn)
        if name is None:
            raise FunctionRefused(f"{arn} does not name a function")
        try:
            await self._functions().invoke_async(
                world, name.service or None, name.function, name.qualifier, event, key=key
            )
        except FcError as error:
            raise FunctionRefused(str(error)) from error


class TriggerSubscriptions:
    """Lets triggers subscribe functions to topics (the port `TopicSubscriptions` of Function Compute)."""

    def __init__(self, topics: TopicService) -> None:
        self._subscriptions = topics.subscriptions

    def subscribe(
        self,
        world: World,
        topic: str,
        name: str,
        function_arn: str,
        *,
        filter_tag: str | None,
        content_format: str,
        strategy: str,
    ) -> None:
        """Make the subscription *name*, or change it when it is there.

        Raises: TopicMissing.
        """
        settings = SubscriptionSettings(
            endpoint=function_arn,
            filter_tag=filter_tag,
            strategy=NotifyStrategy(strategy),
            content_format=ContentFormat(content_format),
        )
        try:
            found = [each for each in self._subscriptions.all(world, topic) if each.name == name]
            same = [each.settings for each in found if each.settings.endpoint == function_arn]
            if same and same[0].content_format is settings.content_format:
                change: SubscriptionChange = {"filter_tag": filter_tag, "strategy": settings.strategy}
                self._subscriptions.change(world, topic, name, change)
                return
            self._subscriptions.delete(world, topic, name)  # endpoint and format of a subscription never change
            self._subscriptions.create(world, topic, name, settings)
        except TopicNotExist:
            raise TopicMissing(topic) from None

    def unsubscribe(self, world: World, topic: str, name: str) -> None:
        """Remove the subscription; does nothing when topic or subscription are gone."""
        self._subscriptions.delete(world, topic, name)


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
