"""What the package raises; the command line turns PlotError into exit code 2."""


class RetensorError(Exception):
    """The library or the program rejected something, or could not do it."""


class InputError(RetensorError, ValueError):
    """The input is wrong, or the method does not support the problem."""


class DeviceError(RetensorError):
    """There is no GPU, this build has no CUDA, or a CUDA call failed."""


class PlotError(InputError):
    """A row file, spec or verdict file that cannot be used; the message names file and line."""
