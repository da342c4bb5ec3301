"""Valid, distinct names made from other names: of a folder, a file, a logical id, a test.

Characters that a rule does not allow become hyphens, capital letters become lowercase where the rule has none, and what
is too long is cut. A name that has lost something that way ends in a digest of the original, so that different
originals never give the same name. A valid name stays as it is.
"""

import re
from hashlib import sha256

from emulator.kernel.frozen import frozen

_DIGEST = 8

OF_QUEUES_AND_TOPICS = "[A-Za-z0-9][A-Za-z0-9-]*"
"""The regular expression of queue and topic names; the message service checks their length."""


@frozen
class NameRule:
    """A form of names: ``allowed`` and ``first`` are character classes without brackets."""

    allowed: str
    longest: int
    first: str = "A-Za-z0-9"
    prefix: str = "x-"
    """Put before a name whose first character is not allowed there."""

    def fits(self, name: str) -> bool:
        """Whether *name* is valid."""
        form = f"[{self.first}][{self.allowed}]{{0,{self.longest - 1}}}"
        return re.fullmatch(form, name) is not None


def fitted(text: str, rule: NameRule, *, end: str = "") -> str:
    """Return *text* followed by *end* if *rule* allows that, else the name that `told_apart` makes of them."""
    return text + end if rule.fits(text + end) else told_apart(text, rule, end=end)


def told_apart(text: str, rule: NameRule, *, fold: bool = False, end: str = "") -> str:
    """Return a valid name made of *text*, a digest of it and *end*: no other text gives that name.

    With *fold* the name is distinct also where upper and lower case count as the same.
    """
    cased = text if "A-Z" in rule.allowed and not fold else text.lower()
    kept = re.sub(f"[^{rule.allowed}]+", "-", cased).strip("-")
    if re.match(f"[{rule.first}]", kept) is None:
        kept = rule.prefix + kept
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    room = rule.longest - len(end) - _DIGEST - 1
    return f"{kept[:room].rstrip('-')}-{digest}{end}"


EVERYWHERE = NameRule(allowed="a-z0-9-", longest=63, first="a-z", prefix="t-")
"""The common denominator: names valid in every service, for buckets and as host names."""

ROLE = NameRule(allowed="A-Za-z0-9.@_-", longest=64)
POLICY = NameRule(allowed="A-Za-z0-9-", longest=128)
FLOW = NameRule(allowed="A-Za-z0-9_-", longest=128, first="A-Za-z_", prefix="flow-")
DEPLOYMENT = NameRule(allowed="A-Za-z0-9._-", longest=64, first="A-Za-z0-9_-", prefix="root-")
STACK = NameRule(allowed="a-z0-9-", longest=48, first="a-z0-9", prefix="root-")
"""Shorter than `DEPLOYMENT`, because a stack's name is the beginning of other names, which have limits of their own."""

PROJECT = NameRule(allowed="A-Za-z0-9-", longest=64, prefix="project-")
SUBSCRIPTION = NameRule(allowed="A-Za-z0-9-", longest=255)
