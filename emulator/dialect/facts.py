"""What conditions of policies can be about, as far as it is the same for every service."""

from emulator.dialect.context import RequestContext
from emulator.dialect.dates import iso_seconds
from emulator.kernel.clock import Millis

RequestFacts = dict[str, tuple[str, ...]]


def facts_of(context: RequestContext) -> RequestFacts:
    """Return the common condition keys of a request, with their values. Source: RAM, "Condition"."""
    principal = context.principal
    return {
        **facts_at(context.now),
        "acs:SourceIp": (context.request.remote,),
        "acs:SecureTransport": ("true" if context.request.scheme == "https" else "false",),
        "acs:MFAPresent": ("false",),
        "acs:PrincipalARN": (principal.arn,) if principal is not None else (),
    }


def facts_at(now: Millis) -> RequestFacts:
    """Return the condition keys of what a service does by itself."""
    return {"acs:CurrentTime": (iso_seconds(now),)}
