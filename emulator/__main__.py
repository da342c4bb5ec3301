"""``python -m emulator`` is the command ``localyun``."""

import sys

from emulator.cli.main import main

sys.exit(main())
