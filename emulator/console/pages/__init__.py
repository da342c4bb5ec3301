"""The pages, a blueprint each."""

from emulator.console.pages import (
    buckets,
    clock,
    flows,
    functions,
    lab,
    overview,
    queues,
    requests,
    topics,
    triggers,
)

BLUEPRINTS = tuple(
    page.blueprint for page in (overview, flows, queues, topics, functions, triggers, buckets, requests, clock, lab)
)
