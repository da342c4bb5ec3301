"""HTTP triggers, custom domains, timers, topics and layers through the official clients and over plain sockets."""

import base64
import hashlib
import http.client
import io
import json
import time
import zipfile
from textwrap import dedent

import pytest

from tests.waiting import eventually

fc2 = pytest.importorskip("fc2")
requests = pytest.importorskip("requests")

pytestmark = [
    pytest.mark.sdk,
    pytest.mark.filterwarnings("ignore:Call to deprecated function"),  # the gateway helper's own note
]

WSGI = """
    import json

    def handler(environ, start_response):
        if isinstance(environ, bytes):
            print("event", environ.decode())
            return environ
        path, body = environ["PATH_INFO"], environ["wsgi.input"].read()
        method = environ["REQUEST_METHOD"]
        if path == "/redirect":
            cookies = [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2; Path=/")]
            start_response("302 Found", [("Location", "/elsewhere"), *cookies])
            return []
        if path == "/raise":
            raise ValueError("boom")
        if path == "/cors":
            allowed = [("Access-Control-Allow-Origin", environ.get("HTTP_ORIGIN", "")), ("Access-Control-Max-Age", "9")]
            start_response("204 No Content" if method == "OPTIONS" else "200 OK", allowed)
            return []
        if path == "/stripped":
            reserved = [("X-Fc-Request-Id", "mine"), ("Server", "me"), ("Connection", "close")]
            start_response("200 OK", [*reserved, ("X-Kept", "1")])
            return [json.dumps(sorted(k for k in environ if k.startswith("HTTP_"))).encode()]
        if path == "/split":
            start_response("200 OK", [("X-Bad", "a\\r\\nInjected: 1")])
            return []
        if path == "/bytes":
            start_response("200 OK", [("Content-Type", "application/octet-stream")])
            return [] if method == "HEAD" else [body]
        start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", "9999")])
        told = {"method": method, "path": path, "query": environ["QUERY_STRING"], "uri": environ["fc.request_uri"]}
        return [json.dumps(told).encode()]
"""
ENVELOPE = """
    import json

    def handler(event, context):
        asked = json.loads(event)
        path = asked["rawPath"]
        if path == "/cookies":
            return {"statusCode": 201, "headers": {"Set-Cookie": ["a=1", "b=2"], "X-N": 5}, "body": "made"}
        if path == "/binary":
            return {"statusCode": 200, "isBase64Encoded": True, "body": asked["body"]}
        if path == "/text":
            return "plain"
        if path == "/bad":
            return {"statusCode": "teapot"}
        if path == "/large":
            return {"statusCode": 200, "headers": {"X-Large": "x" * 9000}}
        if path == "/raise":
            raise ValueError("boom")
        return asked
"""
EVERYTHING = ["GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS"]


def package(**files):
    """Return a zip of *files* (``__`` for the dot) in base64."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "."), dedent(content).lstrip("\n"))
    return base64.b64encode(sink.getvalue()).decode()


def fc3(emulator):
    """The client of the API without services."""
    from alibabacloud_fc20230330.client import Client

    return Client(emulator.tea_config())


def fc_open(emulator):
    """The client of the API of 2021."""
    from alibabacloud_fc_open20210406.client import Client

    return Client(emulator.tea_config())


@pytest.fixture(scope="module")
def site(emulator, wsgi):
    """A service ``web`` with functions for anonymous and for signed requests, and 3.0 functions of both kinds."""
    from alibabacloud_fc20230330 import models as m3

    client = emulator.fc2()
    client.create_service("web")
    for name, auth in (("Open", "anonymous"), ("Closed", "function")):
        client.create_function("web", name, "python3.10", "index.handler", codeDir=wsgi)
        client.create_trigger("web", name, "http", "http", {"authType": auth, "methods": EVERYTHING}, None, None)
    client.create_function("web", "Few", "python3.10", "index.handler", codeDir=wsgi)
    client.create_trigger("web", "Few", "http", "http", {"authType": "anonymous", "methods": ["GET"]}, None, None)
    third = fc3(emulator)
    for name, auth in (("open3", "anonymous"), ("closed3", "function")):
        code = m3.InputCodeLocation(zip_file=package(index__py=ENVELOPE))
        third.create_function(
            m3.CreateFunctionRequest(
                body=m3.CreateFunctionInput(
                    function_name=name, runtime="python3.12", handler="index.handler", code=code
                )
            )
        )
        config = json.dumps({"authType": auth, "methods": EVERYTHING})
        third.create_trigger(
            name,
            m3.CreateTriggerRequest(
                body=m3.CreateTriggerInput(trigger_name="http", trigger_type="http", trigger_config=config)
            ),
        )
    yield emulator
    for name in ("Open", "Closed", "Few"):
        client.delete_trigger("web", name, "http")
        client.delete_function("web", name)
    client.delete_service("web")
    for name in ("open3", "closed3"):
        third.delete_trigger(name, "http")
        third.delete_function(name)


@pytest.fixture(scope="module")
def wsgi(tmp_path_factory):
    """A folder with the function that serves requests and logs events."""
    folder = tmp_path_factory.mktemp("wsgi")
    (folder / "index.py").write_text(dedent(WSGI).lstrip("\n"))
    return str(folder)


def ask(emulator, method, path, *, host=None, body=None, headers=()):
    """Send one request exactly as given; return (status, list of header pairs, body)."""
    connection = http.client.HTTPConnection("127.0.0.1", emulator.port, timeout=30)
    try:
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", host or emulator.address)
        for name, value in headers:
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, answer.getheaders(), answer.read()
    finally:
        connection.close()


OPEN = "/2016-08-15/proxy/web/Open"


def test_classic_client_calls_a_signed_trigger(site):
    """Path, query and body arrive; a wrong secret, a bare request and a missing trigger are refused as documented."""
    client = site.fc2()

    answer = client.do_http_request("POST", "web", "Closed", "/a b/c", params={"q": "1 2", "a": "é"}, body=b"x")
    forged = site.fc2(secret="wrong").do_http_request("POST", "web", "Closed", "/")
    bare = requests.get(f"{site.url}/2016-08-15/proxy/web/Closed/", timeout=10)
    missing = requests.get(f"{site.url}/2016-08-15/proxy/web/Nothing/", timeout=10)

    told = answer.json()
    assert (answer.status_code, told["method"], told["path"]) == (200, "POST", "/a b/c")
    assert told["uri"].startswith("/2016-08-15/proxy/web/Closed/a%20b/c?")
    assert answer.headers["Content-Type"] == "application/json"
    assert (forged.status_code, forged.json()["ErrorCode"]) == (403, "SignatureNotMatch")
    assert (bare.status_code, bare.json()["ErrorCode"]) == (400, "MissingRequiredHeader")
    assert (missing.status_code, missing.json()["ErrorCode"]) == (404, "FunctionNotFound")
    for refused in (forged, bare, missing):
        assert refused.headers["X-Fc-Error-Type"] == "FcCommonError"
        assert refused.headers["X-Fc-Request-Id"]


def test_gateway_client_calls_triggers_by_their_url(site):
    """The official helper for trigger addresses signs in its own way, and calls anonymous triggers too."""
    from alibabacloud_credentials.client import Client as Credentials
    from alibabacloud_credentials.models import Config
    from alibabacloud_gateway_fc_util.client import Client

    keys = Config(
        type="access_key", access_key_id=site.keys["accessKeyId"], access_key_secret=site.keys["accessKeySecret"]
    )
    client = Client(Credentials(keys))
    triggers = fc_open(site).get_trigger("web", "Closed", "http").body

    signed = client.invoke_httptrigger(
        triggers.url_internet + "/x?b=2&a=1%202", "POST", b"body", {"content-type": "a/b"}
    )
    anonymous = client.invoke_anonymous_httptrigger(f"{site.url}{OPEN}/y", "GET", b"", {})

    assert (signed.status_code, signed.json()["path"], signed.json()["query"]) == (200, "/x", "b=2&a=1%202")
    assert (anonymous.status_code, anonymous.json()["path"]) == (200, "/y")
    assert triggers.domain_name.endswith(".cn-hangzhou.fcapp.run")
    assert json.loads(triggers.trigger_config)["authType"] == "function"


def test_signed_url_opens_a_trigger_until_it_expires(site):
    """Whoever has the address may call it; an expired or altered one is refused."""
    from emulator.auth.fc import signed_query
    from emulator.http.message import Headers, Request

    def url(seconds):
        target = "/2016-08-15/proxy/web/Closed/z?k=v"
        now = int(time.time() + seconds) * 1000
        pairs = signed_query(
            Request("GET", target, Headers()), site.keys["accessKeyId"], site.keys["accessKeySecret"], now
        )
        return requests.Request("GET", f"{site.url}/2016-08-15/proxy/web/Closed/z", params=pairs).prepare().url

    good = requests.get(url(60), timeout=10)
    late = requests.get(url(-60), timeout=10)
    altered = requests.get(url(60).replace("k=v", "k=w"), timeout=10)

    assert (good.status_code, good.json()["path"]) == (200, "/z")
    assert (late.status_code, late.json()["ErrorCode"]) == (403, "AccessDenied")
    assert (altered.status_code, altered.json()["ErrorCode"]) == (403, "SignatureNotMatch")


@pytest.mark.parametrize("size", [0, 1, 70_000, 5 * 1024 * 1024])
def test_binary_bodies_come_back_unharmed(site, size):
    """Every byte value, small and large."""
    body = bytes(range(256)) * (size // 256) + b"\x00\xff"[: size % 256]

    status, _, answer = ask(site, "PUT", f"{OPEN}/bytes", body=body)

    assert status == 200
    assert hashlib.sha256(answer).digest() == hashlib.sha256(body).digest()


def test_too_large_requests_are_refused(site):
    """Body, path with query, and headers have their limits."""
    body = ask(site, "POST", f"{OPEN}/bytes", body=bytes(6 * 1024 * 1024 + 1))
    target = ask(site, "GET", f"{OPEN}/{'x' * 4096}")
    headers = ask(site, "GET", f"{OPEN}/", headers=[("X-Long", "x" * 4096)])

    for status, _, content in (body, target, headers):
        assert (status, json.loads(content)["ErrorCode"]) == (400, "InvalidArgument")


def test_redirects_cookies_and_headers_pass_as_documented(site):
    """Repeated fields stay apart, the platform's own are added, reserved ones are left out both ways."""
    status, headers, _ = ask(site, "GET", f"{OPEN}/redirect")
    _, kept, seen = ask(
        site, "GET", f"{OPEN}/stripped", headers=[("Keep-Alive", "5"), ("x-fc-secret", "1"), ("X-Mine", "1")]
    )

    names = {name.lower(): value for name, value in headers}
    assert status == 302
    assert names["location"] == "/elsewhere"
    assert [value for name, value in headers if name == "Set-Cookie"] == ["a=1", "b=2; Path=/"]
    assert {"x-fc-request-id", "x-fc-invocation-duration", "x-fc-max-memory-usage", "x-fc-instance-id"} <= set(names)
    stripped = dict(kept)
    assert stripped["X-Kept"] == "1"
    assert "Server" not in stripped
    assert stripped["X-Fc-Request-Id"] != "mine"
    assert "HTTP_X_MINE" in json.loads(seen)
    assert not {"HTTP_KEEP_ALIVE", "HTTP_X_FC_SECRET", "HTTP_CONNECTION"} & set(json.loads(seen))


def test_head_has_no_body_and_only_listed_methods_are_served(site):
    """HEAD is a method of its own; what the trigger does not list is forbidden."""
    status, _, body = ask(site, "HEAD", f"{OPEN}/bytes")
    few = "/2016-08-15/proxy/web/Few/"
    refused = ask(site, "POST", few, body=b"")

    assert (status, body) == (200, b"")
    assert ask(site, "GET", few)[0] == 200
    assert (refused[0], json.loads(refused[2])["ErrorCode"]) == (403, "AccessDenied")


def test_failures_of_the_function_are_bad_gateways(site):
    """An exception and an answer that cannot be sent; neither splits the response."""
    failed = ask(site, "GET", f"{OPEN}/raise")
    split = ask(site, "GET", f"{OPEN}/split")

    assert (failed[0], dict(failed[1])["X-Fc-Error-Type"]) == (502, "UnhandledInvocationError")
    assert json.loads(failed[2])["errorMessage"] == "boom"
    assert (split[0], json.loads(split[2])["ErrorCode"]) == (502, "BadResponse")
    assert "Injected" not in dict(split[1])


def test_web_pages_reach_anonymous_triggers_only(site):
    """The function answers for CORS; everything else of the emulator stays closed to web pages."""
    origin = ("Origin", "https://shop.example")
    preflight = [origin, ("Access-Control-Request-Method", "PUT"), ("Sec-Fetch-Site", "cross-site")]

    simple = ask(site, "GET", f"{OPEN}/cors", headers=[origin, ("Sec-Fetch-Site", "cross-site")])
    allowed = ask(site, "OPTIONS", f"{OPEN}/cors", headers=preflight)
    closed = ask(site, "OPTIONS", "/2016-08-15/proxy/web/Closed/cors", headers=preflight)
    api = ask(site, "GET", "/2016-08-15/services", headers=[origin])
    admin = ask(site, "GET", "/_localyun/status", headers=[origin])
    unknown = ask(site, "GET", "/2016-08-15/proxy/web/None/", headers=[origin])

    assert (simple[0], dict(simple[1])["Access-Control-Allow-Origin"]) == (200, "https://shop.example")
    assert (allowed[0], dict(allowed[1])["Access-Control-Max-Age"]) == (204, "9")
    for refused in (closed, api, admin, unknown):
        assert refused[0] == 403
        assert not [name for name, _ in refused[1] if name.lower().startswith("access-control")]


def test_host_names_of_a_trigger_lead_to_it(site):
    """The cloud's name and the one below localhost take the plain path, even one that looks like the API's."""
    name = fc_open(site).get_trigger("web", "Open", "http").body.domain_name
    local = name.partition(".")[0] + ".localhost"

    for host in (name, f"{local}:{site.port}"):
        status, _, body = ask(site, "GET", "/2016-08-15/services?Action=ListFlows&Version=2019-03-15", host=host)
        told = json.loads(body)
        assert (status, told["path"]) == (200, "/2016-08-15/services")
        assert told["uri"].startswith("/2016-08-15/services?")
    assert ask(site, "GET", "/", host="nobody-abcdefghij.cn-hangzhou.fcapp.run")[0] == 404


def test_qualifier_of_the_path_chooses_the_trigger(site):
    """A version has a trigger of its own or none."""
    client = site.fc2()
    version = client.publish_version("web").data["versionId"]
    path = f"/2016-08-15/proxy/web.{version}/Open/v"

    before = ask(site, "GET", path)
    client.create_trigger(
        "web", "Open", "versioned", "http", {"authType": "anonymous", "methods": ["GET"]}, None, None, qualifier=version
    )
    after = ask(site, "GET", path)
    client.delete_trigger("web", "Open", "versioned")
    client.delete_version("web", version)

    assert (before[0], json.loads(before[2])["ErrorCode"]) == (404, "TriggerNotFound")
    assert (after[0], json.loads(after[2])["path"]) == (200, "/v")


THREE = "/2023-03-30/proxy/open3"


def test_third_generation_gets_an_envelope(site):
    """The event holds the request as the reference shows it; JSON without a status code is the answer's body."""
    status, headers, body = ask(
        site,
        "POST",
        f"{THREE}/a%20b?p=1&p=2",
        body="Hällo".encode(),
        headers=[("content-type", "text/plain"), ("x-a", "1")],
    )
    told = json.loads(body)

    assert (status, dict(headers)["Content-Type"]) == (200, "application/json")
    assert (told["version"], told["rawPath"], told["body"], told["isBase64Encoded"]) == ("v1", "/a%20b", "Hällo", False)
    assert told["queryParameters"] == {"p": "1,2"}
    assert (told["headers"]["Content-Type"], told["headers"]["X-A"]) == ("text/plain", "1")
    asked = told["requestContext"]
    assert (asked["http"]["method"], asked["http"]["path"]) == ("POST", "/a b")
    assert asked["requestId"] == dict(headers)["X-Fc-Request-Id"]
    assert asked["timeEpoch"].isdigit()


def test_third_generation_answers_by_the_envelope(site):
    """Status, repeated cookies, base64 bodies, plain text and what goes wrong."""
    cookies = ask(site, "GET", f"{THREE}/cookies")
    binary = ask(site, "POST", f"{THREE}/binary", body=b"\x00\xff\xfe", headers=[("Content-Type", "image/png")])
    text = ask(site, "GET", f"{THREE}/text")
    bad = ask(site, "GET", f"{THREE}/bad")
    large = ask(site, "GET", f"{THREE}/large")
    failed = ask(site, "GET", f"{THREE}/raise")

    assert (cookies[0], cookies[2]) == (201, b"made")
    assert [value for name, value in cookies[1] if name == "Set-Cookie"] == ["a=1", "b=2"]
    assert dict(cookies[1])["X-N"] == "5"
    assert (binary[0], binary[2]) == (200, b"\x00\xff\xfe")
    assert (text[0], text[2], dict(text[1])["Content-Type"]) == (200, b"plain", "text/plain; charset=utf-8")
    for refused in (bad, large):
        assert (refused[0], json.loads(refused[2])["Code"]) == (502, "BadResponse")
    assert (failed[0], dict(failed[1])["X-Fc-Error-Type"]) == (502, "UnhandledInvocationError")


def test_third_generation_takes_acs3_signatures(site):
    """A signed request passes, on the path and on the host name; an unsigned one is refused."""
    from alibabacloud_tea_openapi.utils import Utils
    from Tea.request import TeaRequest

    trigger = fc3(site).get_trigger("closed3", "http").body
    assert trigger.http_trigger.url_internet == f"{site.url}/2023-03-30/proxy/closed3"

    def signed(path, query):
        request = TeaRequest()
        request.method, request.pathname, request.query = "GET", path, query
        request.headers = {
            "host": site.address,
            "x-acs-date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "x-acs-signature-nonce": Utils.get_nonce(),
            "x-acs-content-sha256": hashlib.sha256(b"").hexdigest(),
        }
        keys = (site.keys["accessKeyId"], site.keys["accessKeySecret"])
        authorization = Utils.get_authorization(
            request, "ACS3-HMAC-SHA256", request.headers["x-acs-content-sha256"], *keys
        )
        return [*request.headers.items(), ("authorization", authorization)][1:]

    path = "/2023-03-30/proxy/closed3/x"
    good = ask(site, "GET", f"{path}?a=1", headers=signed(path, {"a": "1"}))
    altered = ask(site, "GET", f"{path}?a=2", headers=signed(path, {"a": "1"}))
    bare = ask(site, "GET", path)

    assert (good[0], json.loads(good[2])["rawPath"]) == (200, "/x")
    assert (altered[0], json.loads(altered[2])["Code"]) == (403, "SignatureNotMatch")
    assert (bare[0], json.loads(bare[2])["Code"]) == (400, "MissingRequiredHeader")


def test_third_generation_queues_and_tells_the_log(site):
    """``Async`` answers at once and runs later; ``Tail`` brings the end of the log."""
    queued = ask(site, "POST", f"{THREE}/later", body=b"", headers=[("X-Fc-Invocation-Type", "Async")])
    told = ask(site, "GET", f"{THREE}/now", headers=[("X-Fc-Log-Type", "Tail")])

    request_id = dict(queued[1])["X-Fc-Request-Id"]
    assert (queued[0], queued[2]) == (202, b"")
    eventually(lambda: f"FC Invoke End RequestId: {request_id}" in logged(site, "open3"))
    assert b"FC Invoke End" in base64.b64decode(dict(told[1])["X-Fc-Log-Result"])


def test_custom_domain_routes_by_path_and_rewrites(site):
    """The host leads to functions while the domain is there, and is a stranger before and after."""
    client = site.fc2()
    rewrite = {"wildcardRules": [{"match": "/old/*", "replacement": "/new/$1"}]}
    routes = [
        {
            "path": "/api/*",
            "serviceName": "web",
            "functionName": "Open",
            "qualifier": "LATEST",
            "rewriteConfig": rewrite,
        },
        {"path": "/few", "serviceName": "web", "functionName": "Few"},
        {"path": "/api/old/*", "serviceName": "web", "functionName": "Open", "rewriteConfig": rewrite},
    ]
    host = "api.shop.example"

    before = ask(site, "GET", "/few", host=host)
    client.create_custom_domain(host, routeConfig={"routes": routes})
    few = ask(site, "GET", "/few", host=host.upper())
    api = ask(site, "GET", "/api/x?q=1", host=f"{host}:80")
    old = ask(site, "GET", "/api/old/a?q=1", host=host)
    nothing = ask(site, "GET", "/none", host=host)
    page = ask(site, "GET", "/api/cors", host=host, headers=[("Origin", "https://shop.example")])
    listed = client.list_custom_domains(prefix=host).data["customDomains"]
    client.delete_custom_domain(host)
    after = ask(site, "GET", "/few", host=host)

    assert (before[0], after[0]) == (403, 403)
    assert (few[0], json.loads(few[2])["path"]) == (200, "/few")
    assert (api[0], json.loads(api[2])["path"], json.loads(api[2])["uri"]) == (200, "/api/x", "/api/x?q=1")
    assert (old[0], json.loads(old[2])["uri"]) == (200, "/new/a?q=1")
    assert (nothing[0], json.loads(nothing[2])["ErrorCode"]) == (404, "DomainNameNotFound")
    assert page[0] == 200
    assert [domain["domainName"] for domain in listed] == [host]


def logged(emulator, function):
    """Return a function's log."""
    token = emulator.keys["adminToken"]
    status, _, body = emulator.get(f"/_localyun/logs?function={function}&lines=1000", X_Localyun_Token=token)
    return body.decode() if status == 200 else ""


def test_timer_fires_also_after_the_emulator_was_killed(new_emulator, wsgi):
    """A timer is stored with its trigger; the next start arms it again."""
    first = new_emulator().start()
    client = first.fc2()
    client.create_service("clock")
    client.create_function("clock", "Tick", "python3.10", "index.handler", codeDir=wsgi)
    client.create_trigger(
        "clock", "Tick", "beat", "timer", {"cronExpression": "@every 1s", "enable": True, "payload": "tea"}, None, None
    )
    client.create_trigger(
        "clock",
        "Tick",
        "cron",
        "timer",
        {"cronExpression": "* * * * * *", "enable": True, "payload": "cup"},
        None,
        None,
    )
    eventually(lambda: logged(first, "clock/Tick").count('"payload":"tea"') >= 2)
    eventually(lambda: '"payload":"cup"' in logged(first, "clock/Tick"))
    first.kill()
    before = (first.state / "logs" / "functions" / "clock" / "Tick.log").read_text().count('"triggerName":"beat"')

    first.start()

    eventually(lambda: logged(first, "clock/Tick").count('"triggerName":"beat"') >= before + 2)
    eventually(lambda: '"triggerName":"cron"' in logged(first, "clock/Tick"))
    first.fc2().update_trigger("clock", "Tick", "beat", {"cronExpression": "@every 1s", "enable": False}, None)
    assert first.fc2().get_trigger("clock", "Tick", "beat").data["triggerConfig"]["enable"] is False


def test_topic_trigger_brings_messages_to_the_function(site):
    """The trigger subscribes; only messages with its tag come; deleting it unsubscribes."""
    from mns.account import Account
    from mns.topic import TopicMessage, TopicMeta

    account = Account(site.url, site.keys["accessKeyId"], site.keys["accessKeySecret"], logger=_quiet())
    topic = account.get_topic("trigger-news")
    topic.create(TopicMeta())
    client = site.fc2()
    arn = f"acs:mns:cn-hangzhou:{site.keys['accountId']}:/topics/trigger-news"
    config = {"FilterTag": "hot", "NotifyContentFormat": "STREAM", "NotifyStrategy": "BACKOFF_RETRY"}

    with pytest.raises(fc2.FcError) as missing:
        client.create_trigger("web", "Open", "news", "mns_topic", config, arn + "-none", "acs:ram::1:role/r")
    client.create_trigger("web", "Open", "news", "mns_topic", config, arn, "acs:ram::1:role/r")
    topic.publish_message(TopicMessage("cold message", "cold"))
    topic.publish_message(TopicMessage("hot message", "hot"))

    eventually(lambda: "event hot message" in logged(site, "web/Open"))
    names = list(topic.list_subscription()[0])
    client.delete_trigger("web", "Open", "news")
    assert missing.value.err_code == "InvalidArgument"
    assert len(names) == 1
    assert topic.list_subscription()[0] == []
    assert "cold message" not in logged(site, "web/Open")
    topic.delete()
    account.get_client().close_connection()


def test_event_bus_trigger_takes_messages_off_its_queue(site):
    """Each becomes an event of the bus; a pattern chooses; without the trigger messages stay."""
    from mns.account import Account
    from mns.mns_exception import MNSExceptionBase
    from mns.queue import Message, QueueMeta

    account = Account(site.url, site.keys["accessKeyId"], site.keys["accessKeySecret"], logger=_quiet())
    queue = account.get_queue("trigger-orders")
    queue.create(QueueMeta())
    client = site.fc2()
    config = {
        "triggerEnable": True,
        "asyncInvocationType": True,
        "eventRuleFilterPattern": json.dumps({"data": {"messageBody": [{"prefix": "wanted"}]}}),
        "eventSourceConfig": {
            "eventSourceType": "MNS",
            "eventSourceParameters": {
                "sourceMNSParameters": {
                    "RegionId": "cn-hangzhou",
                    "QueueName": "trigger-orders",
                    "IsBase64Decode": True,
                }
            },
        },
    }

    client.create_trigger("web", "Open", "orders", "eventbridge", config, None, None)
    for body in ("other", "wanted order"):
        queue.send_message(Message(body))
    eventually(lambda: "wanted order" in logged(site, "web/Open"))
    client.delete_trigger("web", "Open", "orders")
    queue.send_message(Message("wanted later"))

    lines = [line for line in logged(site, "web/Open").splitlines() if line.startswith("event {")]
    events = [event for line in lines if (event := json.loads(line.removeprefix("event ")))["source"].startswith("MNS")]
    assert [event["data"]["messageBody"] for event in events] == ["wanted order"]
    assert events[0]["type"] == "mns:Queue:SendMessage"
    assert events[0]["subject"] == f"acs:mns:cn-hangzhou:{site.keys['accountId']}:queues/trigger-orders"
    kept = queue.receive_message(5)
    assert kept.message_body == b"wanted later"
    queue.delete_message(kept.receipt_handle)
    with pytest.raises(MNSExceptionBase, match="MessageNotExist"):
        queue.receive_message(0)
    queue.delete()
    account.get_client().close_connection()


def _quiet():
    import logging

    return logging.getLogger("test.mns")


def test_layers_are_importable_and_the_first_wins(site):
    """What lies under ``python/`` of a layer can be imported."""
    from alibabacloud_fc20230330 import models as m3

    client = fc3(site)
    arns = []
    for number in ("one", "two"):
        code = m3.InputCodeLocation(zip_file=package(**{"python/shared__py": f"NAME = {number!r}\n"}))
        made = client.create_layer_version(
            "tools",
            m3.CreateLayerVersionRequest(
                body=m3.CreateLayerVersionInput(code=code, compatible_runtime=["python3.12"], description=number)
            ),
        )
        arns.append(made.body.layer_version_arn)
    source = "import shared\ndef handler(event, context):\n    return shared.NAME\n"
    client.create_function(
        m3.CreateFunctionRequest(
            body=m3.CreateFunctionInput(
                function_name="layered",
                runtime="python3.12",
                handler="index.handler",
                code=m3.InputCodeLocation(zip_file=package(index__py=source)),
                layers=[arns[1], arns[0]],
            )
        )
    )

    result = client.invoke_function("layered", m3.InvokeFunctionRequest(body=io.BytesIO(b"")))
    shown = client.get_function("layered", m3.GetFunctionRequest()).body.layers
    listed = client.list_layers(m3.ListLayersRequest()).body.layers
    by_arn = client.get_layer_version_by_arn(arns[0]).body
    downloaded = requests.get(by_arn.code.location, timeout=10)
    client.delete_function("layered")
    for number in ("1", "2"):
        client.delete_layer_version("tools", number)

    assert result.body.read() == b"two"
    assert [layer.arn for layer in shown] == [arns[1], arns[0]]
    assert all(layer.size > 0 for layer in shown)
    own = [(layer.layer_name, layer.version) for layer in listed if layer.layer_name == "tools"]
    assert own == [("tools", 2)]  # other tests may have layers of their own in the same emulator
    assert by_arn.description == "one"
    assert downloaded.content.startswith(b"PK")
