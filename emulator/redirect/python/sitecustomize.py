"""Installs the redirect hook in an interpreter that has this folder at the front of ``PYTHONPATH``.

Only one ``sitecustomize`` is imported; the one that would have been imported without this is run as well.
"""

import importlib.machinery
import importlib.util
import pathlib
import sys

import localyun_redirect  # type: ignore[import-not-found]  # beside this file, on the path of users' interpreters only

_FOLDER = pathlib.Path(__file__).resolve().parent


def _run_next() -> None:
    others = [entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != _FOLDER]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


localyun_redirect.install()
_run_next()
