"""Mails, short messages, mobile notifications and events: recorded and shown in the log, never sent."""

import json
import logging

from emulator.kernel.clock import Millis
from emulator.kernel.identity import Tenant
from emulator.services.mns.endpoints import OutboxEndpoint
from emulator.services.mns.topic_limits import OUTBOX
from emulator.services.mns.topic_model import Attributes, OutboxEntry, Outcome, Publication, Subscription
from emulator.services.mns.topic_store import OutboxStore

_log = logging.getLogger(__name__)

_ATTRIBUTES = {"mail": ("DirectMail", "DM"), "sms": ("DirectSMS", "DYSMS"), "push": ("Push",), "event": ()}
"""Message attributes that say how a message of a kind looks; the second names are those of the newer Java client."""

_SUBSCRIBED = {"mail": "DmAttributes", "sms": "DysmsAttributes", "push": "", "event": ""}
"""Where a subscription made through the management API keeps its own."""


class Outbox:
    """What would have been sent, the newest thousand of each account and region."""

    def __init__(self, store: OutboxStore) -> None:
        self._store = store

    def record(
        self, endpoint: OutboxEndpoint, subscription: Subscription, publication: Publication, now: Millis
    ) -> Outcome:
        """Record a message for a mail address, telephone or app.

        Anonymous and dynamic endpoints have their receivers in the message's attributes; ``multiContent`` messages list
        them as the keys of SmsParams.
        """
        details = _details(endpoint.kind, subscription.settings.extras, publication.attributes)
        address = endpoint.address
        if address in {"anonymous", "__dynamic"}:
            address = _receivers(details) or address
        entry = OutboxEntry(
            kind=endpoint.kind,
            address=address,
            topic_name=subscription.topic_name,
            subscription_name=subscription.name,
            message_id=publication.message_id,
            body=publication.body,
            details=details,
            recorded_at=now,
        )
        self._store.add_outbox(subscription.tenant, entry, OUTBOX)
        _log.info(
            "%s for %s, from topic %s, subscription %s, is in the outbox: %r",
            endpoint.kind, address, entry.topic_name, entry.subscription_name, publication.body[:200],
        )  # fmt: skip
        return Outcome(delivered=True, detail=f"{endpoint.kind} for {address} is in the outbox")

    def entries(self, tenant: Tenant, limit: int = 100) -> list[OutboxEntry]:
        """Return the newest entries, newest first."""
        return self._store.outbox(tenant, limit)


def _details(kind: str, extras: dict[str, str], attributes: Attributes) -> dict[str, object]:
    """Return what subscription and message say about the look of a message; the message wins."""
    details = _members(extras.get(_SUBSCRIBED[kind], ""))
    for name in _ATTRIBUTES[kind]:
        details |= _members(attributes.get(name, ""))
    return details


def _members(text: str) -> dict[str, object]:
    if not text:
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {"text": text}
    return value if isinstance(value, dict) else {"text": text}


def _receivers(details: dict[str, object]) -> str:
    given = details.get("Receiver") or details.get("PhoneNumber") or details.get("MailAddress")
    if isinstance(given, str) and given:
        return given
    parameters = details.get("SmsParams")
    if isinstance(parameters, str):
        parameters = _members(parameters)
    return ",".join(parameters) if isinstance(parameters, dict) and details.get("Type") == "multiContent" else ""
