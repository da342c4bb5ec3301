"""Named values in a request, for rules of users that say where to look: header, query, form or cookie."""

from emulator.http.message import Request

PLACES = ("header", "query", "form", "cookie")


def value_at(request: Request, place: str, name: str) -> str | None:
    """Return the value called *name* at *place*, one of `PLACES`; None when there is none.

    Of several header fields the first counts, of several parameters the last.
    """
    match place:
        case "header":
            return request.headers.get(name.lower()) if name.lower() in request.headers else None
        case "query":
            return dict(request.query_pairs).get(name)
        case "form":
            return dict(request.form_pairs).get(name)
        case "cookie":
            return _cookie(request, name)
        case _:
            raise ValueError(f"{place!r} is no place in a request")


def _cookie(request: Request, name: str) -> str | None:
    from http.cookies import CookieError, SimpleCookie  # here, because few rules look into cookies

    try:
        morsel = SimpleCookie("; ".join(request.headers.all("cookie"))).get(name)
    except CookieError:
        return None
    return None if morsel is None else morsel.value
