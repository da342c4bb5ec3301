"""``deployments``: the deployments and their files."""

from argparse import Namespace

from emulator.cli.client import connected
from emulator.cli.deploy_client import DeployClient
from emulator.cli.output import show_rows
from emulator.config import Settings


def list_all(arguments: Namespace, settings: Settings) -> int:
    """List the deployments of an emulator."""
    client = connected(settings)
    records = DeployClient(client).records()
    value = [{"name": each.name, "file": each.file, "resources": len(each.entries)} for each in records]
    rows = [(each.name, len(each.entries), each.file) for each in records]
    return show_rows(arguments, ("name", "resources", "file"), rows, value)
