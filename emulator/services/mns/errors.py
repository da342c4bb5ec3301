"""Errors of the message service: codes, statuses and the service's own wording.

::

    MnsError
    |-- InternalError, ActionNotSupported
    |-- MissingAuthorizationHeader, InvalidAuthorizationHeader, MissingDateHeader, InvalidDateHeader, TimeExpired
    |-- MissingVersionHeader, InvalidVersionHeader
    |-- InvalidAccessKeyId, SignatureDoesNotMatch, AccessDenied, InvalidSecurityToken, SecurityTokenExpired
    |-- InvalidDegist, InvalidRequestURL, MalformedXML
    |-- InvalidArgument
    |   `-- SchemaViolation
    |-- InvalidQueueName, QueueNameLengthError, QueueNotExist, QueueAlreadyExist
    |-- MessageNotExist, FifoMissingMessageGroupId
    `-- MissingReceiptHandle, MissingVisibilityTimeout, ReceiptHandleError

Source: MNS "Error codes"; texts marked "assumed" are ours.
"""

from emulator.kernel.errors import AuthFailure, Reason, ServiceError
from emulator.kernel.identity import Demand


class MnsError(ServiceError):
    """An error answered as the XML document of the message service."""


class InternalError(MnsError):
    """Something went wrong inside the emulator. The spelling is the service's."""

    code = "InternalError"
    http_status = 500
    template = "Interal error."


class ActionNotSupported(MnsError):
    """An operation this version of the emulator does not serve. Field: ``operation``. Source: assumed."""

    code = "ActionNotSupported"
    http_status = 400
    template = "This version of the emulator does not serve {operation} yet."


class MissingAuthorizationHeader(MnsError):
    """Nobody signed the request."""

    code = "MissingAuthorizationHeader"
    http_status = 400
    template = "Authorization header is required."


class InvalidAuthorizationHeader(MnsError):
    """The Authorization header is not of a form this service knows."""

    code = "InvalidAuthorizationHeader"
    http_status = 400
    template = "The Authorization header format is invalid."


class MissingDateHeader(MnsError):
    """Neither ``Date`` nor ``x-mns-date``."""

    code = "MissingDateHeader"
    http_status = 400
    template = "Date header is required."


class InvalidDateHeader(MnsError):
    """The date cannot be read."""

    code = "InvalidDateHeader"
    http_status = 400
    template = "The Date header format is invalid."


class TimeExpired(MnsError):
    """The date is more than 15 minutes off. The error table says 408, the page on signing 400; the table is newer."""

    code = "TimeExpired"
    http_status = 408
    template = "The http request you sent is expired."


class MissingVersionHeader(MnsError):
    """No ``x-mns-version``. Source: code from the Go SDK, text assumed."""

    code = "MissingVersionHeader"
    http_status = 400
    template = "x-mns-version header is required."


class InvalidVersionHeader(MnsError):
    """An ``x-mns-version`` other than 2015-06-06. Source: code from the .NET SDK, text assumed."""

    code = "InvalidVersionHeader"
    http_status = 400
    template = "The x-mns-version header is invalid."


class InvalidAccessKeyId(MnsError):
    """Nobody has this key."""

    code = "InvalidAccessKeyId"
    http_status = 403
    template = "The AccessKey Id you provided is not exist."


class SignatureDoesNotMatch(MnsError):
    """The signature is not the one computed here."""

    code = "SignatureDoesNotMatch"
    http_status = 403
    template = (
        "The request signature we calculated does not match the signature you provided. "
        "Check your key and signing method."
    )


class AccessDenied(MnsError):
    """The key belongs to another account, or a temporary key came without its token."""

    code = "AccessDenied"
    http_status = 403
    template = "The OwnerId that your Access Key Id associated to is forbidden for this operation."

    @classmethod
    def to(cls, demand: Demand) -> "AccessDenied":
        """Return the denial of a right, which it names. Source: that it names it is the emulator's own."""
        return cls(f"{cls.template} Action: {demand.action} Resource: {demand.resource}")


class InvalidSecurityToken(MnsError):
    """The token is not the key's. Source: assumed."""

    code = "InvalidSecurityToken"
    http_status = 403
    template = "The security token you provided is invalid."


class SecurityTokenExpired(MnsError):
    """The temporary key's time is over. Source: assumed."""

    code = "SecurityTokenExpired"
    http_status = 403
    template = "The security token you provided has expired."


class InvalidDegist(MnsError):
    """``Content-MD5`` is not the body's. The spelling is the service's."""

    code = "InvalidDegist"
    http_status = 400
    template = "The Content-MD5 you specified is invalid."


class InvalidRequestURL(MnsError):
    """The path names nothing the service has."""

    code = "InvalidRequestURL"
    http_status = 400
    template = "Http request URL format invalid."


class MalformedXML(MnsError):
    """The body is not well-formed XML."""

    code = "MalformedXML"
    http_status = 400
    template = "The XML you provided was not well-formed."


class InvalidArgument(MnsError):
    """A value is out of its range. Fields: ``name``, ``low``, ``high``, ``unit`` (``" bytes"`` or the like)."""

    code = "InvalidArgument"
    http_status = 400
    template = "The value of {name} should between {low} and {high}{unit}."


class SchemaViolation(InvalidArgument):
    """An element is missing, unknown as a root, or not of its type. Field: ``name``."""

    template = "The XML you provided did not validate against our published schema, cause by {name}."


class InvalidQueueName(MnsError):
    """A queue's name has other characters than letters, digits and hyphens, or starts with a hyphen."""

    code = "InvalidQueueName"
    http_status = 400
    template = (
        "The queue name you provided is invalid. QueueName should start with alpha and contain only alpha, digit or -."
    )


class QueueNameLengthError(MnsError):
    """A queue's name is too long. The text is the service's, whatever the length allowed here."""

    code = "QueueNameLengthError"
    http_status = 400
    template = "Queue name length should between 1 and 256."


class QueueNotExist(MnsError):
    """No queue of this name in the caller's account and region."""

    code = "QueueNotExist"
    http_status = 404
    template = "The queue name you provided is not exist."


class QueueAlreadyExist(MnsError):
    """A queue of this name exists with other attributes."""

    code = "QueueAlreadyExist"
    http_status = 409
    template = "The queue you want to create is already exist."


class MessageNotExist(MnsError):
    """Nothing to receive or to look at, or the message of a handle is not there any more."""

    code = "MessageNotExist"
    http_status = 404
    template = "Message not exist."


class MissingReceiptHandle(MnsError):
    """Neither query nor body names a message."""

    code = "MissingReceiptHandle"
    http_status = 400
    template = "ReceiptHandle is required."


class MissingVisibilityTimeout(MnsError):
    """A change of visibility without the new timeout."""

    code = "MissingVisibilityTimeout"
    http_status = 400
    template = "VisibilityTimeout is required."


class ReceiptHandleError(MnsError):
    """A text that is no receipt handle, or another queue's."""

    code = "ReceiptHandleError"
    http_status = 400
    template = "The receipt handle you provide is not valid."


class FifoMissingMessageGroupId(MnsError):
    """A message without a group was sent to a FIFO queue. Source: code documented, status and text assumed."""

    code = "FifoMissingMessageGroupId"
    http_status = 400
    template = "MessageGroupId is required for a message of a fifo queue."


_BY_REASON: dict[Reason, type[MnsError]] = {
    Reason.MISSING_AUTHORIZATION: MissingAuthorizationHeader,
    Reason.MISSING_DATE: MissingDateHeader,
    Reason.BAD_DATE: InvalidDateHeader,
    Reason.SKEWED_DATE: TimeExpired,
    Reason.URL_EXPIRED: TimeExpired,
    Reason.UNKNOWN_KEY: InvalidAccessKeyId,
    Reason.INACTIVE_KEY: InvalidAccessKeyId,
    Reason.MISSING_TOKEN: AccessDenied,
    Reason.BAD_TOKEN: InvalidSecurityToken,
    Reason.TOKEN_OF_ANOTHER_KEY: InvalidSecurityToken,
    Reason.TOKEN_EXPIRED: SecurityTokenExpired,
    Reason.BODY_DIFFERS: InvalidDegist,
    Reason.SIGNATURE_DIFFERS: SignatureDoesNotMatch,
    Reason.FOREIGN_ACCOUNT: AccessDenied,
}


def mns_auth_error(failure: AuthFailure) -> MnsError:
    """Turn a reason into this service's code; what only other schemes know is an unreadable authorization here."""
    return _BY_REASON.get(failure.reason, InvalidAuthorizationHeader)()


class TopicNotExist(MnsError):
    """No topic of this name in the caller's account and region. Source: PublishMessage page."""

    code = "TopicNotExist"
    http_status = 404
    template = "The topic you provided does not exist."


class TopicAlreadyExist(MnsError):
    """A topic of this name exists with other attributes."""

    code = "TopicAlreadyExist"
    http_status = 409
    template = "The topic you want to create is already exist."


class TopicNameInvalid(MnsError):
    """A topic's name has other characters than letters, digits and hyphens, or starts with a hyphen."""

    code = "TopicNameInvalid"
    http_status = 400
    template = (
        "The topic name you provided is invalid. "
        "TopicName should start with alpha or digit and contain only alpha, digit or -."
    )


class TopicNameLengthError(MnsError):
    """A topic's name is too long."""

    code = "TopicNameLengthError"
    http_status = 400
    template = "Topic name length should between 1 and 256."


class SubscriptionNotExist(MnsError):
    """No subscription of this name at the topic."""

    code = "SubscriptionNotExist"
    http_status = 404
    template = "The subscription you provided is not exist."


class SubscriptionAlreadyExist(MnsError):
    """A subscription of this name exists with other attributes."""

    code = "SubscriptionAlreadyExist"
    http_status = 409
    template = "The subscription you want to create is already exist."


class SubscriptionNameInvalid(MnsError):
    """A subscription's name has other characters than letters, digits and hyphens, or starts with a hyphen."""

    code = "SubscriptionNameInvalid"
    http_status = 400
    template = (
        "The subscription name you provided is invalid. "
        "SubscriptionName should start with alpha or digit and contain only alpha, digit or -."
    )


class SubscriptionNameLengthError(MnsError):
    """A subscription's name is too long. Field: ``high``."""

    code = "SubscriptionNameLengthError"
    http_status = 400
    template = "Subscription name length should between 1 and {high}."


class SubscriptionNumExceededLimit(MnsError):
    """The topic has as many subscriptions as it can have. Field: ``high``. Source: code and status assumed."""

    code = "SubscriptionNumExceededLimit"
    http_status = 403
    template = "The number of subscriptions of the topic exceeds the limit {high}."


class EndpointInvalid(MnsError):
    """The endpoint of a subscription is of no known form, or its queue is too small for the topic's messages."""

    code = "EndpointInvalid"
    http_status = 400
    template = "The endpoint you provided is invalid."
