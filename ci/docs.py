#!/usr/bin/env python3
"""docs.py BUILD OUT: builds the documentation site into a folder.

Pages of plots/docs are written by hand, threats and promises in SECURITY.md; those of the reference
come from the program of BUILD (help, methods, JSON Schema), from the docstrings of the Python
package and from the C header.
MkDocs builds all of them, and a link that leads nowhere is an error. The notebook is executed and
stands beside them.
"""
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import notebook

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "plots"))
SCHEMAS = ("registry", "recipes", "claims", "findings", "artifacts")


def main(build, out):
    """Execute the notebook and write the site; returns the exit code of what failed, or 0."""
    build, out = Path(build).resolve(), Path(out).resolve()
    os.environ.setdefault("RETENSOR", str(build / "experiments/driver/retensor"))
    os.environ.setdefault("RETENSOR_LIBRARY", str(build / "common/c_api/libretensor.so.1"))
    with tempfile.TemporaryDirectory() as folder:
        if code := notebook.main(Path(folder) / "notebook"):
            return code
        return build_site(ROOT / "plots/docs", Path(folder), out)


def build_site(pages, executed, out):
    """The site of a folder of pages, with the reference and an executed notebook; returns MkDocs'
    exit code."""
    with tempfile.TemporaryDirectory() as folder:
        docs = Path(folder) / "docs"
        shutil.copytree(pages, docs, ignore=shutil.ignore_patterns("*.py"))
        for suffix in ("html", "ipynb"):
            shutil.copy2(executed / f"notebook.{suffix}", docs)
        (docs / "explanation/security.md").write_text(security_page(), encoding="utf-8")
        write_reference(docs / "reference",
                        lambda *words: output(os.environ["RETENSOR"], *words))
        shutil.copy2(ROOT / "plots/mkdocs.yml", folder)
        code = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict",
                               "--site-dir", out], cwd=folder, check=False).returncode
    for font in (out / "fonts").glob("fontawesome-webfont.*"):
        if font.suffix != ".woff2":  # every browser of today takes this one
            font.unlink()
    (out / "fonts" / "FontAwesome.otf").unlink(missing_ok=True)
    return code


def output(program, *words):
    return subprocess.run([program, *words], cwd=ROOT, check=True, text=True,
                          capture_output=True).stdout


def security_page():
    """SECURITY.md without its links into the tree, which the site does not hold."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    return re.sub(r"\[([^\]]*)\]\((?!https?:)[^)]*\)", r"`\1`", text)


def write_reference(folder, retensor):
    """The pages that are generated; `retensor` runs the program and returns what it prints."""
    folder.mkdir()
    pages = {"commands": commands(retensor), "methods": methods(retensor),
             "specs": schema_section("# Specs", "spec", retensor),
             "files": "# Other files\n\n" + "\n".join(
                 schema_section(f"## {kind}", kind, retensor) for kind in SCHEMAS),
             "python": python_page(), "c": c_page()}
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    shutil.copy2(ROOT / "experiments/schema/README.md", folder / "formats.md")


def commands(retensor):
    overview = retensor("--help")
    names = re.findall(r"^  ([a-z]+)  +\S", overview, re.MULTILINE)
    sections = [f"## {name}\n\n```text\n{retensor(name, '--help')}```\n" for name in names]
    return f"# Commands\n\n```text\n{overview}```\n\n" + "\n".join(sections)


def methods(retensor):
    known = json.loads(retensor("list", "methods", "--json"))
    lines = ["# Methods", "", "`<paper or baseline>.<backend>.<variant>`", "",
             "| id | operations | what |", "|---|---|---|"]
    for method in known:
        anchor = method["id"].replace(".", "")
        lines.append(f"| [`{method['id']}`](#{anchor}) | {', '.join(method['operations'])} | "
                     f"{cell(method['summary'])} |")
    for method in known:
        lines += ["", f"## {method['id']}", "", "```text", retensor("show", method["id"]).rstrip(),
                  "```"]
    return "\n".join(lines) + "\n"


def schema_section(heading, kind, retensor):
    """Tables of the keys of a file, one for each map in it, a level below the heading."""
    below = heading.split()[0] + "#"
    schema = json.loads(retensor("schema", kind))
    tables = dict(maps_of(kind, schema))
    for name, part in schema.get("$defs", {}).items():
        tables.update(maps_of(name, part))
    lines = [heading, "", f"`retensor schema {kind}` prints the JSON Schema of these tables, "
             "with which editors complete and check files.", ""]
    for name, (properties, required) in tables.items():
        lines += [f"{below} {name}", "", "| key | value | |", "|---|---|---|"]
        lines += [f"| `{key}` | {cell(kind_of(part))} | {'required' if key in required else ''} |"
                  for key, part in properties.items()]
        lines.append("")
    return "\n".join(lines)


def forms(schema):
    """The schemas that a value may follow: where there is a choice, each of its branches."""
    branches = [schema[way] for way in ("then", "else") if way in schema]
    branches += [part for way in ("anyOf", "oneOf") for part in schema.get(way, ())]
    return [form for branch in branches for form in forms(branch)] or [schema]


def maps_of(name, schema):
    """(name, (properties, keys that every form requires)) of a schema's maps, the outermost
    first."""
    known = forms(schema)
    properties = {key: part for form in known for key, part in form.get("properties", {}).items()}
    if properties:
        required = set.intersection(*(set(form.get("required", ())) for form in known))
        yield name, (properties, required)
    for key, part in properties.items():
        yield from maps_of(f"{name}.{key}", part)
    for form in known:
        if isinstance(form.get("items"), dict):
            yield from maps_of(name, form["items"])
        if isinstance(form.get("additionalProperties"), dict):
            yield from maps_of(f"{name}.NAME", form["additionalProperties"])


def kind_of(schema):
    """What a value may be, in words."""
    known = list(dict.fromkeys(map(words_of, forms(schema))))
    plain = ", or ".join(words for words in known if not words.startswith("list of "))
    # A value or a list of such.
    return ", or ".join("a list" if words == list_of(plain) else words for words in known)


def list_of(words):
    return f"list of {words}".replace("of a map", "of maps")


def words_of(schema):
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"a map: [{name}](#{name})"
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    types = schema.get("type", "")
    if types == "array":
        return list_of(kind_of(schema.get("items", {})))
    told = schema.get("description", "")
    if types == "object":
        return "a map"
    if " " in told or not isinstance(types, str):
        return told if " " in told else "text"
    limits = " to ".join(str(schema[limit]) for limit in ("minimum", "maximum") if limit in schema)
    names = {"string": "text", "boolean": "true or false", "integer": "whole number"}
    return ", ".join(filter(None, [names.get(types, types), limits]))


def python_page():
    import retensor
    lines = ["# Python package", "", inspect.getdoc(retensor), ""]
    for name in retensor.__all__:
        member = getattr(retensor, name)
        if inspect.isclass(member):
            lines += [f"## {name}", "", text_of(member), ""]
            lines += [f"- `{name}.{part}{signature(function)}`: {text_of(function)}"
                      for part, function in vars(member).items()
                      if not part.startswith("_") and callable(getattr(member, part))]
            lines.append("")
        else:
            lines += [f"## {name}", "", f"`retensor.{name}{signature(member)}`", "",
                      text_of(member), ""]
    return "\n".join(lines)


def text_of(member):
    """A docstring as Markdown of one paragraph a blank line."""
    return re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.getdoc(member) or "")


def signature(function):
    """The parameters of a function or method as a caller writes them."""
    parameters = inspect.signature(getattr(function, "__func__", function)).parameters
    shown = ", ".join(str(parameter) for name, parameter in parameters.items()
                      if name not in ("self", "cls"))
    return re.sub(r"<class '[^']*\b(\w+)'>", r"\1", f"({shown})")


def c_page():
    calls, methods = ((ROOT / "common/c_api" / name).read_text(encoding="utf-8")
                      for name in ("retensor.h", "retensor_method.h"))
    return ("# C interface\n\n`pkg-config --cflags --libs retensor` after `meson install`. "
            "`tests/cli/install_program.c` is a whole program.\n\n```c\n" + calls + "```\n\n"
            "## Methods in a library\n\nWhat [external code](../how-to/foreign-code.md) "
            "defines.\n\n```c\n" + methods + "```\n")


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: ci/docs.py BUILD OUT")
    sys.exit(main(*sys.argv[1:]))
