#!/usr/bin/env python3
"""Writes provenance.cpp: the commit of this build and what its methods are made of.

Usage: write.py SOURCE_ROOT OUTPUT [CUDA_LIBRARY...], in the build folder. A library is a thin
archive, which names its objects. The output is left alone when nothing changed.
"""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from provenance import kernels, sources  # noqa: E402

TEMPLATE = """#include "experiments/driver/run/currency.hpp"

namespace retensor::driver {{

const Provenance& provenance() {{
  static const Provenance facts{{
      "{commit}", {dirty}, "{common}", {{
{methods}
      }}}};
  return facts;
}}

}}  // namespace retensor::driver
"""


def output_of(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def entry(name, code, built):
    pairs = ", ".join(f'{{"{architecture}", "{digest}"}}'
                      for architecture, digest in kernels.digest(built, code.kernels).items())
    return f'          {{"{name}", {{"{code.source}", "{code.host}", {{{pairs}}}}}}},'


def main():
    root, output, libraries = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    objects = [Path(name) for library in libraries
               for name in output_of("ar", "t", library).splitlines()]
    built = kernels.kernels_of_build(objects, f"{output}.kernels") if objects else {}
    tree = sources.Tree(root)
    lines = []
    for name, code in sorted(tree.methods().items()):
        seen = [kernel for path, found in built.items() if tree.sees(code.part, path)
                for kernel in found]
        lines.append(entry(name, code, seen))
    git = ["git", "-C", str(root)]
    changed = output_of(*git, "status", "--porcelain", "--untracked-files=no")
    text = TEMPLATE.format(commit=output_of(*git, "rev-parse", "HEAD"),
                           dirty="true" if changed else "false",
                           common=tree.common(), methods="\n".join(lines))
    if not output.exists() or output.read_text() != text:
        output.write_text(text)


if __name__ == "__main__":
    main()
