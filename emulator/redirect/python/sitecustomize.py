"""Installs the redirect hook in an interpreter that has this folder at the front of ``PYTHONPATH``.

Under libfaketime ``time.sleep`` is put right. Only one ``sitecustomize`` is imported; the one that would have been
imported without this is run as well.
"""

import importlib.machinery
import importlib.util
import os
import pathlib
import select
import sys
import time

import localyun_redirect  # type: ignore[import-not-found]  # beside this file, on the path of users' interpreters only

_FOLDER = pathlib.Path(__file__).resolve().parent


def _run_next() -> None:
    others = [entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != _FOLDER]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def _sleep(seconds: float) -> None:
    """Wait as ``time.sleep`` does, which fails with EINVAL under libfaketime from Python 3.11 on.

    Source: libfaketime 0.9.10, ``clock_nanosleep`` until an instant of the monotonic clock.
    """
    select.select([], [], [], seconds)


localyun_redirect.install()
if "FAKETIME" in os.environ:
    setattr(time, "sleep", _sleep)  # noqa: B010 - for users' programs; ruff forbids time.sleep in an assignment
_run_next()
