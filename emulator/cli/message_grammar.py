"""The grammar of messages: queues, topics and subscriptions."""

from emulator.cli.output import is_chinese
from emulator.cli.parameters import whole_number
from emulator.cli.parser import Commands, Outline, Parser, command, group


@group("queue", "work with queues and their messages")
def add_queue(actions: Commands) -> None:
    """Add the actions of queues."""
    create = command(actions, "create", "messages:create_queue", "create a queue", "queue")
    command(actions, "delete", "messages:delete_queue", "delete a queue and its messages", "queue")
    listing = command(actions, "list", "messages:list_queues", "list queues and the number of their messages")
    listing.add_argument("--prefix", default="", metavar="TEXT", help="only names that begin with this")
    send = command(actions, "send", "messages:send", "send a message", "queue")
    receive = command(
        actions, "receive", "messages:receive", "receive messages; they stay hidden for the visibility timeout", "queue"
    )
    peek = command(actions, "peek", "messages:peek", "print visible messages without receiving them", "queue")
    command(
        actions, "purge", "messages:purge", "delete all messages of a queue, including hidden and delayed ones", "queue"
    )
    summary = "print the attributes of a queue, or change them"
    attributes = command(actions, "attributes", "messages:attributes", summary, "queue")
    _add_attributes(create, "Queue")
    _add_attributes(attributes, "Queue")
    _add_body(send)
    send.add_argument(
        "--delay-seconds",
        type=whole_number,
        metavar="N",
        help="seconds until the message is visible (default: the queue's delay)",
    )
    send.add_argument(
        "--priority", type=whole_number, metavar="N", help="priority from 1 (received first) to 16 (default: 8)"
    )
    for getter in (receive, peek):
        getter.add_argument(
            "-n", "--number", type=whole_number, default=1, help="maximum number of messages, up to 16 (default: 1)"
        )
        getter.add_argument(
            "--base64", action="store_true", help="decode bodies from Base64, as the Python and Java SDKs do"
        )
    receive.add_argument(
        "--wait",
        type=whole_number,
        metavar="N",
        help="wait up to N seconds for a message (default: the queue's setting)",
    )
    receive.add_argument("--delete", action="store_true", help="delete the messages after printing them")


def _add_attributes(command: Parser, resource: str, without: str = "") -> None:
    """Add an option for each attribute of *resource* that its XML form sets, except *without*."""
    if isinstance(command, Outline):
        return
    from emulator.cli.mns import resources  # only these commands need it
    from emulator.wire.schema.command_line import options

    for each in options(resources()[resource].without(without), "xml", chinese=is_chinese()):
        command.add_argument(*each.flags, **each.settings)


def _add_body(command: Parser) -> None:
    command.add_argument("body", metavar="BODY", help="the message, - for standard input")
    command.add_argument(
        "--base64", action="store_true", help="encode the body in Base64, as the Python and Java SDKs expect"
    )
    command.add_argument("--group", metavar="ID", help="message group (FIFO only)")


@group("topic", "work with topics, their subscriptions and deliveries")
def add_topic(actions: Commands) -> None:
    """Add the actions of topics."""
    _add_attributes(command(actions, "create", "messages:create_topic", "create a topic", "topic"), "Topic")
    command(actions, "delete", "messages:delete_topic", "delete a topic and its subscriptions", "topic")
    listing = command(actions, "list", "messages:list_topics", "list topics")
    listing.add_argument("--prefix", default="", metavar="TEXT", help="only names that begin with this")
    publish = command(actions, "publish", "messages:publish", "publish a message", "topic")
    both = ("topic", "subscription")
    subscribe = command(actions, "subscribe", "messages:subscribe", "subscribe an endpoint to a topic", *both)
    command(actions, "unsubscribe", "messages:unsubscribe", "delete a subscription", *both)
    command(actions, "subscriptions", "messages:subscriptions", "list the subscriptions of a topic", "topic")
    summary = "print the deliveries of a subscription, with their results"
    deliveries = command(actions, "deliveries", "messages:deliveries", summary, *both)
    outbox = command(actions, "outbox", "messages:outbox", "print the mails and short messages that topics would send")
    _add_body(publish)
    publish.add_argument("--tag", metavar="TAG", help="tag that subscriptions can filter by")
    subscribe.add_argument("endpoint", metavar="ENDPOINT", help="queue:NAME, an http URL, or another form of the API")
    _add_attributes(subscribe, "Subscription", without="Endpoint")
    deliveries.add_argument("--full", action="store_true", help="print deliveries in full: body, URL, headers")
    for shown in (deliveries, outbox):
        shown.add_argument(
            "-n", "--number", type=whole_number, default=100, help="maximum number of entries (default: 100)"
        )
