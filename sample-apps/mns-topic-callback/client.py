"""Set up topic, trigger and subscription, and run a flow whose task a subscribed function completes."""

import json
import sys
from contextlib import contextmanager
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from function_client import function_address, function_client
from message_client import message_account
from workflow_client import _, command_line, main, say

FLOW = "fnf-demo-mns-topic-callback"
SERVICE = "fnf-demo"
FUNCTION = "topicCallback"
TRIGGER = "http"
SUBSCRIPTION = "fnf-demo-topic-callback"


def publish_task(session):
    """Run the flow once; true when the execution's output is what the function reports."""
    name = session.given.topic
    flow = session.flow(FLOW, Path(__file__).with_name("flow.yml"), topic=name)
    with function_client(session) as functions, http_trigger(functions, session.keeps), topic(session) as made, flow:
        address = f"{function_address(session)}/2016-08-15/proxy/{SERVICE}/{FUNCTION}/"
        with subscription(made, address, session.keeps):
            finished = session.execute(FLOW, session.given.input)

    return finished["Status"] == "Succeeded" and json.loads(finished["Output"]) == {"status": "success"}


@contextmanager
def http_trigger(functions, keep):
    """Let anybody call the function over HTTP, as the topic does; one that was there before stays."""
    triggers = functions.list_triggers(SERVICE, FUNCTION).data["triggers"]
    if any(each["triggerType"] == "http" for each in triggers):
        yield
        return
    config = {"authType": "anonymous", "methods": ["POST"]}
    functions.create_trigger(SERVICE, FUNCTION, TRIGGER, "http", config, None, None)
    try:
        say(_("HTTP trigger of {function} created", function=f"{SERVICE}/{FUNCTION}"))
        yield
    finally:
        if not keep:
            functions.delete_trigger(SERVICE, FUNCTION, TRIGGER)
            say(_("HTTP trigger of {function} deleted", function=f"{SERVICE}/{FUNCTION}"))


@contextmanager
def topic(session):
    """Give the topic; one that was not there before is made, and deleted at the end."""
    from mns.mns_exception import MNSServerException
    from mns.topic import TopicMeta

    made = message_account(session).get_topic(session.given.topic)
    try:
        made.get_attributes()
        existed = True
    except MNSServerException as error:
        if error.type != "TopicNotExist":
            raise
        made.create(TopicMeta())
        existed = False
    try:
        if not existed:
            say(_("topic {name} created", name=session.given.topic))
        yield made
    finally:
        if not existed and not session.keeps:
            made.delete()
            say(_("topic {name} deleted", name=session.given.topic))


@contextmanager
def subscription(topic, endpoint, keep):
    """Subscribe the function's address, in the format JSON, for the time of the run."""
    from mns.subscription import SubscriptionMeta, SubscriptionNotifyContentFormat

    made = topic.get_subscription(SUBSCRIPTION)
    made.subscribe(SubscriptionMeta(endpoint, notify_content_format=SubscriptionNotifyContentFormat.JSON))
    try:
        say(_("{address} subscribed", address=endpoint))
        yield
    finally:
        if not keep:
            made.unsubscribe()


if __name__ == "__main__":
    parser = command_line("Complete a task by a function that is subscribed to a topic.", '{"messageBody": "hello"}')
    parser.add_argument("--topic", default="fnf-demo-topic", help="name of the topic (default: fnf-demo-topic)")
    main(publish_task, parser)
