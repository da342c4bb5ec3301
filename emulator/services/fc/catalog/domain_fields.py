"""The fields of custom domains: routes with their rules of rewriting, certificates, CORS.

Source: parameter tables of the API; SDK models.
"""

import re
from collections.abc import Callable

from emulator.services.fc import limits
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.kinds import METHOD
from emulator.wire.schema.kinds import FLAG, TEXT, TEXTS, WHOLE, Items, Kind, OneOf, Ruled, Text, needed, record


def wildcard(rule: str) -> re.Pattern[str]:
    """Compile a wildcard rule: ``*`` matches any text, which is a group, and a leading ``^`` anchors the beginning."""
    anchored = rule.startswith("^")
    text = rule[1:] if anchored else rule
    return re.compile(("^" if anchored else "") + "(.*)".join(re.escape(part) for part in text.split("*")) + "$")


def _path(path: str, field: str) -> str:
    if not path.startswith("/") or "*" in path[:-1]:
        raise InvalidArgument(f"{field} '{path[:200]}' is invalid: it must begin with / and may end with *")
    return path


def _rules(compiled: Callable[[str], object] | None) -> Kind:
    """Return the kind of a list of rewrite rules; *compiled* raises an error for an invalid pattern."""
    part = Text(limits.REWRITE_RULE_LENGTH, 1)
    rule = record(needed("match", part), needed("replacement", part))

    def check(rules: list[dict[str, str]], field: str) -> list[dict[str, str]]:
        for index, each in enumerate(rules):
            if len(each) < 2:
                raise InvalidArgument(f"{field}[{index}] must have match and replacement")
            try:
                if compiled is not None:
                    compiled(each["match"])
            except (re.error, RecursionError, OverflowError) as error:
                raise InvalidArgument(f"{field}[{index}].match is not a regular expression: {error}") from None
        return rules

    return Ruled(Items(rule, limits.REWRITE_RULES), check)


_REWRITE = record(equalRules=_rules(None), wildcardRules=_rules(wildcard), regexRules=_rules(re.compile))
ROUTE = record(
    path=Ruled(Text(limits.ROUTE_PATH_LENGTH, 1), _path),
    serviceName=Text(limits.SERVICE_NAME_LENGTH),
    functionName=Text(limits.FUNCTION_NAME_LENGTH, 1),
    qualifier=Text(limits.ALIAS_NAME_LENGTH),
    methods=Items(METHOD),
    rewriteConfig=_REWRITE,
)


DOMAIN = record(
    protocol=OneOf({"HTTP", "HTTPS", "HTTP,HTTPS"}),
    routeConfig=record(routes=Items(ROUTE, limits.ROUTES)),
    certConfig=record(certName=TEXT, certificate=TEXT, privateKey=TEXT),
    tlsConfig=record(minVersion=TEXT, maxVersion=TEXT, cipherSuites=TEXTS),
    wafConfig=record(enableWAF=FLAG),
    authConfig=record(authType=OneOf({"anonymous", "function", "jwt"}), authInfo=TEXT),
    corsConfig=record(
        allowOrigins=TEXTS, allowMethods=TEXTS, allowHeaders=TEXTS, exposeHeaders=TEXTS, allowCredentials=FLAG,
        maxAge=WHOLE,
    ),
    isE2B=FLAG,
)  # fmt: skip
