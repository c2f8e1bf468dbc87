#!/usr/bin/env python3
"""notebook.py OUT: converts plots/docs/notebook.py, a notebook in percent format, executes it and
writes OUT.ipynb and OUT.html.

The text is the source, so that changes can be read and the lint checks hold; converting it takes a
few lines with nbformat. It runs in the root of the source tree, with the package of that tree. Exit
code 1 when a cell fails.
"""
import base64
import html
import os
import re
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "plots/docs/notebook.py"
SECONDS = 120  # for a cell


def main(out, source=SOURCE):
    """Convert and execute; returns the exit code."""
    notebook = converted(Path(source).read_text(encoding="utf-8"))
    os.environ["PYTHONPATH"] = str(ROOT / "plots")
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # it only warns
    client = NotebookClient(notebook, timeout=SECONDS, kernel_name="python3",
                            resources={"metadata": {"path": str(ROOT)}})
    try:
        client.execute()
    except CellExecutionError as error:
        print(error, file=sys.stderr)
        return 1
    out = Path(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, out.with_suffix(".ipynb"))
    out.with_suffix(".html").write_text(page(notebook), encoding="utf-8")
    return 0


def converted(text):
    """The notebook of a script whose cells begin with `# %%`."""
    cells = []
    for part in re.split(r"^# %%", text, flags=re.MULTILINE)[1:]:
        head, body = part.split("\n", 1)
        if "[markdown]" in head:
            text = re.sub(r"^# ?", "", body, flags=re.MULTILINE)
            cells.append(nbformat.v4.new_markdown_cell(text.strip()))
        else:
            cells.append(nbformat.v4.new_code_cell(body.strip()))
    return nbformat.v4.new_notebook(cells=cells)


def page(notebook):
    """One HTML page that needs nothing else: text, code and what the cells returned."""
    import markdown
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(markdown.markdown(cell.source))
            continue
        parts.append(f"<pre class=code>{html.escape(cell.source)}</pre>")
        parts += map(shown, cell.outputs)
    style = ("body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
             "pre{background:#f4f4f4;padding:.6em;overflow-x:auto}div{overflow-x:auto}"
             "table{border-collapse:collapse}td,th{padding:.2em .6em;border-bottom:1px solid #ddd;"
             "text-align:right}img{max-width:100%}")
    return ('<!doctype html><html lang="en"><meta charset="utf-8">'
            '<title>ReTensor: notebook</title><meta name="viewport" content="width=device-width">'
            f"<style>{style}</style><body>{''.join(parts)}</body></html>\n")


def shown(output):
    """HTML of what a cell returned."""
    if output.output_type == "stream":
        return f"<pre>{html.escape(output.text)}</pre>"
    data = output.get("data", {})
    if "image/png" in data:
        picture = base64.b64encode(base64.b64decode(data["image/png"])).decode()
        return f'<img alt="figure of the cell above" src="data:image/png;base64,{picture}">'
    if "text/html" in data:
        return f"<div>{data['text/html']}</div>"
    return f"<pre>{html.escape(data.get('text/plain', ''))}</pre>"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: ci/notebook.py OUT")
    sys.exit(main(sys.argv[1]))
