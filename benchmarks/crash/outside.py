"""Functions and queues around the engine under test."""

import asyncio
import json

from emulator.kernel.identity import Tenant
from emulator.services.workflow.ports import FunctionReply, FunctionResource, MessageReply, Submission


class Outside:
    """Functions and queues: what they were asked survives the engine, as theirs survives a crash of the real one."""

    def __init__(self) -> None:
        self.asked: dict[str, str] = {}
        self._queued: dict[str, FunctionReply] = {}
        self.calls = 0

    async def invoke(self, tenant: Tenant, resource: FunctionResource, event: bytes, key: str) -> FunctionReply:
        """Answer after a turn of the loop, so that a crash can come in between."""
        del tenant, key
        self.calls += 1
        await asyncio.sleep(0)
        given = json.loads(event)
        if resource.function == "fail":
            return FunctionReply(body=b'{"errorType":"Oops","errorMessage":"no"}', error_type="HandledInvocationError")
        if resource.function == "count":
            given = {"tries": (given.get("tries") or 0) + 1}
        return FunctionReply(body=json.dumps(given).encode())

    async def submit(
        self, tenant: Tenant, resource: FunctionResource, event: bytes, key: str, *, invocation_id: str
    ) -> Submission:
        """Queue a call, once per key."""
        del invocation_id
        request = f"queued by {json.loads(event)['n']}"
        if request not in self._queued:
            self._queued[request] = await self.invoke(tenant, resource, event, key)
        return Submission(request)

    async def result(self, tenant: Tenant, request_id: str) -> FunctionReply:
        """Return the answer of a queued call."""
        del tenant
        await asyncio.sleep(0)
        return self._queued[request_id]

    def abandon(self, tenant: Tenant, key: str) -> None:
        """Take note of nothing."""

    async def send(
        self, tenant: Tenant, queue: str, body: str, *, delay_s: int | None, priority: int | None, key: str
    ) -> MessageReply:
        """Remember who asks; the same message comes again when its sending was not recorded."""
        del tenant, queue, delay_s, priority, key
        self.calls += 1
        told = json.loads(body)
        self.asked[told["token"]] = str(told["n"])
        return MessageReply(members={"MessageId": f"asked by {told['n']}"})

    async def publish(
        self, tenant: Tenant, topic: str, body: str, *, tag: str | None, attributes: str | None, key: str
    ) -> MessageReply:
        """Nothing publishes here."""
        raise NotImplementedError
