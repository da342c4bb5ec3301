"""The process that zygotes are forked from (`zygotes`): a program, its arguments a listening socket and the entry."""

import gc
import importlib
import sys

from fork_server import become, serve

del sys.path[0]  # where this file is: an instance does not find the tests
_LINK = "3"
"""The number of a zygote's socket, which comes behind its standard streams."""


def main(listening, entry):
    """Load what zygotes load and fork them; in each, return its program and the names that it has."""
    with open(entry, "rb") as file:  # noqa: PTH123 - no pathlib, which an instance does not have either
        program = compile(file.read(), entry, "exec")
    names = {"__name__": "", "__file__": entry}
    exec(program, names)
    names["_load_package"]()
    for name in (*importlib.import_module(f"{names['PACKAGE']}.zygote").PRELOADED, "ctypes"):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    asked, descriptors = serve(listening)
    become(asked, descriptors)
    sys.argv[:] = [entry, "zygote", _LINK, *asked["words"]]
    return program, {"__name__": "__main__", "__file__": entry}


exec(*main(int(sys.argv[1]), sys.argv[2]))
