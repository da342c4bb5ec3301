"""``corsConfig``: what preflights are answered, and what is added to a function's answers."""

import pytest

from emulator.http.message import Headers, Request
from emulator.services.fc.triggers.http_access import allowed_fields, preflight, with_fields

PAGE = "https://app.example"
CORS = {
    "allowOrigins": [PAGE, "https://*.app.example"],
    "allowMethods": ["GET", "PUT"],
    "allowHeaders": ["X-A", "X-B"],
    "exposeHeaders": ["X-C"],
    "allowCredentials": True,
    "maxAge": 60,
}
EVERYBODY = {"allowOrigins": ["*"], "allowMethods": ["*"], "allowHeaders": ["*"]}


def request(method: str = "OPTIONS", **headers: str) -> Request:
    return Request(method, "/", Headers([(name.replace("_", "-"), value) for name, value in headers.items()]))


def test_a_preflight_of_an_allowed_page_is_told_what_it_may_do():
    """Everything the configuration says, and the page's own origin."""
    asked = request(Origin=PAGE, Access_Control_Request_Method="PUT", Access_Control_Request_Headers="x-a")

    assert dict(preflight(CORS, asked)) == {
        "Access-Control-Allow-Origin": PAGE,
        "Vary": "Origin",
        "Access-Control-Allow-Credentials": "true",
        "Access-Control-Expose-Headers": "X-C",
        "Access-Control-Allow-Methods": "GET, PUT",
        "Access-Control-Allow-Headers": "X-A, X-B",
        "Access-Control-Max-Age": "60",
    }


def test_a_star_allows_what_was_asked_for():
    """Without credentials the answer may be the same for everybody."""
    asked = request(Origin="null", Access_Control_Request_Method="patch", Access_Control_Request_Headers="x-a, x-z")

    told = dict(preflight(EVERYBODY, asked))

    assert told["Access-Control-Allow-Origin"] == "*"
    assert told["Access-Control-Allow-Methods"] == "PATCH"
    assert told["Access-Control-Allow-Headers"] == "x-a, x-z"


@pytest.mark.parametrize(
    ("origin", "method"),
    [("https://evil.example", "GET"), (PAGE, "DELETE"), ("https://app.example.evil", "GET")],
)
def test_what_is_not_allowed_is_answered_with_nothing(origin, method):
    """The browser refuses then."""
    assert preflight(CORS, request(Origin=origin, Access_Control_Request_Method=method)) == []


@pytest.mark.parametrize("other", [request("GET", Origin=PAGE), request(), request(Origin=PAGE)])
def test_ordinary_requests_are_no_preflights(other):
    """OPTIONS alone is the function's."""
    assert preflight(CORS, other) is None


def test_the_configuration_replaces_what_the_function_says():
    """Other headers, and its own Vary, stay."""
    said = [("access-control-allow-origin", "*"), ("X-Own", "1"), ("Vary", "Accept")]

    told = with_fields(said, allowed_fields(CORS, request("GET", Origin="https://a.app.example")))

    assert [value for name, value in told if name.lower() == "access-control-allow-origin"] == ["https://a.app.example"]
    assert ("X-Own", "1") in told
    assert [value for name, value in told if name == "Vary"] == ["Accept", "Origin"]


async def test_a_domain_answers_preflights_without_calling_its_function(open_site):
    """Also when OPTIONS is not among the trigger's methods; answers carry the origin."""
    from emulator.http.message import Response
    from emulator.kernel.identity import Principal
    from emulator.wire.request import OperationRequest

    async with open_site() as site:
        await site.make_function()
        config = {"methods": ["GET"], "authType": "anonymous"}
        trigger = {"triggerName": "h", "triggerType": "http", "triggerConfig": config}
        await site.v1("POST", "/services/shop/functions/order/triggers", trigger)
        route = {"path": "/*", "serviceName": "shop", "functionName": "order"}
        body = {"domainName": "www.shop.example", "routeConfig": {"routes": [route]}, "corsConfig": CORS}
        await site.v1("POST", "/custom-domains", body)

        async def ask(asked):
            context = OperationRequest(asked, site.clock.now())
            context.region, context.host = site.tenant.region, "www.shop.example"
            context.request_id, context.principal = "r", Principal(site.tenant.account, "", "anonymous")
            assert site.front.open_to_web(context)
            answer = site.front.handle(context)
            return answer if isinstance(answer, Response) else await answer

        before = await ask(request(Origin=PAGE, Access_Control_Request_Method="GET"))
        called = len(site.instances.invocations)
        after = await ask(request("GET", Origin=PAGE))

        assert (before.status, before.header("Access-Control-Allow-Methods"), called) == (204, "GET, PUT", 0)
        assert (after.status, after.header("Access-Control-Allow-Origin")) == (200, PAGE)
