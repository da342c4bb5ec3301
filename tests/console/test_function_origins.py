"""Pages that functions answer, in a browser that is let in to the console: they read and do nothing there.

And pages of ordinary web applications work by a name of the function's own.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlencode, urlsplit

import pytest
from selenium.common.exceptions import WebDriverException

from emulator.testing import Emulator
from tests.console.walking import eventually

CODE = """
import json

KINDS = {"js": "text/javascript", "json": "application/json"}

def handler(event, context):
    asked = json.loads(event)
    path, query = asked["rawPath"], asked["queryParameters"]
    headers = {"Content-Type": KINDS.get(path.rpartition(".")[2], "text/html")}
    if path == "/cached":
        headers["Cache-Control"] = "max-age=3600"
    if path == "/cookie":
        headers["Set-Cookie"] = "basket=tea; HttpOnly"
    if path == "/strict":
        headers["Content-Security-Policy"] = "img-src 'none'"
    if path == "/worker.js":
        headers["Service-Worker-Allowed"] = "/"
    body = {
        "/worker.js": "self.addEventListener('fetch', event => {})",
        "/answer.json": json.dumps({"cookie": asked["headers"].get("Cookie", "")}),
    }.get(path, "<!doctype html><title>page</title><p id=page>" + query.get("html", "stored"))
    return {"statusCode": 200, "headers": headers, "body": body}
"""
TRIGGER = """
triggers:
- triggerName: web
  triggerType: http
  triggerConfig: {authType: anonymous, methods: [GET, POST, HEAD, OPTIONS]}
"""
PROXY = "/2023-03-30/proxy/web"
PURGE = "/_localyun/console/queues/orders/purge"
HOSTS = ["127.0.0.1", "localhost", "[::1]"]

STEAL = """
const [origins, done] = [arguments[0], arguments[arguments.length - 1]];
(async () => {
  const found = {};
  for (const origin of origins) {
    let token = 'none', told;
    try {
      const page = await (await fetch(origin + '/_localyun/console/queues/orders', {credentials: 'include'})).text();
      token = (page.match(/name="csrf" value="([^"]+)"/) || [])[1] || 'none';
      told = 'read';
    } catch (error) {
      told = error.name;
    }
    try {
      const body = new URLSearchParams({csrf: token});
      await fetch(origin + '/_localyun/console/queues/orders/purge',
                  {method: 'POST', mode: 'no-cors', credentials: 'include', body});
    } catch (error) {
    }
    found[origin] = [told, token];
  }
  done(found);
})();
"""


@pytest.fixture(scope="module")
def localyun(tmp_path_factory):
    """An emulator with a web application and a queue that somebody wants to purge."""
    folder = tmp_path_factory.mktemp("functions")
    (folder / "web").mkdir()
    (folder / "web" / "index.py").write_text(CODE)
    (folder / "web" / "function.yml").write_text(TRIGGER)
    with Emulator(functions=folder) as kit:
        kit.queue("orders").send("tea")
        domain = {"domainName": "shop.localhost", "protocol": "HTTP",
                  "routeConfig": {"routes": [{"path": "/*", "functionName": "web"}]}}  # fmt: skip
        answer = kit.api.fc(
            "POST", "/2023-03-30/custom-domains", json.dumps(domain).encode(), **{"Content-Type": "application/json"}
        )
        assert answer.status_code == 200, answer.text
        yield kit


@pytest.fixture(scope="module")
def at(localyun):
    """The emulator's origin under a host name."""
    port = urlsplit(localyun.endpoint).port
    return lambda host: f"http://{host}:{port}"


@pytest.fixture(scope="module")
def consoles(localyun, browser, at):
    """The console's origins, to each of which the browser is let in."""
    origins = [at(host) for host in HOSTS]
    for origin in origins:
        browser.get(origin + localyun.api.admin("POST", "console-link")["path"])
        browser.get(origin + "/_localyun/console/queues/orders")
        assert 'name="csrf"' in browser.page_source
    return origins


@pytest.fixture
def stranger(at):
    """A site on another port of the same host: what it is asked for it redirects to the address in the query."""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self):
            to = self.path.partition("?")[2]
            self.send_response(302 if to else 200)
            if to:
                self.send_header("Location", to)
            self.send_header("Content-Type", "text/html")
            self.end_headers()

        def log_message(self, *arguments):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def origin(browser):
    """The origin of the page that is shown, as the browser sees it."""
    return browser.execute_script("return self.origin")


def steal(browser, consoles):
    """Run what an attacker would in the page that is shown."""
    browser.set_script_timeout(30)
    return browser.execute_async_script(STEAL, consoles)


def untouched(localyun):
    return [each.body for each in localyun.queue("orders").peek(10)] == ["tea"]


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("way", ["reflected", "stored", "redirected", "cached", "posted", "own policy"])
def test_script_in_a_function_s_page_gets_nothing_of_the_console(browser, localyun, at, consoles, stranger, host, way):
    """However the page came, and under whichever name of this machine."""
    page = at(host) + PROXY
    match way:
        case "reflected":
            browser.get(f"{page}/?{urlencode({'html': '<b>reflected</b>'})}")
        case "stored":
            browser.get(f"{page}/page")
        case "redirected":
            browser.get(f"http://127.0.0.1:{stranger}/?{page}/page")
        case "cached":
            for _ in range(2):
                browser.get(f"{page}/cached")
            browser.get("about:blank")
            browser.back()
        case "posted":
            browser.get("about:blank")
            browser.execute_script(f"document.write(`<form method=post action='{page}/page'></form>`)")
            browser.execute_script("document.forms[0].submit()")
        case _:
            browser.get(f"{page}/strict")
    assert eventually(browser, lambda: browser.current_url.startswith(page) and "<p" in browser.page_source)

    found = steal(browser, consoles)

    assert origin(browser) == "null"
    assert found == {each: ["TypeError", "none"] for each in consoles}
    assert untouched(localyun)


@pytest.mark.parametrize("host", HOSTS)
def test_forms_of_a_function_s_page_are_refused(browser, localyun, at, consoles, host):
    """Also with a token, also by GET: a page of the console is not shown to who comes from elsewhere."""
    browser.get(at(host) + "/_localyun/console/queues/orders")
    token = browser.page_source.partition('name="csrf" value="')[2].partition('"')[0]
    told = []
    for method, path in (("post", PURGE), ("get", "/_localyun/console/queues/orders")):
        browser.get(at(host) + PROXY + "/page")
        browser.execute_script(
            "const [action, method, token] = arguments; const form = document.createElement('form');"
            "Object.assign(form, {action, method}); const field = document.createElement('input');"
            "Object.assign(field, {name: 'csrf', value: token}); form.append(field); document.body.append(form);"
            "form.submit()",
            at(host) + path, method, token,
        )  # fmt: skip
        assert eventually(browser, lambda: "/_localyun/console/" in browser.current_url)
        told.append("ForbiddenOrigin" in browser.page_source)

    assert token
    assert told == [True, True]
    assert untouched(localyun)


def test_windows_that_a_function_s_page_opens_are_out_of_its_reach(browser, at, consoles):
    """The console refuses to come up there, and the opener sees nothing of it."""
    browser.get(at("127.0.0.1") + PROXY + "/page")
    before = browser.current_window_handle

    seen = browser.execute_async_script(
        "const done = arguments[arguments.length - 1]; const opened = open(arguments[0]);"
        "setTimeout(() => { try { done(opened.document.body.innerHTML) } catch (error) { done(error.name) } }, 1500)",
        consoles[0] + "/_localyun/console/queues/orders",
    )
    other = next(each for each in browser.window_handles if each != before)
    browser.switch_to.window(other)
    shown = browser.page_source
    browser.close()
    browser.switch_to.window(before)

    assert seen in {"SecurityError", "TypeError"}
    assert "ForbiddenOrigin" in shown


def test_service_workers_and_storage_of_this_machine_s_names_are_closed(browser, at, consoles):
    """A worker would outlive its page and see each request for the console."""
    browser.get(at("127.0.0.1") + PROXY + "/page")

    told = browser.execute_async_script(
        "const done = arguments[arguments.length - 1]; (async () => { const told = [];"
        "const tries = [() => navigator.serviceWorker.register(arguments[0], {scope: '/'}),"
        "() => localStorage.length, () => document.cookie, () => caches.open('x'), () => indexedDB.open('x')];"
        "for (const each of tries) { try { await each(); told.push('done') } catch (error) { told.push(error.name) } }"
        "done(told) })()",
        f"{PROXY}/worker.js",
    )

    assert "done" not in told, told


def test_neither_frames_the_other(browser, localyun, at, consoles):
    """The console in a function's page, and the other way round."""
    frame = (
        "const done = arguments[arguments.length - 1]; const frame = document.createElement('iframe');"
        "frame.onload = () => { try { done(frame.contentDocument.body.innerHTML) }"
        "catch (error) { done(error.name) } };"
        "frame.src = arguments[0]; document.body.append(frame); setTimeout(() => done('nothing'), 3000)"
    )
    browser.get(at("127.0.0.1") + PROXY + "/page")
    outer = browser.execute_async_script(frame, consoles[0] + "/_localyun/console/queues/orders")
    browser.get(consoles[0] + "/_localyun/console/queues/orders")
    inner = browser.execute_async_script(frame, at("127.0.0.1") + PROXY + "/page")
    kept = browser.execute_script("return document.querySelectorAll('[name=csrf]').length > 0")

    assert "csrf" not in outer
    assert "page" not in inner
    assert kept


@pytest.mark.parametrize("host", HOSTS)
def test_site_on_another_port_gets_nothing(browser, localyun, consoles, stranger, host):
    """It is of the same site, so that the cookie goes along; the console takes requests of its own origin only."""
    if host != "127.0.0.1":
        consoles = [each for each in consoles if host not in each]
    browser.get(f"http://127.0.0.1:{stranger}/")

    found = steal(browser, consoles)

    assert origin(browser) == f"http://127.0.0.1:{stranger}"
    assert found == {each: ["TypeError", "none"] for each in consoles}
    assert untouched(localyun)


@pytest.mark.parametrize("host", ["web.fc.localhost", "shop.localhost"])
def test_web_application_works_by_a_name_of_its_own(browser, localyun, at, consoles, host):
    """With cookies, storage, a worker and requests to itself; the console is not there, nor within its reach."""
    browser.get(at(host) + "/cookie")
    works = browser.execute_async_script(
        "const done = arguments[arguments.length - 1]; (async () => {"
        "localStorage.setItem('a', 'kept'); document.cookie = 'seen=yes';"
        "const worker = await navigator.serviceWorker.register('/worker.js', {scope: '/'});"
        "const answer = await (await fetch('/answer.json')).json(); await worker.unregister();"
        "const other = await (await fetch('/_localyun/console/queues/orders')).text();"
        "done([localStorage.getItem('a'), answer.cookie.split('; ').sort(), worker.scope, other.includes('csrf')])"
        "})().catch(error => done(String(error)))"
    )

    assert origin(browser) == at(host)
    assert works == ["kept", ["basket=tea", "seen=yes"], at(host) + "/", False]
    assert steal(browser, consoles) == {each: ["TypeError", "none"] for each in consoles}
    assert untouched(localyun)


def test_first_page_of_a_name_of_its_own_is_the_function_s(browser, at):
    """And not the console's, to which the machine's own names lead."""
    browser.get(at("web.fc.localhost") + "/")

    assert "stored" in browser.page_source


def test_console_is_reached_by_the_machine_s_own_names_only(browser, at, consoles):
    """Any other name below localhost could be a page's own."""
    shown = {}
    for host in ("anything.localhost", "cn-shanghai.region.localhost", "web.fc.localhost"):
        try:
            browser.get(at(host) + "/_localyun/console/")
            shown[host] = "localyun console" in browser.page_source
        except WebDriverException as error:
            shown[host] = str(error)

    assert shown == dict.fromkeys(shown, False)
