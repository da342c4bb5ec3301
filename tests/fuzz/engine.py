"""One target under atheris, in a process of its own: ``python -m tests.fuzz.engine TARGET [libFuzzer options]``."""

import sys

import atheris

from tests.fuzz.catalog import TARGETS


def main() -> None:
    """Instrument the product while the target is imported, then run until an option of libFuzzer says stop."""
    with atheris.instrument_imports(include=["emulator"]):
        target = TARGETS[sys.argv[1]].load()
    atheris.Setup([sys.argv[0], *sys.argv[2:]], lambda data: target(bytes(data)))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
