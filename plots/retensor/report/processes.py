"""Work spread over the processor's cores: drawing takes most of a report's time."""
import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

_jobs = ()


def run_all(jobs, progress=None):
    """Results of functions without arguments, in their order, from a process per core.

    The processes are forks: what a function holds is shared, only its result is sent back.
    `progress(done, total)` is called as results come.
    """
    jobs = tuple(jobs)
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), get_context("fork"), _inherit,
                             (jobs,)) as pool:
        futures = [pool.submit(_run, index) for index in range(len(jobs))]
        if progress:
            for done, _ in enumerate(as_completed(futures), start=1):
                progress(done, len(jobs))
        return [future.result() for future in futures]


def _inherit(jobs):
    global _jobs
    _jobs = jobs


def _run(index):
    return _jobs[index]()
