"""The official message client for the applications that use queues or topics."""

import logging


def message_account(session):
    """Return an ``mns.account.Account``: at the session's endpoint, else the account's own address in the cloud."""
    from mns.account import Account

    endpoint = session.endpoint or f"https://{session.account}.mns.{session.region}.aliyuncs.com"
    # Without a logger of its own the client writes a log file into its package.
    return Account(endpoint, session.key_id, session.secret, logger=logging.getLogger("mns"))
