"""Entry point of `python -m plots`."""
import sys

from plots.cli import main

sys.exit(main(sys.argv[1:]))
