"""Errors of the message service: codes, statuses and the service's own wording.

Source: MNS "Error codes"; codes of topics from the error decoders of the official SDKs, their texts assumed but that of
TopicNotExist. Further texts marked "assumed" are the emulator's own.
"""

from typing import assert_never

from emulator.kernel.errors import AuthFailure, ErrorRow, Reason, ServiceError
from emulator.kernel.identity import Demand

ERRORS: dict[str, ErrorRow] = {
    # Something went wrong inside the emulator. The spelling is the service's.
    "InternalError": ErrorRow(500, "Interal error."),
    # An operation this version of the emulator does not serve. Field: ``operation``. Source: assumed.
    "ActionNotSupported": ErrorRow(400, "This emulator does not support {operation}."),
    # Nobody signed the request.
    "MissingAuthorizationHeader": ErrorRow(400, "Authorization header is required."),
    # The Authorization header is not of a form this service knows.
    "InvalidAuthorizationHeader": ErrorRow(400, "The Authorization header format is invalid."),
    # Neither ``Date`` nor ``x-mns-date``.
    "MissingDateHeader": ErrorRow(400, "Date header is required."),
    # The date cannot be read.
    "InvalidDateHeader": ErrorRow(400, "The Date header format is invalid."),
    # The date is more than 15 minutes off. The error table says 408, the page on signing 400; the table is newer.
    "TimeExpired": ErrorRow(408, "The http request you sent is expired."),
    # No ``x-mns-version``. Source: code from the Go SDK, text assumed.
    "MissingVersionHeader": ErrorRow(400, "x-mns-version header is required."),
    # An ``x-mns-version`` other than 2015-06-06. Source: code from the .NET SDK, text assumed.
    "InvalidVersionHeader": ErrorRow(400, "The x-mns-version header is invalid."),
    # Nobody has this key.
    "InvalidAccessKeyId": ErrorRow(403, "The AccessKey Id you provided is not exist."),
    # The signature is not the one computed here.
    "SignatureDoesNotMatch": ErrorRow(
        403,
        "The request signature we calculated does not match the signature you provided. Check your key and "
        "signing method.",
    ),
    # The key belongs to another account, or a temporary key came without its token.
    "AccessDenied": ErrorRow(403, "The OwnerId that your Access Key Id associated to is forbidden for this operation."),
    # The token is not the key's. Source: assumed.
    "InvalidSecurityToken": ErrorRow(403, "The security token you provided is invalid."),
    # The temporary key's time is over. Source: assumed.
    "SecurityTokenExpired": ErrorRow(403, "The security token you provided has expired."),
    # ``Content-MD5`` is not the body's. The spelling is the service's.
    "InvalidDegist": ErrorRow(400, "The Content-MD5 you specified is invalid."),
    # The path names nothing the service has.
    "InvalidRequestURL": ErrorRow(400, "Http request URL format invalid."),
    # The body is not well-formed XML.
    "MalformedXML": ErrorRow(400, "The XML you provided was not well-formed."),
    # A value is out of its range. Fields: ``name``, ``low``, ``high``, ``unit`` (``" bytes"`` or the like).
    "InvalidArgument": ErrorRow(400, "The value of {name} should between {low} and {high}{unit}."),
    # An element is missing, unknown as a root, or not of its type. Field: ``name``.
    "SchemaViolation": ErrorRow(
        400, "The XML you provided did not validate against our published schema, cause by {name}.", "InvalidArgument"
    ),
    # A queue's name has other characters than letters, digits and hyphens, or starts with a hyphen.
    "InvalidQueueName": ErrorRow(
        400,
        "The queue name you provided is invalid. QueueName should start with alpha and contain only alpha, digit or -.",
    ),
    # A queue's name is too long. Field: ``high``, 256 in the service's text, 120 with ``--strict``.
    "QueueNameLengthError": ErrorRow(400, "Queue name length should between 1 and {high}."),
    # More calls than the service takes; the emulator takes all, but for a fault that is asked for.
    "QpsLimitExceeded": ErrorRow(400, "The qps limit of the queue is exceeded"),
    # No queue of this name in the caller's account and region.
    "QueueNotExist": ErrorRow(404, "The queue name you provided is not exist."),
    # A queue of this name exists with other attributes.
    "QueueAlreadyExist": ErrorRow(409, "The queue you want to create is already exist."),
    # Nothing to receive or to look at, or the message of a handle is not there any more.
    "MessageNotExist": ErrorRow(404, "Message not exist."),
    # Neither query nor body names a message.
    "MissingReceiptHandle": ErrorRow(400, "ReceiptHandle is required."),
    # A change of visibility without the new timeout.
    "MissingVisibilityTimeout": ErrorRow(400, "VisibilityTimeout is required."),
    # A text that is no receipt handle, or another queue's.
    "ReceiptHandleError": ErrorRow(400, "The receipt handle you provide is not valid."),
    # A message without a group was sent to a FIFO queue. Source: code documented, status and text assumed.
    "FifoMissingMessageGroupId": ErrorRow(400, "MessageGroupId is required for a message of a fifo queue."),
    # No topic of this name in the caller's account and region. Source: PublishMessage page.
    "TopicNotExist": ErrorRow(404, "The topic you provided does not exist."),
    # A topic of this name exists with other attributes.
    "TopicAlreadyExist": ErrorRow(409, "The topic you want to create is already exist."),
    # A topic's name has other characters than letters, digits and hyphens, or starts with a hyphen.
    "TopicNameInvalid": ErrorRow(
        400,
        "The topic name you provided is invalid. TopicName should start with alpha or digit and contain only "
        "alpha, digit or -.",
    ),
    # A topic's name is too long. Field: ``high``, as of queues.
    "TopicNameLengthError": ErrorRow(400, "Topic name length should between 1 and {high}."),
    # No subscription of this name at the topic.
    "SubscriptionNotExist": ErrorRow(404, "The subscription you provided is not exist."),
    # A subscription of this name exists with other attributes.
    "SubscriptionAlreadyExist": ErrorRow(409, "The subscription you want to create is already exist."),
    # A subscription's name has other characters than letters, digits and hyphens, or starts with a hyphen.
    "SubscriptionNameInvalid": ErrorRow(
        400,
        "The subscription name you provided is invalid. SubscriptionName should start with alpha or digit "
        "and contain only alpha, digit or -.",
    ),
    # A subscription's name is too long. Field: ``high``.
    "SubscriptionNameLengthError": ErrorRow(400, "Subscription name length should between 1 and {high}."),
    # The topic has as many subscriptions as it can have. Field: ``high``. Source: code and status assumed.
    "SubscriptionNumExceededLimit": ErrorRow(403, "The number of subscriptions of the topic exceeds the limit {high}."),
    # The endpoint of a subscription is of no known form, or its queue is too small for the topic's messages.
    "EndpointInvalid": ErrorRow(400, "The endpoint you provided is invalid."),
    # No rule of this name for the product. Source: assumed.
    "EventRuleNotExist": ErrorRow(404, "The event rule you provided does not exist."),
    # A rule of this name exists for the product and says something else. Source: assumed.
    "EventRuleAlreadyExist": ErrorRow(409, "The event rule you want to create already exists."),
}


class MnsError(ServiceError):
    """An error answered as the XML document of the message service: a row of `ERRORS`."""

    table = ERRORS


class QueueNotExist(MnsError):
    """No queue of this name in the caller's account and region."""


class MessageNotExist(MnsError):
    """Nothing to receive or to look at, or the message of a handle is not there any more."""


class ReceiptHandleError(MnsError):
    """A text that is no receipt handle, or another queue's."""


class TopicNotExist(MnsError):
    """No topic of this name in the caller's account and region. Source: PublishMessage page."""


class SubscriptionNotExist(MnsError):
    """No subscription of this name at the topic."""


class SchemaViolation(MnsError):
    """An element is missing, unknown as a root, or not of its type. Field: ``name``."""


def auth_error(failure: AuthFailure) -> MnsError:
    """Turn a reason into this service's code; reasons of other schemes become InvalidAuthorizationHeader."""
    return MnsError(_code(failure.reason))


def _code(reason: Reason) -> str:
    match reason:
        case Reason.MISSING_AUTHORIZATION:
            return "MissingAuthorizationHeader"
        case Reason.MISSING_DATE:
            return "MissingDateHeader"
        case Reason.BAD_DATE:
            return "InvalidDateHeader"
        case Reason.SKEWED_DATE | Reason.URL_EXPIRED:
            return "TimeExpired"
        case Reason.UNKNOWN_KEY | Reason.INACTIVE_KEY:
            return "InvalidAccessKeyId"
        case Reason.MISSING_TOKEN | Reason.FOREIGN_ACCOUNT:
            return "AccessDenied"
        case Reason.BAD_TOKEN | Reason.TOKEN_OF_ANOTHER_KEY:
            return "InvalidSecurityToken"
        case Reason.TOKEN_EXPIRED:
            return "SecurityTokenExpired"
        case Reason.BODY_DIFFERS:
            return "InvalidDegist"
        case Reason.SIGNATURE_DIFFERS:
            return "SignatureDoesNotMatch"
        case (
            Reason.MALFORMED_AUTHORIZATION
            | Reason.MISSING_KEY_ID
            | Reason.MISSING_SIGNATURE
            | Reason.MISSING_NONCE
            | Reason.NONCE_USED
            | Reason.UNSUPPORTED_METHOD
            | Reason.UNSIGNED_HEADER
            | Reason.REPEATED_PARAMETER
        ):
            return "InvalidAuthorizationHeader"
        case _:
            assert_never(reason)


def access_denied(demand: Demand) -> MnsError:
    """Return the error for a missing right, whose text names the right. Source: naming it is the emulator's own."""
    text = ERRORS["AccessDenied"].text
    return MnsError("AccessDenied", f"{text} Action: {demand.action} Resource: {demand.resource}")
