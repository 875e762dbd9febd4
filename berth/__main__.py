"""`python -m berth`, the same as the `berth` command."""

import sys

from berth.cli.__main__ import main

sys.exit(main())
