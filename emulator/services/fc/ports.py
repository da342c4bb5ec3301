"""What Function Compute needs from outside; `emulator.app` joins them."""

from typing import Protocol

from emulator.kernel.identity import AccountId, World
from emulator.services.fc.runtime.instance import Credentials, FunctionImage, Invocation, InvocationResult


class Instances(Protocol):
    """Runs calls in instances; `emulator.services.fc.runtime.pool.InstancePool` in a running emulator."""

    async def invoke(self, image: FunctionImage, invocation: Invocation) -> InvocationResult:
        """Run one call in a warm instance of *image*, or in a new one.

        Raises: RuntimeFailure.
        """
        ...

    def retire_family(self, family: str) -> None:
        """Let the instances of an older state end after the calls they are in."""
        ...


class CredentialIssuer(Protocol):
    """Gives functions the temporary keys of their role."""

    def for_role(self, account: AccountId, role_arn: str, session: str) -> Credentials:
        """Return keys of *role_arn* for *session*; an empty role stands for the emulator's default one."""
        ...


class ObjectMissing(Exception):
    """There is no such bucket or object."""


class ObjectReader(Protocol):
    """Reads code packages out of object storage."""

    async def read(self, world: World, bucket: str, name: str) -> bytes:
        """Return the content of an object.

        Raises: ObjectMissing.
        """
        ...
