"""The public names of `emulator.testing`, imported when they are used."""

from typing import TYPE_CHECKING, Any

from localyun import claim_name

if TYPE_CHECKING:
    from emulator.testing import *  # noqa: F403 (all of it, under this name too)
    from emulator.testing import __all__ as __all__
else:

    def __getattr__(name: str) -> Any:
        claim_name()
        from emulator import testing  # possible now that the name is claimed

        return getattr(testing, name)
