"""Reading every row of another state through all services, to check it before a checkpoint is restored."""

from emulator.oss import examination as oss
from emulator.services.fc import examination as fc
from emulator.services.mns import examination as mns
from emulator.services.workflow import examination as workflow
from emulator.storage.database import Database


def read_through(database: Database) -> list[str]:
    """Read all rows of *database* as at a start; return the files they name, as paths below the work folder.

    Raises: any exception, for invalid rows.
    """
    mns.read_through(database)
    workflow.read_through(database)
    return [*fc.read_through(database), *oss.read_through(database)]
