"""The pages, a blueprint each."""

from emulator.console.pages import buckets, flows, functions, lab, overview, queues, requests, topics, triggers

BLUEPRINTS = (
    *(overview.overview_pages, overview.clock_pages),
    *(page.blueprint for page in (flows, queues, topics, functions, triggers, buckets, requests, lab)),
)
