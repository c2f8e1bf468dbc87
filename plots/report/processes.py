"""Work spread over the processor's cores: drawing takes most of a report's time."""
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

_jobs = ()


def run_all(jobs):
    """Results of functions without arguments, in their order, from a process per core.

    The processes are forks: what a function holds is shared, only its result is sent back.
    """
    jobs = tuple(jobs)
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), get_context("fork"), _inherit,
                             (jobs,)) as pool:
        return list(pool.map(_run, range(len(jobs))))


def _inherit(jobs):
    global _jobs
    _jobs = jobs


def _run(index):
    return _jobs[index]()
