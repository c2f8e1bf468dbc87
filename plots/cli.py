"""Command line: `python -m plots figure ...`, `python -m plots report ...` and
`python -m plots export ...`.

Paths of what was written go to stdout, warnings to stderr. Exit code 0, 1 when
the report lacks a figure that could not be drawn, 2 for bad input.
"""
import argparse
import sys

from plots.errors import PlotError
from plots.load import load_results, read_json
from plots.report import build_report, to_stderr
from plots.save import save_artifact
from plots.spec import find_specs, load_spec
from retensor.frame import frame_of, to_parquet
from retensor.library import RetensorError


def main(arguments):
    """Run one command; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        results = load_results([options.rows])
        for warning in results.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        return options.command(results, _read_optional(options.verdicts), options)
    except (PlotError, RetensorError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _parser():
    parser = argparse.ArgumentParser(prog="python -m plots", description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    figure = commands.add_parser("figure", help="draw the figures of specs (SVG, PNG, CSV)")
    figure.add_argument("--spec", required=True, nargs="+", metavar="YAML")
    figure.set_defaults(command=_figure)
    report = commands.add_parser("report", help="write the HTML report")
    report.add_argument("--specs", required=True, metavar="DIR")
    report.add_argument("--audits", metavar="JSON", help="from `retensor audit --json`")
    report.add_argument("--methods", metavar="JSON", help="from `retensor list methods --json`")
    report.add_argument("--artifacts", metavar="JSON", help="from `retensor list artifacts --json`")
    report.set_defaults(command=_report)
    export = commands.add_parser("export", help="write rows as Parquet")
    export.set_defaults(command=_export, verdicts=None)
    for command in (figure, report, export):
        command.add_argument("--rows", required=True, metavar="JSONL", help="from `retensor rows`")
        command.add_argument("--out", required=True, metavar="PATH")
    for command in (figure, report):
        command.add_argument("--verdicts", metavar="JSON", help="from `retensor verdict --json`")
    return parser


def _read_optional(path):
    value = read_json(path) if path else []
    if not isinstance(value, list):
        raise PlotError(f"{path}: expected a JSON list")
    return value


def _figure(results, verdicts, options):
    for path in options.spec:
        spec = load_spec(path)
        _, paths = save_artifact(results, spec, options.out, verdicts)
        print("\n".join(str(written) for written in paths.values()))
    return 0


def _report(results, verdicts, options):
    page, failures = build_report(results, find_specs(options.specs), verdicts, options.out,
                                  _read_optional(options.audits),
                                  _read_optional(options.artifacts),
                                  _read_optional(options.methods), to_stderr)
    for failure in failures:
        print(f"error: {failure}", file=sys.stderr)
    print(page)
    return 1 if failures else 0


def _export(results, _, options):
    to_parquet(frame_of(results), options.out)
    print(options.out)
    return 0
