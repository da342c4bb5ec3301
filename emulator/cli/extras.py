"""How an extra is added to this installation: from the package index, or from the wheel or folder that it came from."""

import json
import shlex
from urllib.parse import unquote, urlsplit


def installing(extra: str) -> str:
    """Return the command that installs an extra."""
    name = f"localyun[{extra}]"
    origin = _origin()
    url = str(origin.get("url") or "")
    if origin.get("dir_info", {}).get("editable"):
        return f"pip install --editable {shlex.quote(f'{unquote(urlsplit(url).path)}[{extra}]')}"
    return f"pip install {shlex.quote(f'{name} @ {url}' if url else name)}"


def _origin() -> dict[str, dict[str, bool]]:
    """Return what pip has installed this from, empty for the package index.

    Source: PyPA, "Recording the Direct URL Origin of installed distributions".
    """
    from importlib import metadata  # imports dates, which quick commands do without

    try:
        recorded = json.loads(metadata.distribution("localyun").read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return {}
    return recorded if isinstance(recorded, dict) else {}
