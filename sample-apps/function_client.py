"""The official client of Function Compute for the applications that need more than their functions called."""

from contextlib import contextmanager

from workflow_client import ServiceRefused


def function_address(session):
    """Return the URL of Function Compute: the session's endpoint, else the account's own address in the cloud."""
    return session.endpoint or f"https://{session.account}.{session.region}.fc.aliyuncs.com"


@contextmanager
def function_client(session):
    """Give an ``fc2.Client`` for the session's account.

    Raises: ServiceRefused instead of the client's own error.
    """
    import fc2
    from fc2.fc_exceptions import FcError

    address = function_address(session)
    try:
        yield fc2.Client(endpoint=address, accessKeyID=session.key_id, accessKeySecret=session.secret)
    except FcError as error:
        raise ServiceRefused(error.err_code, error.message) from error
