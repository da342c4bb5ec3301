"""The message service as one object: queues, messages and accounts of every tenant, over one database."""

import logging
from collections.abc import Sequence

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.timers import Timers
from emulator.services.mns.errors import MessageNotExist, QueueNotExist
from emulator.services.mns.limits import RELAXED, Profile
from emulator.services.mns.queues.catalog import Queues
from emulator.services.mns.queues.dead_letters import DeadLetters
from emulator.services.mns.queues.live_queues import LiveQueue, Registry
from emulator.services.mns.queues.messages import Messages
from emulator.services.mns.queues.model import AccountAttributes, Draft, Message, MessageReceipt
from emulator.services.mns.queues.ready_index import Contents
from emulator.services.mns.queues.store import SCHEMA, QueueStore
from emulator.services.mns.queues.visibility import write_handle
from emulator.services.mns.queues.waiters import Lobby
from emulator.storage.database import Database

__all__ = ["SCHEMA", "MessageService"]

_log = logging.getLogger(__name__)


class MessageService:
    """Everything the fronts and other services ask of MNS.

    ``queues`` and ``messages`` have one method per operation; `send`, `receive` and `delete` are the short forms other
    services use. Nothing is committed here: answers wait for the commit of their tick.
    """

    def __init__(
        self, database: Database, clock: Clock, ids: Ids, timers: Timers, *, profile: Profile = RELAXED
    ) -> None:
        self._database = database
        self._clock = clock
        self._store = QueueStore(database)
        self._registry = Registry(database, self._store, clock)
        self._lobby = Lobby(database, timers, clock)
        self._contents = Contents(self._registry, database, self._store, self._lobby, timers, clock)
        self._dead_letters = DeadLetters(self._registry, self._store, self._contents, timers, clock, ids)
        database.on_rollback(self._dead_letters.start)
        timers.on_step_back(self._clock_set_back)
        self.messages = Messages(
            self._registry, self._store, self._contents, self._dead_letters, self._lobby, clock, ids, profile
        )
        self.queues = Queues(
            self._registry, self._store, self._contents.sweeper, self._dead_letters, self._lobby, clock, profile
        )

    # --- life ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Take up what the tables hold: expiry, moves to dead-letter queues, remains of deleted queues."""
        self._contents.sweeper.start()
        self._dead_letters.start()

    def end_polls(self) -> None:
        """Send parked receivers away with nothing, now rather than at the end of their wait."""
        self._lobby.dismiss_all(MessageNotExist())

    def close(self) -> None:
        """Send parked receivers away with nothing and set no more timers."""
        self.end_polls()
        self._contents.sweeper.close()
        self._dead_letters.close()
        self._registry.remember()

    def reset(self) -> None:
        """Forget every queue, message and account attribute."""
        self._lobby.dismiss_all(QueueNotExist())
        self._contents.sweeper.close()
        self._dead_letters.close()
        self._registry.forget()
        self._store.clear()

    def in_use(self) -> list[LiveQueue]:
        """Return the queues that have been used since the start; the counters of others would have to be made."""
        return self._registry.in_use()

    @property
    def parked(self) -> int:
        """How many receivers are waiting for a message."""
        return len(self._lobby)

    def _clock_set_back(self, before: Millis) -> None:
        """Keep visible what has been visible, or it would be hidden until the old time has come again."""
        self._store.keep_visible(self._clock.now(), before)
        self._registry.forget()  # counters are made anew

    # --- accounts ------------------------------------------------------------------------------------------------

    def account(self, tenant: Tenant) -> AccountAttributes:
        """Return the attributes of an account."""
        return self._store.account(tenant)

    def set_account(self, tenant: Tenant, attributes: AccountAttributes) -> None:
        """Store the attributes of an account."""
        self._store.put_account(tenant, attributes)

    # --- for people who look after queues ------------------------------------------------------------------------

    async def purge(self, tenant: Tenant, queue: str) -> int:
        """Delete the messages a queue holds now, hidden and delayed ones too; return how many there were.

        A large queue is emptied in portions between which other calls are served; messages sent meanwhile stay.

        Raises: QueueNotExist, CommitFailed.
        """
        until = self._clock.now()
        deleted = 0
        while portion := self._contents.sweeper.remove_sent(self._registry.find(tenant, queue), until, until):
            deleted += portion
            await self._database.committed()
        return deleted

    # --- for other services ----------------------------------------------------------------------------------------

    def find(self, tenant: Tenant, queue: str) -> LiveQueue:
        """Return a queue for the methods of `messages`.

        Raises: QueueNotExist.
        """
        return self._registry.find(tenant, queue)

    def send(
        self,
        tenant: Tenant,
        queue: str,
        body: bytes | str,
        delay_s: int | None = None,
        priority: int | None = None,
        group_id: str | None = None,
    ) -> MessageReceipt:
        """Send a message as text; bytes are read as UTF-8.

        Raises: QueueNotExist; InvalidArgument, SchemaViolation, FifoMissingMessageGroupId as `Messages.send`.
        """
        text = body if isinstance(body, str) else body.decode("utf-8", "replace")
        draft = Draft(body=text, delay_s=delay_s, priority=priority, group_id=group_id)
        receipt = self.messages.send(self._registry.find(tenant, queue), draft)
        fields = {"message_id": receipt.message_id, "queue": queue}
        _log.info("message %(message_id)s is sent to queue %(queue)s", fields)
        return receipt

    async def receive(self, tenant: Tenant, queue: str, count: int = 1, wait_s: int | None = None) -> Sequence[Message]:
        """Receive up to *count* messages, waiting as asked; empty when there was nothing in time.

        Raises: QueueNotExist, InvalidArgument.
        """
        try:
            found = self.messages.receive(self._registry.find(tenant, queue), count, wait_s, tuple)
            return found if isinstance(found, tuple) else await found
        except MessageNotExist:
            return ()

    def delete(self, tenant: Tenant, queue: str, message: Message) -> None:
        """Delete a message that was received, while it is hidden.

        Raises: QueueNotExist, MessageNotExist.
        """
        handle = write_handle(message.message_id, message.queue_id, message.seq, message.revision, message.visible_from)
        self.messages.delete(self._registry.find(tenant, queue), handle)
