"""Runs of the quick profile on the CPU, for bundles and their replay."""
import os
import signal
import subprocess
import time

from retensor.program import environment, program
from retensor.spec import whole_spec

LAST_CASE = 60  # seconds that a run has to end after it was asked to


def why_not(spec):
    """Why a spec has no quick run; empty where it has one."""
    content = whole_spec(spec)
    if "of" in content:
        return f"it draws the rows of {content['of']} and measures none"
    if content.get("profiles") and "quick" not in content["profiles"]:
        return "it has no quick profile"
    return ""


def run(spec, out, places, until):
    """Run a spec's quick profile, or the spec where it has no profiles, until a moment of
    time.monotonic. Returns why it did not end well, empty where its rows tell all."""
    left = until - time.monotonic()
    if left <= 0:
        return "the time limit was over"
    profile = ["--with", "quick"] if whole_spec(spec).get("profiles") else []
    # Without devices methods of a GPU decline; what waits for work leaves the cores to others.
    variables = {**environment(), "CUDA_VISIBLE_DEVICES": "", "OMP_WAIT_POLICY": "passive"}
    process = subprocess.Popen(
        [program(), "run", str(spec), "--out", str(out), "--quiet", *profile, *places],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env={**os.environ, **variables})
    try:
        _, messages = process.communicate(timeout=left)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)  # the row of the case at hand is still written
        try:
            process.communicate(timeout=LAST_CASE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        return "the time limit was over"
    return "" if process.returncode in (0, 1) else messages.strip()
