"""The one exception that bad input raises: the command line turns it into exit code 2."""


class PlotError(Exception):
    """A row file, spec or verdict file that cannot be used; the message names file and line."""
