"""A deployment file of any kind -> a blueprint."""

import os
from collections.abc import Mapping
from pathlib import Path

from emulator.deploy import document
from emulator.deploy.failures import FileProblems, Problem
from emulator.deploy.files import Files
from emulator.deploy.model import Blueprint, Tenant
from emulator.deploy.part import Findings, Part, whole
from emulator.deploy.serverless_devs import read_project
from emulator.deploy.template import read_template


def read_text(text: str, findings: Findings) -> Part:
    """Return all of a file's text.

    Raises: FileProblems.
    """
    return whole(document.read(text), findings)


def read(
    root: Part,
    tenant: Tenant,
    folder: Path,
    parameters: Mapping[str, str],
    environ: Mapping[str, str] = os.environ,
) -> Blueprint:
    """Return what a file in *folder* says; its notes are in the findings of *root*.

    Raises: FileProblems.
    """
    files = Files(folder)
    if not isinstance(root.value, dict):
        raise FileProblems([Problem(1, "the file must be a template with Resources, or an s.yaml")])
    if is_project(root):
        if parameters:
            raise FileProblems([Problem(1, "an s.yaml has no parameters; it has vars and ${env('NAME')}")])
        return read_project(root, tenant, files, environ)
    if "Resources" in root.value or "ROSTemplateFormatVersion" in root.value:
        return read_template(root, tenant, files, parameters)
    raise FileProblems(
        [Problem(1, "neither a template (ROSTemplateFormatVersion, Resources) nor an s.yaml (edition, name)")]
    )


def is_project(root: Part) -> bool:
    """Tell whether a file is an ``s.yaml``."""
    return isinstance(root.value, dict) and ("edition" in root.value or "services" in root.value)


def project_name(root: Part) -> str:
    """Return the name an ``s.yaml`` gives itself, empty when it gives none that can be used."""
    name = root.member("name").value if is_project(root) else None
    return name if isinstance(name, str) and "${" not in name else ""
