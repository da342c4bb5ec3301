"""XML of accounts, queues and lists."""

from base64 import b64decode, b64encode
from dataclasses import replace

from emulator.kernel.paging import Page
from emulator.services.mns.errors import InvalidArgument
from emulator.services.mns.model import AccountAttributes, QueueView, SettingsChange
from emulator.services.mns.wire import document, leaf, read_bool, read_document, read_int
from emulator.wire.xml import Element

# --- queues ------------------------------------------------------------------------------------------------------


def read_settings(body: bytes) -> SettingsChange:
    """Read the attributes a request names; an empty body names none.

    Raises: MalformedXML, SchemaViolation.
    """
    if not body.strip():
        return {}
    root = read_document(body, "Queue")
    change: SettingsChange = {}
    if (text := root.text_of("DelaySeconds")) is not None:
        change["delay_s"] = read_int(text, "DelaySeconds")
    if (text := root.text_of("MaximumMessageSize")) is not None:
        change["maximum_message_size"] = read_int(text, "MaximumMessageSize")
    if (text := root.text_of("MessageRetentionPeriod")) is not None:
        change["retention_s"] = read_int(text, "MessageRetentionPeriod")
    if (text := root.text_of("VisibilityTimeout")) is not None:
        change["visibility_timeout_s"] = read_int(text, "VisibilityTimeout")
    if (text := root.text_of("PollingWaitSeconds")) is not None:
        change["polling_wait_s"] = read_int(text, "PollingWaitSeconds")
    if (text := root.text_of("LoggingEnabled")) is not None:
        change["logging_enabled"] = read_bool(text, "LoggingEnabled")
    return change


def render_queue(view: QueueView) -> bytes:
    """Write GetQueueAttributes: flat, in the live order; what only the management API knows stays out."""
    return document("Queue", _attributes(view, "  "))


def render_queues(page: Page[str], *, base: str) -> bytes:
    """Write a page of queues by name."""
    return _list([_listed(name, base) for name in page.items], page.next_marker)


def render_queues_with_meta(page: Page[QueueView], *, base: str) -> bytes:
    """Write a page of queues with the attributes of each."""
    entries = [_listed(view.queue.name, base, _attributes(view, "    ")) for view in page.items]
    return _list(entries, page.next_marker)


def _listed(name: str, base: str, attributes: str = "") -> str:
    return "\n  <Queue>" + leaf("QueueURL", f"{base}/queues/{name}", "    ") + attributes + "\n  </Queue>"


def _list(entries: list[str], marker: str | None) -> bytes:
    """Write a list; an element that would be empty is left out, the Python client fails on it."""
    more = "" if marker is None else leaf("NextMarker", write_marker(marker))
    return document("Queues", "".join(entries) + more)


def _attributes(view: QueueView, indent: str) -> str:
    queue, counters = view.queue, view.counters
    settings = queue.settings
    values: tuple[tuple[str, str | int], ...] = (
        ("QueueName", queue.name),
        ("DelaySeconds", settings.delay_s),
        ("MaximumMessageSize", settings.maximum_message_size),
        ("MessageRetentionPeriod", settings.retention_s),
        ("VisibilityTimeout", settings.visibility_timeout_s),
        ("CreateTime", queue.created_at // 1000),
        ("LastModifyTime", queue.modified_at // 1000),
        ("PollingWaitSeconds", settings.polling_wait_s),
        ("ActiveMessages", counters.active),
        ("InactiveMessages", counters.inactive),
        ("DelayMessages", counters.delayed),
        ("LoggingEnabled", str(settings.logging_enabled)),
        ("MessageType", 0),
        ("EnableSSE", str(settings.encryption.enabled)),
    )
    return "".join(leaf(name, value, indent) for name, value in values)


# --- lists -------------------------------------------------------------------------------------------------------


def write_marker(name: str) -> str:
    """Return the opaque form of the name a list goes on with."""
    return b64encode(name.encode()).decode("ascii")


def read_marker(text: str) -> str:
    """Read a marker; "" is the start of the list.

    Raises: InvalidArgument.
    """
    try:
        return b64decode(text, validate=True).decode()
    except ValueError:
        raise InvalidArgument("The value of x-mns-marker is not one this service gave.") from None


# --- accounts ----------------------------------------------------------------------------------------------------


def read_account(body: bytes, before: AccountAttributes) -> AccountAttributes:
    """Return *before* with what the request names.

    Raises: MalformedXML, SchemaViolation.
    """
    root = read_document(body, "Account")
    bucket = root.text_of("LoggingBucket")
    trace = root.find("TraceEnabled")
    return replace(
        before,
        logging_bucket=before.logging_bucket if bucket is None else bucket.strip(),
        trace_enabled=before.trace_enabled if trace is None else _is_on(trace),
    )


def _is_on(element: Element) -> bool:
    """Read a switch that is written as 0 or 1, or as a word."""
    text = element.text.strip()
    return text == "1" if text in {"0", "1"} else read_bool(text, element.name)


def render_account(attributes: AccountAttributes) -> bytes:
    """Write GetAccountAttributes; LoggingBucket is there even when it is empty, the Python client asks for it."""
    content = leaf("LoggingBucket", attributes.logging_bucket) + leaf("TraceEnabled", int(attributes.trace_enabled))
    return document("Account", content)
