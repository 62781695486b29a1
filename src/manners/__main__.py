"""`python -m manners` is the `manners` command."""

import sys

from manners.cli import main

sys.exit(main())
