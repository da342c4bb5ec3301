"""JSON web tokens at HTTP triggers and custom domains: which count, where they are found, what the function learns."""

import json

import pytest

from emulator.http.message import Headers, Request, Response
from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import Principal
from emulator.wire.request import OperationRequest

jwt = pytest.importorskip("jwt")

from cryptography.hazmat.primitives.asymmetric import ec, rsa  # noqa: E402 - the extra brings it

RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CURVE = ec.generate_private_key(ec.SECP256R1())
STRANGER = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def public(key, algorithm: str, kid: str = "") -> dict:
    maker = jwt.algorithms.RSAAlgorithm if algorithm.startswith("RS") else jwt.algorithms.ECAlgorithm
    known = maker.to_jwk(key.public_key(), as_dict=True) | {"alg": algorithm, "use": "sig"}
    known.pop("key_ops", None)
    return known | ({"kid": kid} if kid else {})


JWKS = {"keys": [public(RSA, "RS256", "first"), public(CURVE, "ES256", "second")]}


def token(key=RSA, algorithm: str = "RS256", kid: str | None = "first", **claims) -> str:
    return jwt.encode({"uid": "7", **claims}, key, algorithm, headers={"kid": kid} if kid else None)


async def ask(site, target: str = "/2016-08-15/proxy/shop/order/a", body: bytes = b"", host="127.0.0.1", **headers):
    """Send an unsigned request to a trigger; return its status and what the function was given."""
    pairs = [("Host", host), *((name.replace("_", "-"), value) for name, value in headers.items())]
    context = OperationRequest(Request("POST" if body else "GET", target, Headers(pairs), body), site.clock.now())
    context.region, context.host, context.request_id = site.tenant.region, host, "r"
    assert site.front.allows_anonymous(context)
    context.principal = Principal(site.tenant.account, "", "anonymous")
    before = len(site.instances.invocations)
    try:
        answer = site.front.handle(context)
        answer = answer if isinstance(answer, Response) else await answer
    except ServiceError as error:
        answer = site.front.render_error(error, context)
    seen = site.instances.invocations[before:]
    return answer, seen[0] if seen else None


async def make_trigger(site, **auth) -> int:
    await site.make_function()
    config = {"methods": ["GET", "POST"], "authType": "jwt", "authConfig": auth}
    body = {"triggerName": "h", "triggerType": "http", "triggerConfig": config}
    return (await site.v1("POST", "/services/shop/functions/order/triggers", body)).status


@pytest.mark.parametrize(
    "made",
    [
        token(),
        token(CURVE, "ES256", "second"),
        token(kid=None),
    ],
    ids=["by its key's id", "another algorithm", "without a key's id"],
)
async def test_a_token_that_a_configured_key_has_signed_is_let_in(open_site, made):
    """The key is found by its id, or tried when the token names none that is known."""
    keys = JWKS if jwt.get_unverified_header(made).get("kid") else {"keys": [public(RSA, "RS256")]}

    async with open_site() as site:
        assert await make_trigger(site, jwks=keys) == 200

        answer, seen = await ask(site, Authorization=f"Bearer {made}")

        assert (answer.status, seen is not None) == (200, True)


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({}, "missing"),
        ({"Authorization": "Bearer"}, "missing"),
        ({"Authorization": token()}, "missing"),
        ({"Authorization": "Bearer nonsense"}, "invalid"),
        ({"Authorization": f"Bearer {token(STRANGER)}"}, "invalid"),
        ({"Authorization": f"Bearer {token(kid='unknown')}"}, "no key"),
        ({"Authorization": f"Bearer {jwt.encode({'uid': '7'}, None, 'none', headers={'kid': 'first'})}"}, "invalid"),
        ({"Authorization": f"Bearer {token(exp=1)}"}, "exp"),
        ({"Authorization": f"Bearer {token(nbf=2**40)}"}, "nbf"),
    ],
    ids=[
        "none", "empty", "without its prefix", "no token", "stranger", "unknown key", "unsigned", "expired", "early",
    ],
)  # fmt: skip
async def test_every_other_token_is_refused_and_the_function_not_called(site, headers, message):
    """403 with the reason, in the form of all refusals at a trigger."""
    await make_trigger(site, jwks=json.dumps(JWKS))

    answer, seen = await ask(site, **headers)
    told = json.loads(answer.body)

    assert (answer.status, told["ErrorCode"], seen) == (403, "AccessDenied", None)
    assert message in told["ErrorMessage"]


async def test_a_token_expires_by_the_emulators_clock(site):
    """Time that is moved on makes a token old."""
    await make_trigger(site, jwks=JWKS)
    made = token(exp=site.clock.now() // 1000 + 60)

    first, _ = await ask(site, Authorization=f"Bearer {made}")
    await site.after(61_000)
    second, _ = await ask(site, Authorization=f"Bearer {made}")

    assert (first.status, second.status) == (200, 403)


@pytest.mark.parametrize(
    ("lookup", "request_of"),
    [
        ("header:X-Token", lambda made: {"X_Token": made}),
        ("header:Authorization:Bearer", lambda made: {"Authorization": f"Bearer {made}"}),
        ("query:token", lambda made: {"target": f"/2016-08-15/proxy/shop/order/a?token={made}"}),
        ("cookie:session", lambda made: {"Cookie": f"a=b; session={made}"}),
        (
            "form:token",
            lambda made: {"body": f"token={made}".encode(), "Content_Type": "application/x-www-form-urlencoded"},
        ),
        ("header:Missing,query:none,cookie:session", lambda made: {"Cookie": f"session={made}"}),
    ],
)
async def test_a_token_is_found_where_the_trigger_says(site, lookup, request_of):
    """Places are tried in order."""
    await make_trigger(site, jwks=JWKS, tokenLookup=lookup)

    found, _ = await ask(site, **request_of(token()))
    elsewhere, _ = await ask(site, X_Other=token())

    assert (found.status, elsewhere.status) == (200, 403)


async def test_claims_reach_the_function_and_nobody_can_pretend_them(site):
    """A header of the same name that the client sent is replaced."""
    passing = "header:uid:X-User,query:role:as,cookie:uid:who,header:none:X-None,query::,query::of-none"
    await make_trigger(site, jwks=JWKS, claimPassBy=passing)

    _, seen = await ask(site, Authorization=f"Bearer {token(role=['a', 'b'])}", X_User="forged", Cookie="a=b")
    headers = [(name.lower(), value) for name, value in seen.http.headers]

    assert [value for name, value in headers if name == "x-user"] == ["7"]
    assert ("cookie", "who=7") in headers
    assert not [name for name, _ in headers if name == "x-none"]
    assert seen.http.request_uri == "/2016-08-15/proxy/shop/order/a?as=%5B%22a%22%2C+%22b%22%5D"


async def test_claims_in_a_form_are_appended_to_it(site):
    """The body grows and its length is told anew."""
    await make_trigger(site, jwks=JWKS, claimPassBy="form:uid:user")
    form = "application/x-www-form-urlencoded"

    bearer = f"Bearer {token()}"
    _, seen = await ask(site, body=b"a=b", Content_Type=form, Content_Length="3", Authorization=bearer)

    assert seen.event == b"a=b&user=7"
    assert dict(seen.http.headers)["Content-Length"] == "10"


@pytest.mark.parametrize(
    "auth",
    [
        {},
        {"jwks": "no json"},
        {"jwks": {"keys": []}},
        {"jwks": JWKS, "tokenLookup": "body:token"},
        {"jwks": JWKS, "tokenLookup": 7},
        {"jwks": JWKS, "claimPassBy": "header:"},
    ],
)
async def test_a_configuration_that_could_let_nobody_in_is_refused(site, auth):
    """Mistakes are told when the trigger is made."""
    assert await make_trigger(site, **auth) == 400


@pytest.mark.parametrize(
    ("paths", "path", "status"),
    [
        ({}, "/open/a", 403),
        ({"whitelist": {"path": ["/open/*"]}}, "/open/a", 200),
        ({"whitelist": ["/open/*"]}, "/closed", 403),
        ({"blacklist": ["/closed"]}, "/open/a", 200),
        ({"blacklist": ["/closed"]}, "/closed", 403),
    ],
)
async def test_a_domain_may_leave_paths_open(site, paths, path, status):
    """A domain has tokens of its own, before its function's trigger is asked."""
    await site.make_function()
    config = {"methods": ["GET"], "authType": "anonymous"}
    trigger = {"triggerName": "h", "triggerType": "http", "triggerConfig": config}
    await site.v1("POST", "/services/shop/functions/order/triggers", trigger)
    route = {"path": "/*", "serviceName": "shop", "functionName": "order"}
    auth = {"authType": "jwt", "authInfo": json.dumps({"jwks": JWKS, **paths})}
    body = {"domainName": "www.shop.example", "routeConfig": {"routes": [route]}, "authConfig": auth}
    assert (await site.v1("POST", "/custom-domains", body)).status == 200

    without, _ = await ask(site, path, host="www.shop.example")
    with_one, _ = await ask(site, path, host="www.shop.example", Authorization=f"Bearer {token()}")

    assert (without.status, with_one.status) == (status, 200)
