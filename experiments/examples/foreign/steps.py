"""What executables in Python share: answers to the lines of ReTensor.

A class with the steps `read`, `prepare`, `operands`, `compute` and `result` derives from Steps. What
each has to do stands in plots/docs/how-to/foreign-code.md.
"""
import json
import sys
import time


class Steps:
    """Each step returns what there is to say of it, as an object."""

    def ping(self):
        return {}

    def run(self):
        start = time.perf_counter()
        self.compute()
        return {"seconds": time.perf_counter() - start}


def serve(method):
    """Answers each line by the method of its first word."""
    for line in sys.stdin:
        step, *words = line.split()
        print(json.dumps(getattr(method, step)(*words)), flush=True)
