"""Names made from other names: of a folder, a file, a logical id, a test. Valid where they go, and distinct.

What a rule has no place for becomes a hyphen, a capital letter a small one, what is too long is cut, and a name that
has lost something that way ends in a digest of what it was made from, so that two which differ never meet. A name that
is valid stays as it is.
"""

import re
from hashlib import sha256

from emulator.kernel.frozen import frozen

_DIGEST = 8

OF_QUEUES_AND_TOPICS = "[A-Za-z0-9][A-Za-z0-9-]*"
"""What a queue or topic can be called, as a regular expression; how long a name may be is for the message service."""


@frozen
class NameRule:
    """Which names something takes: ``allowed`` and ``first`` are character classes without brackets."""

    allowed: str
    longest: int
    first: str = "A-Za-z0-9"
    prefix: str = "x-"
    """Put before a name that would begin with something else."""

    def fits(self, name: str) -> bool:
        """Whether *name* is valid."""
        form = f"[{self.first}][{self.allowed}]{{0,{self.longest - 1}}}"
        return re.fullmatch(form, name) is not None


def fitted(text: str, rule: NameRule, *, end: str = "") -> str:
    """Return *text* followed by *end*, which is valid itself, as a name that *rule* takes."""
    return text + end if rule.fits(text + end) else told_apart(text, rule, end=end)


def told_apart(text: str, rule: NameRule, *, fold: bool = False, end: str = "") -> str:
    """Return *text* with a digest of it, and then *end*: no other text gives that name.

    With *fold* it is distinct where capital and small letters count as the same.
    """
    cased = text if "A-Z" in rule.allowed and not fold else text.lower()
    kept = re.sub(f"[^{rule.allowed}]+", "-", cased).strip("-")
    if re.match(f"[{rule.first}]", kept) is None:
        kept = rule.prefix + kept
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    room = rule.longest - len(end) - _DIGEST - 1
    return f"{kept[:room].rstrip('-')}-{digest}{end}"


EVERYWHERE = NameRule(allowed="a-z0-9-", longest=63, first="a-z", prefix="t-")
"""What every service takes, names of buckets and hosts included."""

ROLE = NameRule(allowed="A-Za-z0-9.@_-", longest=64)
POLICY = NameRule(allowed="A-Za-z0-9-", longest=128)
FLOW = NameRule(allowed="A-Za-z0-9_-", longest=128, first="A-Za-z_", prefix="flow-")
DEPLOYMENT = NameRule(allowed="A-Za-z0-9._-", longest=64, first="A-Za-z0-9_-", prefix="root-")
STACK = NameRule(allowed="a-z0-9-", longest=48, first="a-z0-9", prefix="root-")
"""A part of other names: the rest of those has to fit too."""

PROJECT = NameRule(allowed="A-Za-z0-9-", longest=64, prefix="project-")
SUBSCRIPTION = NameRule(allowed="A-Za-z0-9-", longest=255)
