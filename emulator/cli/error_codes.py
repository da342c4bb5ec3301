"""Error codes: the services that answer with each, from the tables of errors, and remedies from the page of errors.

A code in the tables may have a variable part, as in ``Missing{name}``, which stands for any word.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Final

from emulator.cli import pages
from emulator.cli.output import CommandFailed, _, enumerated
from emulator.kernel.errors import ErrorRow
from emulator.kernel.frozen import frozen

PAGE: Final = "errors"

TABLES: Final = {
    "fc": ("emulator.services.fc.errors:ERRORS",),
    "mns": ("emulator.services.mns.errors:ERRORS",),
    "fnf": ("emulator.services.workflow.errors:ERRORS", "emulator.adapters.flows:HttpFault.table"),
    "ram": ("emulator.services.ram.errors:ERRORS",),
    "sts": ("emulator.services.sts.service:StsError.table",),
    "fnf, ram, sts": ("emulator.wire.rpc:PopError.table",),
    "oss": ("emulator.oss.errors:ERRORS",),
    "sls": ("emulator.records.logs:LogError.table",),
    "vpc": ("emulator.records.networks:NetworkError.table",),
    "bss": ("emulator.gateway.openings:ERRORS",),
    "location": ("emulator.gateway.other_products:LocationError.table",),
    "localyun": (
        "emulator.gateway.errors:ERRORS",
        "emulator.gateway.deployments:DeploymentError.table",
        "emulator.lab.errors:ERRORS",
    ),
}
"""The table of errors of each service."""

OF_CALLS: Final = frozenset(
    {
        *("HandledInvocationError", "UnhandledInvocationError", "InitializationError"),
        *("InvalidFunctionFile", "FcCommonError", "HandlerNotFound", "InvalidHandleName"),
        *("ImportModuleError", "UserCodeSyntaxError"),
    }
)
"""Errors of function calls that are not in the table: ``X-Fc-Error-Type`` and ``errorType``."""

OF_FLOWS: Final = frozenset(
    {
        *("FnF.RuntimeError", "FnF.TaskTimeout", "FnF.Timeout", "FnF.DataLimitExceeded", "FnF.EventsLimitExceeded"),
        *("FnF.InvalidLocal", "FnF.ActionNotSupported", "FnF.MapRunFailed", "FnF.ExecutionStopped", "FnF.Fail"),
        *("FC.Unknown", "FnF.ALL"),
    }
)
"""Names of errors in histories and in catch clauses of definitions; others are a code with a prefix."""

_PREFIX = re.compile(r"(FC|FnF|MNS|fc|fnf|mns)\.")


@frozen
class Answered:
    """An error of a service with its HTTP status; *text* has the names of its fields in braces."""

    service: str
    status: int
    text: str

    def shown(self) -> dict[str, Any]:
        """Return the error as a JSON object."""
        return {"service": self.service, "status": self.status, "text": self.text}


@frozen
class Explanation:
    """An explanation of an error code."""

    code: str
    meaning: str
    causes: str
    remedy: str
    answered: tuple[Answered, ...]

    def shown(self) -> dict[str, Any]:
        """Return the explanation as a JSON object."""
        return {
            "code": self.code,
            "meaning": self.meaning,
            "causes": self.causes,
            "remedy": self.remedy,
            "answered": [each.shown() for each in self.answered],
        }


def answered() -> dict[str, list[Answered]]:
    """Return the services' errors by code."""
    found: dict[str, list[Answered]] = {}
    for service, places in TABLES.items():
        for place in places:
            for name, row in _table(place).items():
                one = Answered(service=service, status=row.status, text=row.text)
                found.setdefault(row.code or name, []).append(one)
    return found


def rows(*, chinese: bool = False) -> dict[str, tuple[str, str, str]]:
    """Return (meaning, causes, remedy) of each code on the page of errors."""
    found: dict[str, tuple[str, str, str]] = {}
    for codes, meaning, causes, remedy in pages.table_rows(pages.read(PAGE, chinese=chinese)):
        found.update(dict.fromkeys(re.findall(r"`([^`]+)`", codes), (meaning, causes, remedy)))
    return found


def explain(code: str, *, chinese: bool = False) -> Explanation:
    """Return the explanation of *code*, as it is in an answer or a history; case does not matter.

    Raises: CommandFailed for an unknown code, with similar ones.
    """
    told, known = rows(chinese=chinese), answered()
    for wanted in (code, _PREFIX.sub("", code, count=1)):
        name = _named(wanted, told)
        if name:
            meaning, causes, remedy = told[name]
            spellings = [each for each in known if each.lower() == name.lower()]  # services differ in the case
            of = tuple(answer for each in spellings for answer in known[each])
            return Explanation(
                code=code if "{" in name else name, meaning=meaning, causes=causes, remedy=remedy, answered=of
            )
    near = get_close_matches(code, told, n=3, cutoff=0.5)
    if near:
        raise CommandFailed(_("unknown error code {code}; similar codes: {names}", code=code, names=enumerated(near)))
    raise CommandFailed(_("unknown error code {code}; search the documentation with: localyun docs {code}", code=code))


def _named(code: str, told: Mapping[str, Any]) -> str | None:
    """Return the page's entry for *code*: the code itself, or the most specific one with a variable part."""
    if code in told:
        return code
    lower = {each.lower(): each for each in told}
    if code.lower() in lower:
        return lower[code.lower()]
    forms = sorted((each for each in told if "{" in each), key=len, reverse=True)
    return next((each for each in forms if _form(each).fullmatch(code)), None)


def _form(code: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{\w+\\}", r"[\\w.]+", re.escape(code)), re.IGNORECASE)


def _table(place: str) -> Mapping[str, ErrorRow]:
    module, _colon, path = place.partition(":")
    found: Any = import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    table: Mapping[str, ErrorRow] = found
    return table
