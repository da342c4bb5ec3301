"""Web browsers: which requests come from them, what web pages may not do, and what keeps pages of functions apart.

A browser takes scheme, host name and port for one origin, and lets the pages of an origin read one another. The console
is reached under this machine's own names, under which functions answer by path too. There every answer to a browser but
the console's carries a policy that gives its page an origin that no other page has: it can neither read the console nor
send it anything that it takes. A function whose pages need an origin that lasts, for cookies or storage, has a name of
its own (`emulator.kernel.identity.FUNCTION_SUFFIX`, a custom domain), and the console is not there.

Source: Content Security Policy Level 3, ``sandbox``; HTML, sandboxing; Fetch Metadata Request Headers.
"""

from functools import lru_cache
from urllib.parse import urlsplit

from emulator.gateway.hosts import is_loopback, normalise
from emulator.http.message import Headers, Request, Response

SANDBOX = (
    "sandbox allow-downloads allow-forms allow-modals allow-orientation-lock allow-pointer-lock allow-popups "
    "allow-popups-to-escape-sandbox allow-presentation allow-scripts allow-top-navigation-by-user-activation"
)
"""All that pages do but having an origin: no ``allow-same-origin``."""

TRACES = frozenset({"origin", "sec-fetch-site", "referer", "access-control-request-method"})
"""Headers that browsers send with requests of pages, and few other clients."""

_POLICY = ("Content-Security-Policy", SANDBOX)


@lru_cache(maxsize=256)
def is_console_host(host: str) -> bool:
    """Whether the console is reached under *host* (normalised): ``localhost`` or a loopback address, no name below."""
    return is_loopback(host) and not host.endswith(".localhost")


def set_apart(response: Response, host: str) -> None:
    """Give the page that *response*, to a browser, may be an origin of its own where the console's is.

    A policy that the answer has already goes on to hold, as browsers keep to all of them.
    """
    if is_console_host(host):
        response.headers.append(_POLICY)


def browser_trace(request: Request) -> str | None:
    """Return the header that shows a foreign web page behind the request, or None; one without `TRACES` shows none.

    An upgrade (the instance terminal's websocket) may carry an Origin that equals the Host, because a client library
    adds it; its signature is still demanded.
    """
    headers = request.headers
    if "origin" in headers and ("upgrade" not in headers or not _is_own(headers, "origin")):
        return "Origin"
    if headers.get("sec-fetch-site", "none").lower() not in {"none", "same-origin"}:
        return "Sec-Fetch-Site"
    if "referer" in headers and origin_of(headers.get("referer")) != own_origin(request):
        return "Referer"
    if request.method == "OPTIONS" and "access-control-request-method" in headers:
        return "Access-Control-Request-Method"
    return None


def own_origin(request: Request) -> str:
    """Return the origin of the pages that *request* asks for."""
    return f"{request.scheme}://{request.headers.get('host').lower()}"


def origin_of(url: str) -> str:
    """Return the origin that a URL or an Origin header names, empty for none (``null``)."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc}".lower() if parts.netloc else ""


def _is_own(headers: Headers, name: str) -> bool:
    """Whether the URL in a header names the host that the request is for."""
    try:
        return (urlsplit(headers.get(name)).hostname or "").lower() == normalise(headers.get("host"))
    except ValueError:
        return False
