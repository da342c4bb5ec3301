"""Parameters that are given on the command line, of templates and of definitions."""

from collections.abc import Sequence

from emulator.cli.output import WrongUsage, _


def parameters_of(texts: Sequence[str]) -> dict[str, str]:
    """Return parameters by name.

    Raises: WrongUsage.
    """
    parameters = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise WrongUsage(_("--parameter takes NAME=VALUE, not {text!r}", text=text))
        parameters[name] = value
    return parameters
