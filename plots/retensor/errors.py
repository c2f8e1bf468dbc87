"""What the package raises; the command line turns PlotError into exit code 2."""


class RetensorError(Exception):
    """Something that the library or the program refused or could not do."""


class InputError(RetensorError, ValueError):
    """The caller's input is wrong, or the method does not take the problem."""


class DeviceError(RetensorError):
    """There is no GPU, this build has no CUDA, or a CUDA call failed."""


class PlotError(InputError):
    """A row file, spec or verdict file that cannot be used; the message names file and line."""
