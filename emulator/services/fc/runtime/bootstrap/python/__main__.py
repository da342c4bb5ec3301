"""Entry of the agent's process: ``python __main__.py zygote DESCRIPTOR FOLDER [HOOK]`` or ``... agent [HOOK]``.

``zygote`` forks instances on request over its control socket and gets past ``start`` in a forked process only;
``agent`` becomes the one instance described on standard input. User code runs below the last line of this file, so that
``sys.exit`` in a handler ends the process the way it ends any Python program. ``sandbox PID FOLDER COMMAND...`` runs a
command beside an instance.
"""

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location

PACKAGE = "_localyun_agent"


def _load_package() -> None:
    folder = __file__.rpartition("__main__.py")[0]
    sys.path[:] = [entry for entry in sys.path if entry.rstrip("/\\") != folder.rstrip("/\\")]
    spec = spec_from_file_location(PACKAGE, folder + "__init__.py", submodule_search_locations=[folder])
    assert spec is not None
    assert spec.loader is not None
    package = sys.modules[PACKAGE] = module_from_spec(spec)
    spec.loader.exec_module(package)


if __name__ == "__main__":
    _load_package()
    import_module(f"{PACKAGE}.{sys.argv[1]}").start(sys.argv[2:]).serve()
