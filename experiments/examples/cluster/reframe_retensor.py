"""ReFrame runs a spec of ReTensor: one test a data set. Every row has to be ok; the least median
time of a run is its figure.

    RETENSOR=$PWD/build/experiments/driver/retensor SPEC=$PWD/experiments/pasta/fig4.yaml \
      reframe -c experiments/examples/cluster/reframe_retensor.py -r --performance-report
"""
import json
import os
import subprocess
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import parameter, performance_function, run_before, sanity_function

RETENSOR, SPEC = os.environ["RETENSOR"], os.environ["SPEC"]
PROFILE = os.environ.get("PROFILE", "quick")


def data_sets():
    plan = subprocess.run([RETENSOR, "plan", SPEC, "--with", PROFILE, "--json"],
                          capture_output=True, text=True, check=True)
    return sorted({case["case"]["dataset"] for case in json.loads(plan.stdout)[0]["cases"]})


@rfm.simple_test
class SpecOnDataSet(rfm.RunOnlyRegressionTest):
    data_set = parameter(data_sets())
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = RETENSOR
    exclusive_access = True  # for the times
    time_limit = "1h"

    @run_before("run")
    def choose_data_set(self):
        self.executable_opts = ["run", SPEC, "--with", PROFILE, "--dataset", self.data_set,
                                "--out", "rows.jsonl"]

    def rows(self):
        lines = (Path(self.stagedir) / "rows.jsonl").read_text().splitlines()
        return [line for line in map(json.loads, lines) if line["kind"] == "row"]

    @sanity_function
    def every_row_is_ok(self):
        return sn.assert_eq({row["status"] for row in self.rows()}, {"ok"})

    @performance_function("s")
    def least_median(self):
        return min(row["stats"]["median"] for row in self.rows())
