#!/usr/bin/env python3
"""Times of BLCO's MTTKRP on a GPU, by mode, as its own program prints them."""
from times import arguments, printed, write_table

KERNEL, RUNS = "10", "20"  # 10: the program chooses its kernel

program, tensor, dataset, modes, rank = arguments("PROGRAM TENSOR DATASET MODES RANK")
rows = []
for mode in range(int(modes)):
    (milliseconds,) = printed([program, "-i", tensor, "-r", rank, "-m", RUNS, "-p", "-k", KERNEL,
                               "-t", str(mode)], r"time per iter: ([\d.]+) ms")
    rows.append({"method": "blco.cuda", "operation": "mttkrp", "dataset": dataset, "mode": mode,
                 "rank": rank, "dtype": "f64", "milliseconds": milliseconds})
write_table(rows)
