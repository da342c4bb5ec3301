"""localyun under the name of its distribution: the command, the pytest plugin, and `localyun.testing`.

The program itself is the package ``emulator``, a name that a project may have for a module of its own. The command and
the plugin, which start in a project's folder, therefore begin here: nothing called ``emulator`` is imported before it
is needed, and then it is this installation's. In a checkout this folder is in ``emulator/alias``.
"""

import os
import sys

TYPE_CHECKING = False  # as in ``typing``, whose import would be a tenth of ``--help``
if TYPE_CHECKING:
    from typing import Any


def _root() -> str:
    """Return the folder that contains the package ``emulator``: that of this package, or the checkout."""
    place = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return os.path.dirname(os.path.dirname(place)) if os.path.basename(place) == "alias" else place


def claim_name() -> None:
    """Import this installation's package ``emulator``, whatever other one is on the search path.

    Raises: ImportError when another one was imported before.
    """
    place = _root()
    taken = sys.modules.get("emulator")
    if taken is None:
        sys.path.insert(0, place)
        try:
            import emulator  # noqa: F401 (every later import finds this one)
        finally:
            sys.path.remove(place)
    elif os.path.join(place, "emulator") not in list(getattr(taken, "__path__", [])):
        where = getattr(taken, "__file__", None) or "unknown"
        raise ImportError(
            f"localyun's own package is called emulator, and so is a module that is imported already ({where}):"
            " rename that one"
        )


def main() -> int:
    """Run the command ``localyun``."""
    claim_name()
    from emulator.cli.main import main as run  # possible now that the name is claimed

    return run()


def __getattr__(name: str) -> "Any":
    """Load the pytest plugin from its file, so that pytest does not import ``emulator`` for it."""
    if name != "pytest_plugin":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.util import module_from_spec, spec_from_file_location  # only pytest asks for it

    spec = spec_from_file_location("localyun.pytest_plugin", os.path.join(_root(), "emulator", "testing", "plugin.py"))
    if spec is None or spec.loader is None:
        raise ImportError("localyun is installed without its pytest plugin")
    plugin = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(plugin)
    return plugin
