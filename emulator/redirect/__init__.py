"""Redirecting code that names the cloud's own hosts to the emulator: a hook per language, and its variables.

The hooks are files that run in other people's processes, inside function instances and under ``localyun exec``; they
import nothing from here.
"""

from pathlib import Path

__all__ = ["hook_environment", "node_hook", "python_hook", "python_site"]

_NODE = Path(__file__).parent / "node"
_PYTHON = Path(__file__).parent / "python"


def python_hook() -> Path:
    """Return the Python hook: a file whose ``install()`` redirects the process that loads it."""
    return _PYTHON / "localyun_redirect.py"


def python_site() -> Path:
    """Return the folder that installs the Python hook in every interpreter with it at the front of ``PYTHONPATH``."""
    return _PYTHON


def node_hook() -> Path:
    """Return the Node.js hook: a script that redirects every process started with ``--require`` and its path.

    Such a process has to find the certificate bundle in ``NODE_EXTRA_CA_CERTS`` when it starts.
    """
    return _NODE / "localyun_redirect.js"


def hook_environment(
    http_port: int, https_port: int | None, ca_bundle: Path | None, proxy: str | None = None
) -> dict[str, str]:
    """Return the variables that lead a hook to the emulator.

    *ca_bundle* must hold the usual authorities besides the emulator's own, or other https calls of the process fail.
    *proxy* is the address for programs that no hook reaches; it holds the secret of the emulator's run.
    """
    environment = {"LOCALYUN_HTTP_PORT": str(http_port)}
    if https_port is not None:
        environment["LOCALYUN_HTTPS_PORT"] = str(https_port)
    if ca_bundle is not None:
        environment["LOCALYUN_CA_BUNDLE"] = str(ca_bundle)
    if proxy is not None:
        environment["LOCALYUN_PROXY_URL"] = proxy
    return environment
