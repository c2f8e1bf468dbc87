import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))

from sweeps import Workspace  # noqa: E402


def have_device():
    try:
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, check=False)
        return done.returncode == 0
    except OSError:
        return False


@pytest.fixture
def workspace(tmp_path):
    """A folder for sweeps on the device; skips where there is none."""
    if not have_device():
        pytest.skip("no device that the driver knows")
    return Workspace(tmp_path)
