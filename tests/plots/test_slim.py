"""Figures of a report without what no one sees."""
from retensor.report.slim import slim


def slimmed(tmp_path, text):
    figure = tmp_path / "a.svg"
    figure.write_text(text)
    slim(figure)
    return figure.read_text()


def test_slim_figures_name_a_look_once(tmp_path):
    use = '<use xlink:href="#p" x="1.5" y="2" style="fill: none"/>\n'
    assert slimmed(tmp_path, '<svg><style>*{a: b}</style><path id="p" style="fill: #000000"/>\n'
                   f'<g id="q">\n{2 * use}</g>\n</svg>') == (
        '<svg><style>*{a: b}.s1{fill:none}</style><path id="n0" style="fill: #000000"/>'
        + 2 * '<use xlink:href="#n0" x="1.5" y="2" class="s1"/>' + "</svg>")
    mark = '<path id="p" d="M 0 0 L 0 3" style="fill: none"/>'
    assert slimmed(tmp_path, f'<svg><style></style>{mark}{2 * use}</svg>') == (
        '<svg><style>.s0{fill:none}</style><path id="n0" d="m0 0v3" class="s0"/>'
        + 2 * '<use xlink:href="#n0" x="1.5" y="2"/>' + "</svg>")
    text = '<text style="fill: red" x="{}">{}</text>\n'
    texts = "".join(text.format(k, k) for k in range(3))
    assert slimmed(tmp_path, f"<svg><style></style>\n{texts}</svg>") == (
        '<svg><style>.s0{fill:red}</style><g class="s0"><text x="0">0</text><text x="1">1</text>'
        '<text x="2">2</text></g></svg>')


def test_slim_figures_have_marks_of_one_look_at_the_corners_of_a_path(tmp_path):
    marks = "".join(f'<use xlink:href="#p" x="{k}" y="{9 - k}.5" style="fill: red"/>\n'
                    for k in range(4))
    found = slimmed(tmp_path, '<svg>\n<style></style>\n<path id="p" d="M 1 2 C 1 1 2 2 3 3"/>\n'
                    f"{marks}</svg>")
    assert '<path d="m0 9.5 1-1 1-1 1-1" class="m0"/>' in found
    assert 'marker:url(#m0)' in found and found.count("<use") == 1


def test_slim_figures_tell_steps_of_lines(tmp_path):
    path = '<path d="M 1 2 L 3.5 2 L 3 4 L 3 4 L 2.25 1.125 z M -1 0.5 L 0 -0.25 {}"/>\n'
    assert slimmed(tmp_path, f"<svg>\n{path.format('z')}</svg>") == (
        '<svg><path d="m1 2h2.5l-.5 2h0l-.75-2.88zm-2-1.5 1-.75z"/></svg>')
    assert "L3.5 2L3 4" in slimmed(tmp_path, f"<svg>\n{path.format('Q 1 2 3 4')}</svg>")


def test_slim_figures_draw_an_axis_by_kind(tmp_path):
    def group(name, inner):
        return f'<g id="{name}">\n{inner}</g>\n'

    ticks = "".join(group(f"xtick_{k}", group(f"line2d_{k}", f'<path d="M {k} 0 L {k} 9"/>\n')
                          + group("line2d_9", f'<use xlink:href="#p" x="{k}" y="9"/>\n')
                          + group("text_1", f"<text>{k}</text>\n")) for k in range(2))
    indented = group("matplotlib.axis_1", ticks)
    lines, depth = [], 0
    for line in indented.splitlines():
        depth -= line == "</g>"
        lines.append(" " * depth + line)
        depth += line.startswith("<g")
    found = slimmed(tmp_path, "<svg>\n" + "\n".join(lines) + "\n</svg>")
    assert found == (
        '<svg><path d="m0 0v9"/><path d="m1 0v9"/><use xlink:href="#n0" x="0" y="9"/>'
        '<use xlink:href="#n0" x="1" y="9"/><text>0</text><text>1</text></svg>')
    odd = [*lines[:-1], " <rect/>", lines[-1]]
    found = slimmed(tmp_path, "<svg>\n" + "\n".join(odd) + "\n</svg>")
    assert found.index("<text>0") < found.index('d="m1 0')


def test_slim_figures_draw_at_once_what_looks_the_same(tmp_path):
    def drawn(style, close=""):
        parts = "".join(f'<g>\n<g clip-path="url(#c)">\n<path d="M 0 {k} L 9 {k}{close}" '
                        f'style="{style}"/>\n</g>\n</g>\n' for k in range(3))
        return slimmed(tmp_path, f'<svg>\n<style></style>\n{parts}</svg>\n')

    assert drawn("fill: none").count("<path") == drawn("fill: none").count("<g") == 1
    assert 'd="m0 0h9m-9 1h9m-9 1h9"' in drawn("fill: none")
    for style, close in (("fill: #112233", ""), ("fill: none; opacity: 0.5", ""),
                         ("fill: none; stroke-dasharray: 1,2", ""), ("fill: none", " z")):
        assert drawn(style, close).count("<path") == 3


def test_slim_figures_look_the_same(tmp_path):
    assert slimmed(tmp_path, '<svg>\n  <!-- a -->\n  <path d="M 1.23456 2 \nL 3 4.5" '
                   'scale="0.01234"/>\n  <text x="7.891" transform="rotate(-0 1 2)">a  b</text>\n'
                   '  <text transform="rotate(-90 1 2.004)">c</text>\n'
                   '  <text transform="translate(1 2) scale(0.00123)">d</text>\n'
                   '  <text transform="translate(1 2.5)">e</text>\n</svg>\n') == (
        '<svg><path d="m1.23 2 1.77 2.5" scale="0.01234"/><text x="7.89">a  b</text>'
        '<text transform="rotate(-90 1 2)">c</text>'
        '<text transform="translate(1 2) scale(0.00123)">d</text>'
        '<text x="1" y="2.5">e</text></svg>')
