"""Object triggers: which bucket each waits for. `EventSources.object_changed` finds them when an object changes."""

from emulator.kernel.identity import Tenant
from emulator.services.fc.ports import SourceBuckets
from emulator.services.fc.triggers.model import Trigger, bucket_of
from emulator.services.fc.triggers.triggers import TriggerWatcher


class ObjectTriggers(TriggerWatcher):
    """Object triggers, which wait for their buckets; they have no timers or readers."""

    def __init__(self, buckets: SourceBuckets) -> None:
        self._buckets = buckets

    def waits_for(self, tenant: Tenant, trigger: Trigger) -> str:
        """Return a sentence when the bucket of an object trigger does not exist, else an empty text."""
        if trigger.kind != "oss":
            return ""
        bucket = bucket_of(trigger.source_arn)
        return "" if self._buckets.exists(tenant, bucket) else f"the bucket '{bucket}' does not exist"
