"""The pages, a blueprint each."""

from emulator.console.pages import clock, flows, functions, overview, queues, requests, topics

BLUEPRINTS = tuple(page.blueprint for page in (overview, flows, queues, topics, functions, requests, clock))
