#!/usr/bin/env python3
"""Gives rows of MTTKRP in HiCOO the bytes that PASTA's Table I counts for HiCOO.

Until BEFORE, `pasta.cuda.hicoo` and the plain loops stated the bytes of COO-MTTKRP for HiCOO too.
What they compute and how it is timed did not change with what they state. This proves that BEFORE
and AFTER differ, as far as the methods in HiCOO reach, in functions `work()` alone. Rows and
confirmations that the code of BEFORE made get the hashes of AFTER. Rows whose bytes are those of
COO-MTTKRP get bytes by the number of blocks that they noted when they ran, and what follows from
bytes; `restated` keeps what they said.

Usage: ci/restate.py          writes
       ci/restate.py --check  proves it again for the lines that are still there
"""

import argparse
import json
import re
import subprocess
import sys

import restamp

BEFORE = "9c818af5c7312ead75ba106e3c52efb57bd01945"
AFTER = "69feb6eb5355b840c39f130762f7da305e11354e"
METHODS = ("pasta.cpu.hicoo", "pasta.cpu.plain", "pasta.cuda.hicoo")
STATES_WORK = re.compile(r"\n  Work work\(\) const override \{.*?(?:\n  )?\}\n", re.DOTALL)
VALUE_BYTES = {"f32": 4, "f64": 8}
KINDS = ("row", "confirmation")
HASHES = {"source_hash": "source", "host_hash": "host"}


def codes_without_work(commit):
    """Method -> its hashes, were there no `work()` in PASTA's kernels."""
    with restamp.checkout(commit) as folder:
        for path in (folder / "papers/pasta/kernels").iterdir():
            path.write_text(STATES_WORK.sub("\n", path.read_text()))
        return restamp.sources.Tree(folder).methods()


def prove_that_work_alone_differs():
    then, now = codes_without_work(BEFORE), codes_without_work(AFTER)
    for method in METHODS:
        if (then[method].source, then[method].host) != (now[method].source, now[method].host):
            sys.exit(f"{method}: {BEFORE[:8]} and {AFTER[:8]} differ in more than work()")


def new_hashes(line, case, codes):
    """The hashes of `line` that are those of the case's code in BEFORE, as AFTER has them."""
    def of(code, name):
        return restamp.of_case(case, lambda method: getattr(code[method], name))

    before, after = codes
    return {field: of(after, name) for field, name in HASHES.items()
            if line.get(field) and line[field] == of(before, name)}


def runs_in_hicoo(case):
    return not {case.get("method"), case.get("params", {}).get("mttkrp")}.isdisjoint(METHODS)


def sizes(case):
    """N, M and v: the order, the nonzeros, the bytes of a value."""
    data = case["data"]
    return len(data["dims"]), data["nnz"], VALUE_BYTES[case["dtype"]]


def bytes_on_coordinates(case):
    order, nonzeros, value = sizes(case)
    return float(order * value * nonzeros * case["rank"] + (4 * order + value) * nonzeros)


def bytes_in_hicoo(case, blocks):
    """Table I: v N R min(n_b B, M) of rows, (N + v) M of elements, (4 N + 8) n_b of blocks."""
    order, nonzeros, value = sizes(case)
    rows = min(blocks * case["params"]["block"], nonzeros)
    return float(value * order * case["rank"] * rows + (order + value) * nonzeros
                 + (4 * order + 8) * blocks)


def with_bytes(row, count):
    """The groups of a row in which something follows from the bytes of a run, by `count` bytes."""
    groups = {"work": {**row["work"], "bytes": count, "intensity": row["work"]["flops"] / count},
              "rates": {**row["rates"], "gbytes": count / row["stats"]["median"] * 1e-9}}
    if "dram_over_model" in row.get("profile", {}):
        ratio = row["profile"]["dram_over_model"] * row["work"]["bytes"] / count
        groups["profile"] = {**row["profile"], "dram_over_model": ratio}
    return groups


def new_bytes(row):
    """What changes of a row that says the bytes of COO-MTTKRP although it ran in HiCOO."""
    case = row["case"]
    if (row["status"] != "ok" or case["operation"] != "mttkrp" or "blocks" not in row["executed"]
            or case["method"] not in METHODS or row["work"]["bytes"] != bytes_on_coordinates(case)):
        return {}
    groups = with_bytes(row, bytes_in_hicoo(case, int(row["executed"]["blocks"])))
    said = {name: {k: v for k, v in row[name].items() if v != group[k]}
            for name, group in groups.items()}
    return {**groups, "restated": {"because": "it stated the bytes of COO-MTTKRP", **said}}


def restated(line, codes):
    """A line of BEFORE as it shall be."""
    if line["kind"] == "confirmation":
        changes = [new_hashes(line, {"method": method, "params": {}}, codes) for method in METHODS]
        return {**line, **max(changes, key=len)}
    if line["kind"] != "row" or not runs_in_hicoo(line["case"]):
        return line
    return {**line, **new_hashes(line, line["case"], codes), **new_bytes(line)}


def changes(texts, codes):
    """(number, line as it shall be) of the lines that change."""
    for number, text in enumerate(texts):
        line = json.loads(text)
        now = restated(line, codes)
        if now != line:
            yield number, now


def codes():
    """By method, of BEFORE and of AFTER."""
    return restamp.codes_at(BEFORE), restamp.codes_at(AFTER)


def files():
    return sorted(restamp.RESULTS.glob("*/*.jsonl"))


def write(codes):
    count = 0
    for path in files():
        texts = path.read_text().splitlines()
        for number, line in changes(texts, codes):
            texts[number] = restamp.text_of([line]).rstrip("\n")
            count += 1
        path.write_text("".join(text + "\n" for text in texts))
    return count


def place_of(line):
    return line["kind"], line["session"], line.get("key") or line["keys"][0]


def texts_at(commit, path):
    shown = subprocess.run(
        ["git", "-C", str(restamp.ROOT), "show", f"{commit}:{path.relative_to(restamp.ROOT)}"],
        capture_output=True, text=True, check=False)
    return shown.stdout.splitlines()


def undone(path, lines, codes):
    """The lines of a result file with what AFTER has in place of each that it restates."""
    then = texts_at(AFTER, path)
    was = {place_of(now): (now, json.loads(then[number])) for number, now in changes(then, codes)}

    def before(line):
        now, old = was.get(line["kind"] in KINDS and place_of(line), (None, None))
        return old if now == line else line

    return [before(line) for line in lines]


def check(codes):
    """Problems with the lines of AFTER that are still there."""
    for path in files():
        there = {place_of(line): line for line in restamp.lines_of(path)
                 if line["kind"] in KINDS}
        for _, line in changes(texts_at(AFTER, path), codes):
            place = place_of(line)
            if there.get(place, line) != line:
                yield f"{path.name}: {' '.join(place)}: is not what {AFTER[:8]} has there, restated"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    prove_that_work_alone_differs()
    if not options.check:
        print(f"{write(codes())} lines")
        return 0
    problems = list(check(codes()))
    print("\n".join(problems[:20]) or "every restated line is what it was but for hashes and bytes")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
