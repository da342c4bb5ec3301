"""Something of everything, for pages to show."""

FLOW = """
version: v1
type: flow
steps:
- type: pass
  name: prepare
- type: parallel
  name: both
  branches:
  - steps:
    - type: wait
      name: rest
      duration: 1
  - steps:
    - type: pass
      name: quick
- type: foreach
  name: each
  iterationMapping:
    collection: $.items
    item: one
  steps:
  - type: pass
    name: inner
- type: wait
  name: long
  duration: 3000
- type: pass
  name: done
"""

PAGES = {
    "overview": "/",
    "flows": "/flows",
    "flow": "/flows/approve",
    "execution": "/flows/approve/executions/first",
    "queues": "/queues",
    "queue": "/queues/orders",
    "topics": "/topics",
    "topic": "/topics/reminders",
    "functions": "/functions",
    "function": "/functions/hello",
    "requests": "/requests",
    "clock": "/clock",
    "search": "/search?q=o",
}


def build(localyun):
    """Make a queue with messages, a topic with a push, a function that was called, and a flow that runs."""
    queue = localyun.queue("orders")
    queue.send({"id": 7, "what": "tea"})
    queue.send("later", delay_s=600)
    sink = localyun.sink()
    topic = localyun.topic("reminders")
    topic.subscribe(sink.url, name="inbox")
    topic.publish("hello")
    localyun.invoke("hello", {"name": "you"})
    return localyun.flow("approve", FLOW).start({"items": list(range(50))}, name="first")
