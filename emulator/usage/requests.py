"""Metering of the gateway's traffic: requests to queues, topics and buckets, and outgoing bytes."""

from collections.abc import Iterable, Iterator
from typing import Final

from emulator.gateway.traffic import Carried
from emulator.kernel.metering import Amount
from emulator.usage.items import OSS_LISTS

_PUBLIC: Final = frozenset({"fc", "fnf", "mns", "mns-open", "ram", "sts", "log"})
"""Fronts of cloud services whose outgoing bytes are metered here; those of the object store are metered by bucket."""

_READS: Final = ("Get", "Head")


def amounts(carried: Iterable[Carried]) -> Iterator[Amount]:
    """Yield the amounts that the gateway's requests are metered as."""
    for each in carried:
        if each.service == "mns":
            yield of_messages(each.operation, each.resource, each.units)
        if each.service == "oss":
            yield from _of_objects(each)
        elif each.service in _PUBLIC and each.sent_bytes:
            yield Amount("net.bytes.out", each.service, "", each.sent_bytes)


def of_messages(operation: str, resource: str, units: int) -> Amount:
    """Return the amount that requests to a queue or topic are metered as.

    Source: Simple Message Queue, "Billing": every call counts, in units of 64 KB.
    """
    is_topic = any(word in operation.lower() for word in ("topic", "subscri", "publish"))
    family = "topics" if is_topic else "queues"
    item = "mns.requests.topic" if is_topic else "mns.requests.queue"
    return Amount(item, f"{family}/{resource}" if resource else family, operation, units)


def _of_objects(each: Carried) -> Iterator[Amount]:
    """Yield requests by class and bytes of a bucket; refused ones are free. Source: as `OSS_LISTS`."""
    reads = each.operation.startswith(_READS) and each.operation not in OSS_LISTS
    served = each.requests - each.refused
    if served:
        yield Amount("oss.requests.get" if reads else "oss.requests.put", each.resource, each.operation, served)
    if each.received_bytes:
        yield Amount("oss.bytes.in", each.resource, "", each.received_bytes)
    if each.sent_bytes:
        yield Amount("oss.bytes.out", each.resource, "", each.sent_bytes)
