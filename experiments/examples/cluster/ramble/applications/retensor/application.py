# flake8: noqa: F403, F405 - an application takes its directives from a star import
"""Ramble runs the cases of a spec of ReTensor on one data set."""
from ramble.appkit import *


class Retensor(ExecutableApplication):
    name = "retensor"

    executable("run", "{retensor} run {spec} --with {profile} --dataset {data_set} "
               "--out {experiment_run_dir}/rows.jsonl --json", use_mpi=False)
    workload("spec", executables=["run"])
    workload_variable("data_set", default="wordnet", description="of the spec", workloads=["spec"])
    workload_variable("profile", default="quick", description="of the spec", workloads=["spec"])

    figure_of_merit("rows ok", fom_regex=r'^    "ok": (?P<ok>\d+)', group_name="ok", units="rows")
    success_criteria("every row is ok", mode="string", match=r'.*"not_ok": \[\]')
