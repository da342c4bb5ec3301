"""From a command line of a function's configuration to the program an instance is started as."""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from emulator.services.fc.runtime.environment import instance_environment
from emulator.services.fc.runtime.instance import Credentials, FunctionImage, ProgramMissing
from emulator.services.fc.runtime.program import Program
from emulator.services.fc.runtime.settings import RuntimeSettings

PORT_VARIABLES = ("FC_SERVER_PORT", "FC_CUSTOM_LISTEN_PORT")
_KEY_VARIABLES = (
    ("ALIBABA_CLOUD_ACCESS_KEY_ID", "accessKeyID"),
    ("ALIBABA_CLOUD_ACCESS_KEY_SECRET", "accessKeySecret"),
    ("ALIBABA_CLOUD_SECURITY_TOKEN", "securityToken"),
)
_CODE = re.compile(r"""(?<![^\s=:,;'"(])/code(?=$|[/\s:,;'")&|])""")


def program_of(
    image: FunctionImage,
    instance_id: str,
    settings: RuntimeSettings,
    words: Sequence[str],
    variables: Mapping[str, str],
    credentials: Credentials | None,
) -> Program:
    """Return the program of an instance: the command line *words*, with *variables* of its family.

    ``/code`` in the command is the folder of the code, wherever that is.

    Raises: ProgramMissing.
    """
    folder = image.code_dir
    command = [_CODE.sub(lambda _: str(folder), word) for word in words]
    environment = settings.add_hooks(instance_environment(image, instance_id, settings)) | dict(variables)
    environment |= key_variables(credentials if image.keys_in_environment else None)
    command[0] = _found(command[0], folder, environment["PATH"], image.runtime)
    return Program(command=tuple(command), folder=folder, environment=environment)


def key_variables(credentials: Credentials | None) -> dict[str, str]:
    """Return the variables that hold a role's temporary keys, under the names of both generations."""
    if credentials is None:
        return {}
    keys = (credentials.access_key_id, credentials.access_key_secret, credentials.security_token)
    return {name: value for names, value in zip(_KEY_VARIABLES, keys, strict=True) for name in names}


def _found(name: str, folder: Path, search_path: str, runtime: str) -> str:
    """Return the path of the program *name*: in the code, or of the search path when it is a bare name.

    Raises: ProgramMissing.
    """
    in_code = folder / name
    if os.sep not in name and not in_code.is_file() and (found := shutil.which(name, path=search_path)) is not None:
        return found
    if not in_code.is_file():
        raise ProgramMissing(runtime, str(in_code))
    return str(in_code)
