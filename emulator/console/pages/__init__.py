"""The pages, a blueprint each."""

from emulator.console.pages import (
    buckets,
    designing,
    explorations,
    flows,
    functions,
    histories,
    lab,
    lives,
    making,
    overview,
    queues,
    requests,
    start,
    topics,
    triggers,
    usage,
)

_SERVICES = (flows, designing, histories, queues, lives, topics, functions, triggers, buckets)

BLUEPRINTS = (
    *(overview.overview_pages, overview.clock_pages),
    *(page.blueprint for page in (start, *_SERVICES, requests, usage, lab, explorations, making)),
)
