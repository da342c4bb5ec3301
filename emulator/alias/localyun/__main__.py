"""``python -m localyun`` is the command ``localyun``."""

import sys

from localyun import main

sys.exit(main())
