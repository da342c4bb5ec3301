"""Custom domains as resources, and what requests to HTTP triggers are refused for."""

import asyncio
import json

import pytest

from emulator.http.message import Headers, Request
from emulator.kernel.errors import ServiceError
from emulator.storage.rows import Row
from emulator.wire.request import OperationRequest
from tests.waiting import until

ROUTE = {"path": "/*", "serviceName": "shop", "functionName": "order"}


class Names:
    """Stands for the gateway; remembers the names that are answered."""

    def __init__(self):
        self.there = {}

    def allow(self, host, *, https):
        self.there[host] = https

    async def certified(self):
        pass

    def forget(self, host):
        self.there.pop(host, None)


async def make_domain(site, name="www.shop.example", **fields):
    return await site.v1("POST", "/custom-domains", {"domainName": name, "routeConfig": {"routes": [ROUTE]}, **fields})


async def test_domain_is_created_got_updated_listed_and_deleted(site):
    """The five operations agree; the private key is never shown; the name is answered as long as it is there."""
    names = site.fc.sources.domains._names = Names()
    certificate = {"certName": "c", "certificate": "PEM", "privateKey": "SECRET"}

    made = await make_domain(site, "WWW.Shop.Example", protocol="HTTP,HTTPS", certConfig=certificate)
    during = dict(names.there)
    got = await site.v1("GET", "/custom-domains/www.shop.example")
    changed = await site.v1("PUT", "/custom-domains/www.shop.example", {"protocol": "HTTP"})
    listed = await site.ask("GET", "/2021-04-06/custom-domains?prefix=www")
    gone = await site.v1("DELETE", "/custom-domains/www.shop.example", If_Match=changed.headers["etag"])

    assert made.status == 200, made.content
    assert made.body["domainName"] == "WWW.Shop.Example"
    assert made.body["certConfig"] == {"certName": "c", "certificate": "PEM", "privateKey": None}
    assert made.body["apiVersion"] == "2016-08-15"
    assert got.body == made.body
    assert changed.body["protocol"] == "HTTP"
    assert changed.body["routeConfig"] == made.body["routeConfig"]
    assert changed.headers["etag"] != got.headers["etag"]
    assert [row["domainName"] for row in listed.body["customDomains"]] == ["WWW.Shop.Example"]
    assert during == {"www.shop.example": True}
    assert gone.status == 204
    assert names.there == {}
    assert (await site.v1("GET", "/custom-domains/www.shop.example")).code == "DomainNameNotFound"


async def test_domain_over_https_is_answered_for_when_its_certificate_is_there(site):
    """Whoever made or changed it reads the authority's file next; one over HTTP waits for nothing."""
    made = asyncio.Event()

    class Certifying(Names):
        async def certified(self):
            assert self.there["www.shop.example"]
            self.waiting = True
            await made.wait()

    names = site.fc.sources.domains._names = Certifying()
    plain = await make_domain(site)
    changing = asyncio.ensure_future(site.v1("PUT", "/custom-domains/www.shop.example", {"protocol": "HTTPS"}))
    await until(lambda: getattr(names, "waiting", False))
    was_answered = changing.done()
    made.set()

    assert plain.status == 200
    assert not was_answered
    assert (await changing).body["protocol"] == "HTTPS"


@pytest.mark.parametrize(
    "name",
    [None, "", "localhost", "127.0.0.1", "::1", "a", "a..b", "-a.b", "a_b.c", "x.aliyuncs.com", "x.fcapp.run", "1.2"],
)
async def test_name_that_leads_elsewhere_is_refused(site, name):
    """Addresses, names of the cloud and what is no host name never become a user's domain."""
    answer = await make_domain(site, name)

    assert (answer.status, answer.code) == (400, "InvalidArgument")
    assert "domainName" in answer.body["ErrorMessage"]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"protocol": "FTP"}, "protocol"),
        ({"routeConfig": {"routes": [{**ROUTE, "path": "x"}]}}, "path"),
        ({"routeConfig": {"routes": [{**ROUTE, "path": "/*/x"}]}}, "path"),
        ({"routeConfig": {"routes": [{"path": "/*", "functionName": "f"}]}}, "serviceName"),
        ({"routeConfig": {"routes": [{"path": "/*", "serviceName": "s"}]}}, "functionName"),
        ({"routeConfig": {"routes": [ROUTE, ROUTE]}}, "another route"),
        ({"routeConfig": {"routes": [{**ROUTE, "methods": ["BREW"]}]}}, "BREW"),
        (
            {
                "routeConfig": {
                    "routes": [{**ROUTE, "rewriteConfig": {"regexRules": [{"match": "(", "replacement": "/"}]}}]
                }
            },
            "regular expression",
        ),
        (
            {"routeConfig": {"routes": [{**ROUTE, "rewriteConfig": {"equalRules": [{"match": "/a"}]}}]}},
            "replacement",
        ),
    ],
)
async def test_bad_domain_is_refused(site, fields, says):
    """The message names what is wrong; nothing is stored."""
    answer = await make_domain(site, **fields)

    assert (answer.status, answer.code) == (400, "InvalidArgument")
    assert says in answer.body["ErrorMessage"]
    assert (await site.v1("GET", "/custom-domains")).body["customDomains"] == []


async def test_name_is_there_once(site):
    """A second domain of the same name is refused, in any spelling."""
    await make_domain(site)

    assert (await make_domain(site, "www.SHOP.example")).code == "DomainNameAlreadyExists"


async def test_names_are_answered_again_after_a_start(site_of, tmp_path):
    """Domains and triggers of an earlier run have their names."""

    first = site_of(tmp_path)
    await first.fc.start()
    await first.make_function()
    await make_domain(first, protocol="HTTPS")
    await first.fc.close()

    second = site_of(tmp_path, first.database)
    names = second.fc.sources.domains._names = Names()
    await second.fc.start()
    await second.fc.close()
    second.database.close()

    assert names.there == {"www.shop.example": True}


async def ask_trigger(site, method="GET", path="/2016-08-15/proxy/shop/order/x", host="", **headers):
    """Send a request to a trigger as the pipeline would; return (may go unsigned, answer)."""
    context = OperationRequest(Request(method, path, Headers(headers.items())), site.clock.now())
    context.host, context.region = host, site.tenant.region
    unsigned = site.front.allows_anonymous(context)
    answer = await site.ask(method, path, **headers)
    return unsigned, answer


async def make_trigger(site, **config):
    body = {"triggerName": "h", "triggerType": "http", "triggerConfig": {"methods": ["GET"], **config}}
    assert (await site.v1("POST", "/services/shop/functions/order/triggers", body)).status == 200


@pytest.mark.parametrize(
    ("config", "unsigned", "status"),
    [
        ({"authType": "anonymous"}, True, 200),
        ({"authType": "function"}, False, 200),
        ({}, False, 200),
        ({"authType": "anonymous", "disableURLInternet": True}, True, 403),
    ],
)
async def test_configuration_decides_who_may_call(site, config, unsigned, status):
    """Only a trigger its owner made anonymous takes unsigned requests."""
    await site.make_function()
    await make_trigger(site, **config)

    free, answer = await ask_trigger(site)

    assert free is unsigned
    assert answer.status == status
    if status != 200:
        assert answer.headers["x-fc-error-type"] == "FcCommonError"
        assert answer.body["ErrorCode"] == "AccessDenied"
        assert answer.body["RequestId"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/2016-08-15/proxy/shop/order/x", "TriggerNotFound"),
        ("/2016-08-15/proxy/shop/none/x", "FunctionNotFound"),
        ("/2016-08-15/proxy/none/order/x", "ServiceNotFound"),
        ("/2016-08-15/proxy/shop.7/order/x", "VersionNotFound"),
        ("/2016-08-15/proxy/shop.beta/order", "AliasNotFound"),
        ("/2016-08-15/proxy/", "FunctionNotFound"),
        ("/2023-03-30/proxy/none/x", "FunctionNotFound"),
    ],
)
async def test_request_without_a_trigger_is_told_what_is_missing(site, path, code):
    """It is never let through unsigned."""
    await site.make_function()

    free, answer = await ask_trigger(site, path=path)

    assert not free
    assert (answer.status, answer.code) == (404, code)


async def test_api_requests_are_never_let_through_unsigned(site):
    """What is no trigger's address asks for a signature."""
    await site.make_function()
    await make_trigger(site, authType="anonymous")

    for path in ("/2016-08-15/services", "/2016-08-15/services/shop/functions/order/invocations", "/"):
        context = OperationRequest(Request("GET", path, Headers()), site.clock.now())
        context.region = site.tenant.region
        assert not site.front.allows_anonymous(context)
        assert not site.front.open_to_web(context)


async def test_custom_domain_leads_to_the_trigger_and_to_nothing_else(site):
    """On such a host even the API's paths are the function's; without a route there is nothing."""
    await site.make_function()
    await make_trigger(site, authType="anonymous", disableURLInternet=True)
    await make_domain(site, routeConfig={"routes": [{**ROUTE, "path": "/2016-08-15/*"}]})

    def context_for(path):
        context = OperationRequest(Request("GET", path, Headers()), site.clock.now())
        context.host, context.region, context.request_id = "www.shop.example", site.tenant.region, "r"
        return context

    inside, outside = context_for("/2016-08-15/services"), context_for("/x")
    assert site.front.allows_anonymous(inside)
    assert not site.front.allows_anonymous(outside)
    site.instances.answer = None
    target = site.fc.sources.http_routing.find(inside.http, inside.host, site.tenant)
    assert (target.trigger.function, target.target, target.base_path) == ("order", "/2016-08-15/services", "")
    with pytest.raises(ServiceError) as missing:
        site.fc.sources.http_routing.find(outside.http, outside.host, site.tenant)
    assert missing.value.code == "DomainNameNotFound"


async def test_third_generation_gets_its_own_error_form(site, pack):
    """Requests to functions without a service have that API's request ids and error members."""
    body = {"functionName": "solo", "runtime": "python3.12", "handler": "index.handler", "code": pack()}
    await site.v3("POST", "/functions", body)

    _, answer = await ask_trigger(site, path="/2023-03-30/proxy/solo/")

    assert set(json.loads(answer.content)) == {"Code", "Message", "RequestId"}
    assert answer.body["RequestId"].startswith("1-")


async def test_third_generation_queues_requests_to_programs_too(site, pack):
    """A custom runtime gets the request as it came, later and with the id of the 202; a retry is the same request."""
    body = {"functionName": "web", "runtime": "custom.debian10", "handler": "-", "code": pack()}
    await site.v3("POST", "/functions", body)
    config = json.dumps({"authType": "anonymous", "methods": ["POST"]})
    trigger = {"triggerName": "h", "triggerType": "http", "triggerConfig": config}
    await site.v3("POST", "/functions/web/triggers", trigger)
    site.answer_calls(b"{}", "UnhandledInvocationError")

    path = "/2023-03-30/proxy/web/a%20b?x=1&x=2"
    answer = await site.ask("POST", path, b"work", x_fc_invocation_type="Async", X_Own="\udce9")
    await site.after(1_500)

    assert (answer.status, answer.content) == (202, b"")
    first, second = site.instances.invocations
    assert (first.retry_count, second.retry_count) == (0, 1)
    assert first.http == second.http
    assert (first.http.method, first.http.path, first.http.request_uri) == ("POST", "/a b", "/a%20b?x=1&x=2")
    assert first.http.headers == (("X-Own", "\udce9"),)
    assert first.event == b"work"
    assert first.request_id == second.request_id == answer.headers["x-fc-request-id"]


async def test_alias_over_two_runtimes_chooses_once_for_a_queued_request(site, pack):
    """What runs, in all attempts, gets the request in its own form: a program as it is, a handler as an event."""
    body = {"functionName": "web", "runtime": "custom.debian10", "handler": "-", "code": pack()}
    await site.v3("POST", "/functions", body)
    await site.v3("POST", "/functions/web/versions", {})
    await site.v3("PUT", "/functions/web", {"runtime": "python3.12", "handler": "index.handler"})
    await site.v3("POST", "/functions/web/versions", {})
    alias = {"aliasName": "live", "versionId": "1", "additionalVersionWeight": {"2": 0.5}}
    await site.v3("POST", "/functions/web/aliases", alias)
    config = json.dumps({"authType": "anonymous", "methods": ["POST"]})
    trigger = {"triggerName": "h", "triggerType": "http", "triggerConfig": config, "qualifier": "live"}
    await site.v3("POST", "/functions/web/triggers", trigger)
    site.answer_calls(b"{}", "UnhandledInvocationError")

    for first in (0.1, 0.9):
        draws = iter([first, *[1 - first] * 20])
        site.ids.fraction = draws.__next__
        answer = await site.ask("POST", "/2023-03-30/proxy/web.live/", b"work", x_fc_invocation_type="Async")
        await site.after(60_000)
        assert answer.status == 202

    images, calls = site.instances.images, site.instances.invocations
    assert [image.version for image in images] == ["2"] * 4 + ["1"] * 4
    assert [(each.http is None, b'"body":"work"' in each.event) for each in calls[:4]] == [(True, True)] * 4
    assert [(each.http is None, each.event) for each in calls[4:]] == [(False, b"work")] * 4


async def test_function_has_a_name_of_its_own(site):
    """The function's name, with the service's where several have one; on such a name all paths are the function's."""
    for service in ("shop", "depot"):
        await site.make_function(service, "Order")
    await site.make_function("shop", "page")
    body = {"triggerName": "h", "triggerType": "http", "triggerConfig": {"methods": ["GET"], "authType": "anonymous"}}
    for place in ("shop/functions/Order", "depot/functions/Order", "shop/functions/page"):
        assert (await site.v1("POST", f"/services/{place}/triggers", body)).status == 200

    def found(name):
        request = Request("GET", "/2016-08-15/services?a=1", Headers())
        assert site.fc.sources.http_routing.concerns(request, f"{name}.fc.localhost")
        try:
            target = site.fc.sources.http_routing.find(request, f"{name}.fc.localhost", site.tenant)
        except ServiceError as error:
            return f"{error.code}: {error.message}"
        return target.trigger.service, target.trigger.function, target.target, target.base_path

    rest = ("/2016-08-15/services?a=1", "")
    assert found("page") == found("page.shop") == ("shop", "page", *rest)
    assert found("order.shop") == ("shop", "Order", *rest)
    assert found("order.depot") == ("depot", "Order", *rest)
    ambiguous = found("order")
    assert ambiguous.startswith("TriggerNotFound: several http triggers have the address 'order.fc.localhost'; try ")
    first = ambiguous.partition("try ")[2].partition(".fc.localhost")[0]
    assert found(first)[1:] == ("Order", *rest)
    assert found("none") == "TriggerNotFound: no http trigger has the address 'none.fc.localhost'"
    assert not site.fc.sources.http_routing.concerns(Request("GET", "/", Headers()), "page.localhost")


@pytest.mark.parametrize("others", [2, 30])
async def test_a_request_looks_for_its_own_trigger_however_many_there_are(site, monkeypatch, others):
    """After a change of any trigger as well: by path, by a label, by the name of a function; then it looks no more."""
    await site.make_function("shop", "order")
    body = {"triggerName": "h", "triggerType": "http", "triggerConfig": {"methods": ["GET"], "authType": "anonymous"}}
    for number in range(others):
        await site.make_function("shop", f"other{number}")
        assert (await site.v1("POST", f"/services/shop/functions/other{number}/triggers", body)).status == 200
    assert (await site.v1("POST", "/services/shop/functions/order/triggers", body)).status == 200
    routing, (label,) = (
        site.fc.sources.http_routing,
        [each.label for _, each in site.fc.sources.store.all() if each.function == "order"],
    )
    requests = [
        (Request("GET", "/2016-08-15/proxy/shop/order/", Headers()), "localhost"),
        (Request("GET", "/", Headers()), f"{label}.localhost"),
        (Request("GET", "/", Headers()), "order.fc.localhost"),
    ]
    made, real = [], Row.item
    monkeypatch.setattr(Row, "item", lambda self, row: (made.append(row), real(self, row))[1])
    asked = []
    site.database._connection.set_trace_callback(asked.append)

    for _ in range(2):
        found = {routing.find(*each, site.tenant).trigger.function for each in requests}
    site.database._connection.set_trace_callback(None)

    assert found == {"order"}
    assert len(made) == 3
    plans = [row[3] for sql in asked for row in site.database.read(f"EXPLAIN QUERY PLAN {sql}")]
    assert all(plan.startswith("SEARCH") for plan in plans), plans
