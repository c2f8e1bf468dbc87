#!/usr/bin/env python3
"""The time of tSparse's product of two sparse matrices on a GPU, as its own program prints it.

It checks its own result against CUSP; it writes none. The values are rounded to halves.
"""
from times import arguments, printed, write_table

program, matrix, dataset = arguments("PROGRAM MATRIX.mtx DATASET")
(milliseconds,) = printed([program, matrix], r"Bmp Device \|\s*([\d.]+) ms")
write_table([{"method": "tsparse.cuda", "operation": "contraction", "dataset": dataset,
              "variant": "ab,bc->ac", "milliseconds": milliseconds}])
