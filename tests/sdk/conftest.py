"""What several SDK tests ask for."""

import logging

import pytest


@pytest.fixture
def account(emulator):
    """The classic message client. Without a logger of its own it writes a log file into its package."""
    from mns.account import Account

    keys = emulator.keys
    made = Account(emulator.url, keys["accessKeyId"], keys["accessKeySecret"], logger=logging.getLogger("test.mns"))
    yield made
    made.get_client().close_connection()
