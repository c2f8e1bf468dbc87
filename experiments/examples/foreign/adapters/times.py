"""What the adapters share whose program draws its operands itself and gives no result.

They run it and print the table that `retensor import` takes: times that nobody checked.
"""
import csv
import re
import subprocess
import sys

COLUMNS = ("artifact", "method", "operation", "dataset", "mode", "rank", "dtype", "variant",
           "milliseconds")


def printed(command, pattern):
    """What the groups of a pattern match in the output of a command, each time that it does."""
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    found = re.findall(pattern, done.stdout)
    if done.returncode != 0 or not found:
        sys.exit(f"{command[0]}: exit code {done.returncode}, and no line like '{pattern}':\n"
                 + (done.stdout + done.stderr)[-2000:])
    return found


def arguments(names):
    """The words of the command line by name."""
    if len(sys.argv) != len(names.split()) + 1:
        sys.exit(f"usage: {sys.argv[0]} {names}")
    return sys.argv[1:]


def write_table(rows):
    """Each row a map with members of COLUMNS; `artifact` is originals/adapter."""
    table = csv.DictWriter(sys.stdout, COLUMNS)
    table.writeheader()
    for row in rows:
        table.writerow({"artifact": "originals/adapter", "dtype": "f32", **row})
