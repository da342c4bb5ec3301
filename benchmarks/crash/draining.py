"""Emptying queues through the API."""

from collections.abc import Iterable

from benchmarks.crash.site import Link, Reply, Site


def handles_of(messages: Iterable[Reply]) -> str:
    """Return the body that deletes received *messages*."""
    handles = "".join(f"<ReceiptHandle>{item.elements('ReceiptHandle')[0]}</ReceiptHandle>" for item in messages)
    return f"<ReceiptHandles>{handles}</ReceiptHandles>"


async def take_all(link: Link, site: Site, queue: str) -> list[Reply]:
    """Receive and delete until nothing is visible; return the messages.

    Raises: Unanswered.
    """
    path = f"/queues/{queue}/messages"
    taken: list[Reply] = []
    while True:
        reply = await link.ask(site.mns("GET", f"{path}?numOfMessages=16"))
        if reply.status != 200:
            return taken
        messages = reply.blocks("Message")
        taken += messages
        await link.ask(site.mns("DELETE", path, handles_of(messages)))
