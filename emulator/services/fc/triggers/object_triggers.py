"""Object triggers: which bucket each waits for. `EventSources.object_changed` finds them when an object changes."""

from emulator.kernel.identity import Tenant
from emulator.services.fc.ports import SourceBuckets
from emulator.services.fc.triggers.model import Trigger, bucket_of
from emulator.services.fc.triggers.triggers import TriggerWatcher


class ObjectTriggers(TriggerWatcher):
    """Knows what object triggers wait for; there is nothing to arm."""

    def __init__(self, buckets: SourceBuckets) -> None:
        self._buckets = buckets

    def waits_for(self, tenant: Tenant, trigger: Trigger) -> str:
        """Return that the bucket of an object trigger does not exist."""
        if trigger.kind != "oss":
            return ""
        bucket = bucket_of(trigger.source_arn)
        return "" if self._buckets.exists(tenant, bucket) else f"the bucket '{bucket}' does not exist"
