"""What is done in the name of a role, by no caller: results sent to destinations, functions called by triggers."""

import logging

from emulator.kernel.identity import Tenant
from emulator.services.fc.arns import FunctionName, MessageTarget
from emulator.services.fc.asynchronous.model import Lane
from emulator.services.fc.ports import DestinationRefused, RoleGuard
from emulator.services.fc.resolving import Resolver
from emulator.services.fc.rights import SERVICE
from emulator.services.fc.trigger_model import Trigger
from emulator.services.fc.trigger_sqlite import TriggerStore

_log = logging.getLogger(__name__)

_CALLERS = {"mns_topic": "mns.aliyuncs.com", "oss": "oss.aliyuncs.com"}
"""By the type of a trigger, the service that calls its function and that the role has to trust."""


class RoleChecks:
    """Asks the *guard*; without one everything may be done."""

    def __init__(self, guard: RoleGuard | None, resolver: Resolver, triggers: TriggerStore) -> None:
        self._guard = guard
        self._resolver = resolver
        self._triggers = triggers

    def check_destination(self, lane: Lane, target: FunctionName | MessageTarget) -> None:
        """Check that the role of the function whose call has ended may tell *target* of it.

        Raises: DestinationRefused; FcError when the function is gone.
        """
        if self._guard is None:
            return
        role = self._resolver.target(lane.tenant, lane.service, lane.function, lane.qualifier, 0.0).role
        reason = self._guard.refusal(lane.tenant, role, SERVICE, target)
        if reason is not None:
            raise DestinationRefused(reason)

    def may_fire(self, tenant: Tenant, trigger: Trigger) -> bool:
        """Tell whether the role that a trigger's source calls with, if any, may call the function.

        The log says why it may not.
        """
        caller = _CALLERS.get(trigger.kind)
        if self._guard is None or caller is None or not trigger.role:
            return True
        function = FunctionName(trigger.service, trigger.function, trigger.qualifier)
        reason = self._guard.refusal(tenant, trigger.role, caller, function)
        if reason is not None:
            _log.warning("trigger %s of %s may not fire: %s", trigger.name, trigger.function, reason)
        return reason is None

    def topics_may_call(self, tenant: Tenant, name: FunctionName) -> bool:
        """Tell whether topics may call a function: one of its topic triggers may fire, or it has none."""
        if self._guard is None:
            return True
        own = [
            trigger
            for owner, trigger in self._triggers.of_kind("mns_topic")
            if owner == tenant and (trigger.service, trigger.function) == (name.service, name.function)
        ]
        return not own or any(self.may_fire(tenant, trigger) for trigger in own)
