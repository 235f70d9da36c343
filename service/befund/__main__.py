"""`python -m befund` is the command `befund`."""

import sys

from befund.cli import main

sys.exit(main())
