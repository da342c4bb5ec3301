"""Express executions: short, under a name that is made unique, and waited for by whoever starts them.

They run on the same engine as all others and are kept like them, so their history can be read, and one that a crash
of the emulator cuts off goes on at the next start.

Source: standard and express, Serverless Workflow guide; StartSyncExecution, API reference.
"""

from emulator.kernel.clock import Clock
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.services.workflow.errors import ActionNotSupported
from emulator.services.workflow.executions import Executions, sound_input
from emulator.services.workflow.flows import Flows
from emulator.services.workflow.model import ExecutionRecord, NewExecution
from emulator.services.workflow.names import check_name
from emulator.services.workflow.versions import Versions


class Express:
    """Starts express executions."""

    def __init__(self, flows: Flows, versions: Versions, executions: Executions, clock: Clock, ids: Ids) -> None:
        self._flows = flows
        self._versions = versions
        self._executions = executions
        self._clock = clock
        self._ids = ids

    def start(
        self, tenant: Tenant, flow_name: str, name: str | None, given: str, qualifier: str = ""
    ) -> ExecutionRecord:
        """Accept an execution under ``{name}:{UUID}``; *name* None: a UUID. `Executions.when_ended` tells its end.

        Raises: FlowNotExists, FlowVersionNotExists, FlowAliasNotExists, InvalidArgument, ActionNotSupported for a
            standard flow, ResourceThrottled.
        """
        if name is not None:
            check_name("ExecutionName", name)
        text = sound_input(given)
        flow = self._flows.get(tenant, flow_name)
        if not flow.settings.is_express:
            raise ActionNotSupported("Standard execution is not supported")
        new = NewExecution(
            flow=self._versions.choose(flow, qualifier),
            name=f"{name or self._ids.uuid()}:{self._ids.uuid()}",
            input=text,
            callback_token="",
            started_at=self._clock.now(),
            qualifier=qualifier,
        )
        return self._executions.add(tenant, new)
