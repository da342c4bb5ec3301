"""The console's command against a real emulator."""

import re
import urllib.error
import urllib.request

import pytest


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments):
        return None


OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())


def opened(address):
    """Return status and headers of the answer to a GET."""
    with pytest.raises(urllib.error.HTTPError) as refused:
        OPENER.open(address)
    with refused.value as answer:
        return answer.status, answer.headers


def test_the_printed_link_opens_its_page_once(program):
    """``console --print PAGE`` prints a link that leads to the page with a cookie; a second use is refused."""
    program.start("--ephemeral")
    program.run("queue", "create", "orders")

    link = program.run("console", "--print", "queues/orders").stdout.strip()
    first, headers = opened(link)
    second, _ = opened(link)

    assert (first, second) == (303, 403)
    assert headers["Location"] == "/_localyun/console/queues/orders"
    assert "HttpOnly; SameSite=Strict" in headers["Set-Cookie"]


def test_a_page_that_shows_nothing_has_no_link(program):
    """A name that is mistyped is found out here, not in the browser."""
    messages = {
        "flows/nope": "FlowNotExists",
        "flows/nope/executions/one": "FlowNotExists",
        "queues/nope": "QueueNotExist",
        "buckets/nope": "NoSuchBucket",
        "requests/nope": "There is no request, message, call or execution 'nope'.",
        "requests/nope/one": "FlowNotExists",
        "messages/nope": "There is no request, message, call or execution 'nope'.",
        "nope": "The console has no page /nope.",
    }
    program.start("--ephemeral")

    asked = {page: program.run("console", "--print", page) for page in messages}

    assert {(done.returncode, done.stdout) for done in asked.values()} == {(1, "")}
    assert [page for page, done in asked.items() if messages[page] not in done.stderr] == []


def test_a_link_fits_a_line_of_a_terminal(program):
    """A link of two lines cannot be clicked, or copied by a double click."""
    program.start("--ephemeral")

    assert len(program.run("console", "--print", "flows").stdout.strip()) <= 80


def test_a_start_without_console_has_no_pages(program):
    """With --no-console nothing answers there, and the command says so."""
    _, address = program.start("--ephemeral", "--no-console")

    asked = program.run("console", "--print")
    status, _ = opened(f"{address}/_localyun/console/")

    assert (asked.returncode, status) == (1, 404)
    assert "this emulator runs without the console" in asked.stderr


def test_overview_counts_what_its_lists_show(program):
    """Functions that an earlier account has are not among them, as they are not in the list."""
    folder = program.folder / "functions" / "hello"
    folder.mkdir(parents=True)
    (folder / "index.py").write_text("def handler(event, context):\n    return event\n")
    program.start()
    program.run("stop")
    (program.folder / "localyun.yaml").write_text('account_id: "77"\n')
    program.start()
    reader = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor())

    with reader.open(program.run("console", "--print").stdout.strip()) as answer:
        page = answer.read().decode()

    assert re.search(r">Functions</a></dt><dd>(\d+)</dd>", page)[1] == "1"
