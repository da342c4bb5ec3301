"""The grammar of deployments: reading files into the emulator, and writing files from it."""

from emulator.cli.parser import Commands, Parser, command


def add_within(command: Parser) -> None:
    """Add the option that restricts a command to the files of one folder."""
    command.add_argument("--within", metavar="DIR", help="refuse files outside this folder, and links to them")


def _add_file(command: Parser) -> None:
    command.add_argument(
        "file", metavar="FILE", nargs="?", help="file or its folder (default: template.yml or s.yaml of this folder)"
    )
    command.add_argument(
        "--name", metavar="NAME", help="name of the deployment (default: the file's, else the folder's)"
    )
    command.add_argument(
        "--parameter", action="append", default=[], metavar="NAME=VALUE", help="value of a template's parameter"
    )


def add_deploy(commands: Commands) -> None:
    """Add ``deploy``, ``export``, ``diff`` and ``deployments``."""
    deploy = command(commands, "deploy", "deploy:run", "create the resources of a template.yml or an s.yaml")
    _add_file(deploy)
    deploy.add_argument("--plan", action="store_true", help="only print the planned changes")
    deploy.add_argument(
        "--run-actions",
        action="store_true",
        help="print and run the build commands of an s.yaml",
    )
    deploy.add_argument("--remove", action="store_true", help="delete what the deployment created")
    deploy.add_argument("-y", "--yes", action="store_true", help="do not ask before deleting")
    add_within(deploy)
    export = command(
        commands, "export", "export:run", "export resources and code as files for the cloud's deployment tools"
    )
    export.add_argument(
        "--format",
        choices=("s.yaml", "template.yml", "terraform"),
        default="s.yaml",
        help="format to write (default: s.yaml)",
    )
    export.add_argument("--output", metavar="DIR", required=True, help="folder for the exported files")
    export.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="GROUPS",
        help="groups to export, separated by commas, such as functions,queues,flows",
    )
    export.add_argument("--name", help="name of the project in an s.yaml (default: the folder's)")
    export.add_argument("--overwrite", action="store_true", help="overwrite an earlier export in the folder")
    diff = command(commands, "diff", "export:diff", "compare a deployment file with the running resources")
    _add_file(diff)
    diff.add_argument("--all", action="store_true", help="also list running resources that are not in the file")
    command(commands, "deployments", "deployments:list_all", "list the deployments")
