"""Answers that wait for the end of an execution: a future each, no task."""

import asyncio
from collections.abc import Awaitable, Callable

from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import Tenant
from emulator.services.workflow.executions import Executions
from emulator.services.workflow.model import ExecutionRecord
from emulator.wire.rpc import Reply


def reply_at_end(
    executions: Executions,
    tenant: Tenant,
    record: ExecutionRecord,
    wait_s: int,
    render: Callable[[ExecutionRecord], Reply],
) -> Awaitable[Reply]:
    """Return a reply that *render* makes of the execution when it has ended, or of its state after *wait_s* seconds."""
    reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

    def tell() -> None:
        if reply.done():
            return
        try:
            reply.set_result(render(executions.get(tenant, record.flow_name, record.name)))
        except ServiceError as error:  # the flow has been deleted meanwhile
            reply.set_exception(error)

    leave = executions.when_ended(record.id, wait_s, tell)
    reply.add_done_callback(lambda _: leave())
    return reply
