"""The image of localyun in tests that use Testcontainers, with the same kit as everywhere else.

Needs an engine and the extra ``localyun[containers]``. Without an engine `emulator.testing.Emulator` does the same as a
process, in a fraction of the time.
"""

import json
import os
from typing import TYPE_CHECKING, Any, Self

from emulator.testing.api import NotInstalled, TestingError
from emulator.testing.kit import Localyun, kit_of

if TYPE_CHECKING:
    from testcontainers.core.container import DockerContainer
    from testcontainers.core.wait_strategies import HealthcheckWaitStrategy
else:
    try:
        from testcontainers.core.container import DockerContainer
        from testcontainers.core.wait_strategies import HealthcheckWaitStrategy
    except ImportError as error:
        raise NotInstalled("containers need testcontainers: pip install 'localyun[containers]'") from error

__all__ = ["LocalyunContainer"]

HTTP_PORT, HTTPS_PORT = 8868, 8869
KEYS = "/data/keys.json"


class LocalyunContainer(DockerContainer):
    """A container of localyun; a context manager, or `start` and `stop`.

    *functions* is a folder of functions to serve. Further arguments are those of ``DockerContainer``. Other settings
    are environment variables: ``with_env("LOCALYUN_ENFORCE_RAM", "true")``.

    >>> with LocalyunContainer(functions="functions") as container:
    ...     container.localyun.queue("orders").send("one")
    """

    def __init__(self, image: str = "localyun", *, functions: str | os.PathLike[str] | None = None, **how: Any) -> None:
        super().__init__(image, **how)
        self.with_exposed_ports(HTTP_PORT, HTTPS_PORT)
        self.waiting_for(HealthcheckWaitStrategy())
        if functions is not None:
            self.with_volume_mapping(os.path.abspath(functions), "/functions", "ro")  # noqa: PTH100 - keeps links
        self._kit: Localyun | None = None

    def start(self) -> Self:
        """Start the container and return once it is healthy.

        Raises: TimeoutError with the container's log when it does not become so.
        """
        super().start()
        shown = self.exec(["cat", KEYS])
        if shown.exit_code != 0:
            raise TestingError(f"the container has no {KEYS}: is {self.image} an image of localyun?")
        keys = json.loads(shown.output)
        host = self.get_container_host_ip()
        address = f"http://{host}:{self.get_exposed_port(HTTP_PORT)}"
        self._kit = kit_of(keys, address, https_endpoint=f"https://{host}:{self.get_exposed_port(HTTPS_PORT)}")
        return self

    def stop(self, *words: Any, **how: Any) -> None:
        """Close the kit and remove the container; the arguments are those of ``DockerContainer.stop``."""
        if self._kit is not None:
            self._kit.close()
            self._kit = None
        super().stop(*words, **how)

    @property
    def localyun(self) -> Localyun:
        """The kit for this container.

        Raises: TestingError before the start.
        """
        if self._kit is None:
            raise TestingError("the container has not been started")
        return self._kit
