"""XML of queues, accounts and messages: drafts and receipt handles in; receipts, messages, failed entries out."""

from collections.abc import Sequence

from emulator.kernel.frozen import replace
from emulator.services.mns.codec import document, leaf, read_bool, read_document, read_int
from emulator.services.mns.errors import MnsError, SchemaViolation
from emulator.services.mns.queues.message import (
    BatchEntry,
    Draft,
    Message,
    MessageReceipt,
    Properties,
    Property,
    Refused,
    restored,
)
from emulator.services.mns.queues.messages import ChangedVisibility
from emulator.services.mns.queues.model import AccountAttributes
from emulator.services.mns.queues.visibility import handle_of
from emulator.wire.xml import Element, escape


def read_account(body: bytes, before: AccountAttributes) -> AccountAttributes:
    """Return *before* changed by the attributes in a request's body.

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
    """Write GetAccountAttributes; LoggingBucket is present even when it is empty: the Python client reads it."""
    content = leaf("LoggingBucket", attributes.logging_bucket) + leaf("TraceEnabled", int(attributes.trace_enabled))
    return document("Account", content)


def read_drafts(body: bytes) -> Draft | list[Draft]:
    """Read the body of a send: one message, or the list of a batch.

    Raises: MalformedXML, SchemaViolation.
    """
    root = read_document(body, "Message", "Messages")
    if root.name == "Message":
        return _draft(root)
    return [_draft(element) for element in root.children if element.name == "Message"]


def _draft(element: Element) -> Draft:
    parts = {child.name: child for child in reversed(element.children)}
    body = parts.get("MessageBody")
    if body is None or body.children:
        raise SchemaViolation(name="MessageBody")
    delay, priority, group = parts.get("DelaySeconds"), parts.get("Priority"), parts.get("MessageGroupId")
    user, system = parts.get("UserProperties"), parts.get("SystemProperties")
    return Draft(
        body=body.text,
        delay_s=None if delay is None else read_int(delay.text, "DelaySeconds"),
        priority=None if priority is None else read_int(priority.text, "Priority"),
        group_id=None if group is None else group.text,
        user_properties=() if user is None else read_properties(user, "PropertyValue"),
        system_properties=() if system is None else read_properties(system, "SystemPropertyValue"),
    )


def read_properties(element: Element | None, entry: str) -> Properties:
    """Read the entries of a property list.

    Raises: SchemaViolation for an entry without a name, value or type.
    """
    if element is None:
        return ()
    return tuple(
        Property(_part(item, "Name").strip(), _part(item, "Value"), _part(item, "Type").strip())
        for item in element.children
        if item.name == entry
    )


def _part(item: Element, name: str) -> str:
    text = item.text_of(name)
    if text is None:
        raise SchemaViolation(name=name)
    return text


def read_handles(body: bytes) -> list[str]:
    """Read the receipt handles of a batch.

    Raises: MalformedXML, SchemaViolation; MissingReceiptHandle when there are none or one is empty.
    """
    if not body.strip():
        raise MnsError("MissingReceiptHandle")
    root = read_document(body, "ReceiptHandles")
    handles = [element.text.strip() for element in root.children if element.name == "ReceiptHandle"]
    if not handles or not all(handles):
        raise MnsError("MissingReceiptHandle")
    return handles


def render_receipt(receipt: MessageReceipt) -> bytes:
    """Write the answer to a send; the handle is there for a delayed message only."""
    return document("Message", _receipt(receipt, "  "))


def render_batch(entries: Sequence[BatchEntry]) -> bytes:
    """Write the answer to a batch of sends, in request order.

    When one failed, the entries have exactly the two documented elements: the Python client compares the sets of names.
    """
    partial = any(isinstance(entry, Refused) for entry in entries)
    lines = []
    for entry in entries:
        if isinstance(entry, Refused):
            inner = leaf("ErrorCode", entry.code, "    ") + leaf("ErrorMessage", entry.message, "    ")
        else:
            inner = _receipt(entry._replace(handle=None, group_id=None) if partial else entry, "    ")
        lines.append(f"\n  <Message>{inner}\n  </Message>")
    return document("Messages", "".join(lines))


def render_refused_handles(refused: Sequence[Refused]) -> bytes:
    """Write the failures of a batch of deletes: exactly three elements each."""
    lines = [
        "\n  <Error>"
        + leaf("ErrorCode", entry.code, "    ")
        + leaf("ErrorMessage", entry.message, "    ")
        + leaf("ReceiptHandle", entry.handle, "    ")
        + "\n  </Error>"
        for entry in refused
    ]
    return document("Errors", "".join(lines))


def render_message(message: Message, *, peeked: bool = False) -> bytes:
    """Write one message."""
    return document("Message", _message(message, "  ", peeked=peeked))


def render_messages(messages: Sequence[Message], *, peeked: bool = False) -> bytes:
    """Write several messages, or one that a batch operation got."""
    lines = [f"\n  <Message>{_message(message, '    ', peeked=peeked)}\n  </Message>" for message in messages]
    return document("Messages", "".join(lines))


def render_changed(changed: ChangedVisibility) -> bytes:
    """Write the answer to a change of visibility."""
    content = leaf("ReceiptHandle", changed.handle) + leaf("NextVisibleTime", changed.next_visible_at)
    return document("ChangeVisibility", content)


def _receipt(receipt: MessageReceipt, indent: str) -> str:
    content = (
        f"\n{indent}<MessageId>{receipt.message_id}</MessageId>"
        f"\n{indent}<MessageBodyMD5>{receipt.body_md5}</MessageBodyMD5>"
    )
    if receipt.handle is not None:
        content += leaf("ReceiptHandle", receipt.handle, indent)
    if receipt.group_id is not None:
        content += leaf("MessageGroupId", receipt.group_id, indent)
    return content


def _message(message: Message, indent: str, *, peeked: bool) -> str:
    """Return the elements of a message, in the order of the live service; a peek has no handle and no next time.

    Only body and group can hold characters that need escapes.
    """
    handle = next_visible = ""
    if not peeked:
        handle = f"\n{indent}<ReceiptHandle>{handle_of(message)}</ReceiptHandle>"
        next_visible = f"\n{indent}<NextVisibleTime>{message.visible_from}</NextVisibleTime>"
    content = (
        f"\n{indent}<MessageId>{message.message_id}</MessageId>"
        f"\n{indent}<MessageBodyMD5>{message.body_md5}</MessageBodyMD5>"
        f"\n{indent}<MessageBody>{escape(message.body)}</MessageBody>"
        f"{handle}"
        f"\n{indent}<EnqueueTime>{message.enqueued_at}</EnqueueTime>"
        f"\n{indent}<FirstDequeueTime>{message.first_dequeued_at}</FirstDequeueTime>"
        f"{next_visible}"
        f"\n{indent}<DequeueCount>{message.dequeue_count}</DequeueCount>"
        f"\n{indent}<Priority>{message.priority}</Priority>"
    )
    if message.group_id is not None:
        content += leaf("MessageGroupId", message.group_id, indent)
    # the reader of user properties in aliyun-mns-php-sdk goes to the end of the document, so they come last
    if message.system_properties is not None:
        properties = restored(message.system_properties)
        content += render_properties("SystemProperties", "SystemPropertyValue", properties, indent)
    if message.user_properties is not None:
        content += render_properties("UserProperties", "PropertyValue", restored(message.user_properties), indent)
    return content


def render_properties(name: str, entry: str, properties: Properties, indent: str) -> str:
    """Return a property list, in the order it was sent."""
    inner, innermost = indent + "  ", indent + "    "
    lines = [
        f"\n{inner}<{entry}>"
        + leaf("Name", item.name, innermost)
        + leaf("Value", item.value, innermost)
        + leaf("Type", item.type, innermost)
        + f"\n{inner}</{entry}>"
        for item in properties
    ]
    return f"\n{indent}<{name}>{''.join(lines)}\n{indent}</{name}>"
