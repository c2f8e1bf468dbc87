#!/usr/bin/env python3
"""Writes a text file as the C++ array kModelLines, so that the library needs no file at run time.

Usage: embed.py TEXT OUTPUT
"""

import sys
from pathlib import Path


def main():
    text, output = Path(sys.argv[1]), Path(sys.argv[2])
    lines = "\n".join(f'    R"json({line})json"' "," for line in text.read_text().splitlines())
    output.write_text("namespace retensor::advise {\n\n"
                      "extern const char* const kModelLines[];\n"
                      f"const char* const kModelLines[] = {{\n{lines}\n    nullptr}};\n\n"
                      "}  // namespace retensor::advise\n")


if __name__ == "__main__":
    main()
