#!/usr/bin/env python3
"""Times of MM-CSF's MTTKRP on a GPU, by mode, as its own program prints them.

The tensor's file begins with the order and the mode lengths: `retensor dataset convert --header`.
"""
from times import arguments, printed, write_table

program, tensor, dataset, rank = arguments("PROGRAM TENSOR DATASET RANK")
found = printed([program, "-i", tensor, "-m", "0", "-R", rank, "-t", "12", "-v", "1"],
                r"MI-HCSR-GPU-mode (\d+) : ([\d.]+)")
write_table({"method": "mm_csf.cuda", "operation": "mttkrp", "dataset": dataset, "mode": mode,
             "rank": rank, "milliseconds": milliseconds} for mode, milliseconds in found)
