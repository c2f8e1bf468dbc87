"""Command line: `python -m retensor.cli figure ...`, `report`, `export`, `components`, `bundle`
and `replay`.

Paths of what was written go to stdout, warnings to stderr. Exit code 0, 1 when
the report lacks a figure that could not be drawn, 2 for bad input.
"""
import argparse
import os
import sys
import traceback
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from jinja2 import TemplateError

from retensor import components
from retensor.errors import PlotError
from retensor.results import load_results, read_json
from retensor.report import build_report, to_stderr
from retensor.save import save_artifact
from retensor.spec import find_specs, load_spec


def main(arguments):
    """Run one command; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return options.command(options)
    except PlotError as error:
        print(f"retensor: {error}", file=sys.stderr)
    except OSError as error:
        told = f"{error.filename}: {error.strerror}" if error.filename else error
        print(f"retensor: {told}", file=sys.stderr)
    except BrokenProcessPool:
        print("retensor: a process that draws figures was killed", file=sys.stderr)
    except (ArithmeticError, AttributeError, LookupError, TemplateError, TypeError,
            ValueError) as error:
        # A row may hold anything in place of a number; where that was met helps to find it.
        place = traceback.extract_tb(error.__traceback__)[-1]
        print(f"retensor: {options.read}: a value that cannot be shown: {type(error).__name__}: "
              f"{error} ({Path(place.filename).name}:{place.lineno})", file=sys.stderr)
    return 2


def _parser():
    parser = argparse.ArgumentParser(prog="python -m retensor.cli",
                                     description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    figure = commands.add_parser("figure", help="draw the figures of specs (SVG, PDF, CSV)")
    figure.add_argument("--spec", required=True, nargs="+", metavar="YAML")
    figure.set_defaults(command=_figure)
    report = commands.add_parser("report", help="write the HTML report")
    report.add_argument("--specs", required=True, nargs="+", metavar="PATH",
                        help="folders of specs, and specs")
    report.add_argument("--audits", metavar="JSON", help="from `retensor audit --json`")
    report.add_argument("--methods", metavar="JSON", help="from `retensor list methods --json`")
    report.add_argument("--artifacts", metavar="JSON", help="from `retensor list artifacts --json`")
    report.set_defaults(command=_report)
    export = commands.add_parser("export", help="write rows as Parquet")
    export.set_defaults(command=_export)
    model = commands.add_parser("components", help="draw the components of a CP model")
    model.add_argument("--model", required=True, metavar="NPZ", dest="read")
    model.set_defaults(command=_components)
    bundle = commands.add_parser("bundle", help="write a bundle of specs and their rows")
    bundle.add_argument("--name", required=True, dest="read", help="of the bundle")
    bundle.add_argument("--specs", required=True, nargs="+", metavar="YAML")
    bundle.add_argument("--rows", required=True, nargs="+", metavar="JSONL", help="result files")
    bundle.add_argument("--measure", action="store_true", help="run the quick profile first")
    bundle.set_defaults(command=_bundle)
    replay = commands.add_parser("replay", help="run a bundle again and compare")
    replay.add_argument("--bundle", required=True, metavar="ARCHIVE", dest="read")
    replay.add_argument("--time-limit", required=True, type=float, metavar="SECONDS")
    replay.set_defaults(command=_replay)
    for command in (bundle, replay):
        command.add_argument("--program", required=True, metavar="PATH", help="retensor")
        command.add_argument("--cache", required=True, metavar="DIR")
        command.add_argument("--recipes", required=True, metavar="DIR")
        command.add_argument("--registry", required=True, metavar="YAML",
                             help="replay: empty for that of the bundle")
    for command in (figure, report, export):
        command.add_argument("--rows", required=True, metavar="JSONL", help="from `retensor rows`",
                             dest="read")
    for command in (figure, report, export, model, bundle, replay):
        command.add_argument("--out", required=True, metavar="PATH")
    for command in (figure, report):
        command.add_argument("--verdicts", metavar="JSON", help="from `retensor verdict --json`")
    return parser


def _read_optional(path):
    value = read_json(path) if path else []
    if not isinstance(value, list):
        raise PlotError(f"{path}: expected a JSON list")
    return value


def _rows(options):
    results = load_results([options.read])
    for warning in results.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return results


def _figure(options):
    results, verdicts = _rows(options), _read_optional(options.verdicts)
    for path in options.spec:
        spec = load_spec(path)
        _, paths = save_artifact(results, spec, options.out, verdicts)
        print("\n".join(str(written) for written in paths.values()))
    return 0


def _report(options):
    page, failures = build_report(_rows(options), find_specs(*options.specs),
                                  _read_optional(options.verdicts), options.out,
                                  _read_optional(options.audits),
                                  _read_optional(options.artifacts),
                                  _read_optional(options.methods), to_stderr)
    for failure in failures:
        print(f"retensor: {failure}", file=sys.stderr)
    print(page)
    return 1 if failures else 0


def _components(options):
    print(components.save(options.read, options.out))
    return 0


def _bundle(options):
    from retensor.bundle import build
    path, notes = _calling(options, build)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    print(path)
    return 0


def _replay(options):
    from retensor.bundle.replay import replay
    return _calling(options, replay)


def _calling(options, command):
    """A command that calls the program which called this package."""
    from retensor.library import RetensorError
    os.environ["RETENSOR"] = options.program
    try:
        return command(options)
    except RetensorError as error:
        raise PlotError(error) from error


def _export(options):
    from retensor.frame import frame_of, to_parquet
    from retensor.library import RetensorError
    try:
        to_parquet(frame_of(_rows(options)), options.out)
    except RetensorError as error:
        raise PlotError(error) from error
    print(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
