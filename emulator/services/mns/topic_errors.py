"""Errors of topics and subscriptions.

::

    MnsError
    |-- TopicNotExist, TopicAlreadyExist, TopicNameInvalid, TopicNameLengthError
    |-- SubscriptionNotExist, SubscriptionAlreadyExist, SubscriptionNameInvalid, SubscriptionNameLengthError
    |-- SubscriptionNumExceededLimit
    `-- EndpointInvalid

Source: codes from the error decoders of the official SDKs; texts are assumed except that of TopicNotExist.
"""

from emulator.services.mns.errors import MnsError


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
