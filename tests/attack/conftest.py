import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))

from fetch_test import certificate, client, server  # noqa: E402, F401
from sweeps import Workspace  # noqa: E402


@pytest.fixture
def workspace(tmp_path):
    return Workspace(tmp_path)
