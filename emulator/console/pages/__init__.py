"""The pages, a blueprint each."""

from emulator.console.pages import overview

BLUEPRINTS = (overview.blueprint,)
