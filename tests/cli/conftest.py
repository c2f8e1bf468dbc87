import pytest

from sweeps import Workspace


@pytest.fixture
def workspace(tmp_path):
    return Workspace(tmp_path)
