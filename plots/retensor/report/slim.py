"""SVG files of matplotlib without what no one sees: a report has more than a hundred."""
import re
from collections import Counter
from itertools import groupby

UNSEEN = re.compile(r'<!--.*?-->|<!DOCTYPE[^>]*>| transform="rotate\(-?0 [^)]*\)"', re.DOTALL)
ABOUT = re.compile(r"<metadata>(?:.*<dc:description>(.*)</dc:description>)?.*</metadata>",
                   re.DOTALL)
GROUP = r'^( *)<g id="(?:{})_\d+">\n(.*?)^\1</g>\n'
AXIS, OF_AXIS = (re.compile(GROUP.format(names), re.DOTALL | re.MULTILINE)
                 for names in (r"matplotlib\.axis", "line2d|text"))
TICK = re.compile(r'\s*(?:<g id="[xy]tick_\d+">|</g>)\s*')
LINE = re.compile(r'<path d="(M[^"z]*)" class="([^"]*)"/>')
MARK = re.compile(r'<use (xlink:href="#[^"]*") x="([^"]*)" y="([^"]*)"( class="s\d+")?/>')
TEXT = re.compile(r'<text( class="(s\d+)")[^>]*>[^<]*</text>')
STRAIGHT = re.compile(r' d="(M[-MLz\d. ]*)"')
REFERENCES = re.compile(r'(?:(?<=href="#)|(?<=url\(#))[\w-]+')
PLACES = re.compile(r' (?:d|x|y|width|height|transform)="(?![^"]*(?:scale|matrix))[^"]*"')
FRACTION = re.compile(r"\d+\.\d+(?!\d*pt)")  # the whole figure keeps its size
BLANKS = re.compile(r'\s*([MLCQz"])\s*')  # beside the letter of a step


def slim(path):
    """Leave out of an SVG file what no one sees: comments, indentation, turns by nothing, metadata
    but for title and description, names that nothing refers to, groups that say nothing or the
    same as the one before, and digits of positions below a hundredth of a point. Looks
    that occur twice have a class, lines and marks of one look are one path, and names are short."""
    text = AXIS.sub(_by_kind, UNSEEN.sub("", path.read_text(encoding="utf-8")))
    text = ABOUT.sub(lambda found: f"<desc>{found[1]}</desc>" if found[1] else "", text)
    text = PLACES.sub(_shorter, _short_names(_said_once(_with_classes(text))))
    text = re.sub(r'(<text[^>]*) transform="translate\((\S+) (\S+)\)"', r'\1 x="\2" y="\3"', text)
    tags = _joined_groups(re.split(r"(?<=>)\s+(?=<)", text.strip()))
    steady = _steady(tags)
    text = "".join(_joined_texts(_joined_marks(_joined_lines(tags, steady)), steady))
    path.write_text(STRAIGHT.sub(_relative, text), encoding="utf-8")


def _by_kind(axis):
    """An axis with the lines of its grid first, then its ticks, then its texts: none covers
    another, and those of one look follow each other."""
    if TICK.sub("", OF_AXIS.sub("", axis[2])):
        return axis[0]
    parts = [part[0] for part in OF_AXIS.finditer(axis[2])]
    return "".join(sorted(parts, key=lambda part: ("<text" in part, "<use" in part)))


def _joined_groups(lines):
    """Lines of a tag each without groups that say nothing; neighbours that say the same are one."""
    kept, stack = [], []
    for line in lines:
        if line == "<g/>":
            continue
        if line.startswith(("<g>", "<g ")):
            stack.append(line)
            if line == "<g>":
                continue
            if kept[-1] == ("</g>", line):
                kept.pop()
                continue
        kept.append(("</g>", stack.pop()) if line == "</g>" else (line, None))
        if kept[-1] == ("</g>", "<g>"):
            kept.pop()
    return [line for line, _ in kept]


def _steady(tags):
    """The rules of classes that look the same whether their parts are drawn one by one or as one:
    nothing shines through, no dashes."""
    rules = re.findall(r"\.(s\d+){([^}]*)}", "".join(tags[:40]))
    return {name: rule for name, rule in rules if "opacity" not in rule and "dash" not in rule}


def _joined_lines(tags, steady):
    """Lines that follow each other and look the same are one path."""
    kept, before = [], None
    for tag in tags:
        found = LINE.fullmatch(tag)
        look = found and "fill:none" in steady.get(found[2].split()[0], "") and found[2]
        if look and look == before:
            kept[-1] = kept[-1].replace('" class', found[1] + '" class')
        else:
            kept.append(tag)
        before = look
    return kept


def _joined_marks(tags):
    """Marks that follow each other and look the same stand at the corners of one path."""
    markers, kept = {}, []
    for look, run in _runs(tags, MARK, lambda found: found[1] + (found[4] or "")):
        if look:
            name = markers.setdefault(look, f"m{len(markers)}")
            places = " ".join(f"{found[2]} {found[3]}" for found in map(MARK.fullmatch, run))
            run = [f'<path d="M{places}" class="{name}"/>']
        kept += run
    if not markers:
        return kept
    rules = "".join(f".{name}{{fill:none;marker:url(#{name})}}" for name in markers.values())
    shapes = "".join(f'<marker id="{name}"><use {look}/></marker>'
                     for look, name in markers.items())
    return [*kept[:-1], f"<defs><style>marker{{overflow:visible}}{rules}</style>{shapes}</defs>",
            kept[-1]]


def _joined_texts(tags, steady):
    """Texts that follow each other and look the same are a group that has their class."""
    for look, run in _runs(tags, TEXT, lambda found: found[1] if found[2] in steady else ""):
        yield "".join(run) if not look else f"<g{look}>{''.join(run).replace(look, '')}</g>"


def _runs(tags, pattern, look_of):
    """Each tag by itself, with no look; three and more of a pattern that look the same as one."""
    def look_of_tag(tag):
        found = pattern.fullmatch(tag)
        return found and look_of(found)

    for look, run in groupby(tags, look_of_tag):
        run = list(run)
        if look and len(run) > 2:
            yield look, run
        else:
            yield from (("", [tag]) for tag in run)


def _with_classes(text):
    looks = Counter(re.findall(r' style="([^"]*)"', text))
    often = {look: f"s{index}" for index, (look, count) in enumerate(looks.items())
             if count > 1 and "</style>" in text}
    text = re.sub(r' style="([^"]*)"', lambda found: f' class="{often[found[1]]}"'
                  if found[1] in often else found[0], text)
    clips = {}
    text = re.sub(r' clip-path="([^"]*)" class="([^"]*)"', lambda found: (
        f' class="{found[2]} {clips.setdefault(found[1], f"c{len(clips)}")}"'), text)
    rules = "".join(f".{name}{{{re.sub('(?<=[;:]) ', '', look)}}}" for look, name in often.items())
    rules += "".join(f".{name}{{clip-path:{clip}}}" for clip, name in clips.items())
    return text.replace("</style>", rules + "</style>", 1)


def _said_once(text):
    """A mark has the look of the part that it shows, and need not repeat it."""
    looks = dict(re.findall(r'<path id="([^"]*)"[^>]* class="([^"]*)"', text))
    return re.sub(r'(<use xlink:href="#([^"]*)"[^>]*) class="([^"]*)"',
                  lambda found: found[1 if looks.get(found[2]) == found[3] else 0], text)


def _short_names(text):
    """Names of parts that something refers to, by number; others go."""
    named = REFERENCES.findall(text)
    numbers = {name: f"n{index}" for index, name in enumerate(dict.fromkeys(named))}
    text = re.sub(r' id="([^"]*)"', lambda found: f' id="{numbers[found[1]]}"'
                  if found[1] in numbers else "", text)
    return REFERENCES.sub(lambda found: numbers[found[0]], text)


def _shorter(place):
    name, _, text = place[0].partition("=")
    text = FRACTION.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), text)
    text = BLANKS.sub(r"\1", " ".join(text.split()))
    return f"{name}={text}"


def _relative(path):
    """A path of straight lines with each step told from the place before, in hundredths exact."""
    x = y = 0
    steps, start = [], (0, 0)
    for letter, text in re.findall("([MLz])([^MLz]*)", path[1]):
        numbers = [round(100 * float(number)) for number in text.split()]
        for index, place in enumerate(zip(numbers[::2], numbers[1::2])):
            steps.append(_step("m" if letter == "M" and not index else "l",
                               place[0] - x, place[1] - y))
            x, y = place
            start = start if steps[-1][0] != "m" else place
        if letter == "z":
            steps.append("z")
            x, y = start
    # A letter that says the same as the one before is left out; after a move, lines are meant.
    text = re.sub(r"(?<=[ml])([^a-z]*)l", lambda found: found[1] + " ", "".join(steps))
    return f' d="{text.replace(" -", "-")}"'


def _step(letter, across, down):
    if letter == "l" and not (across and down):
        return f"v{_hundredths(down)}" if down else f"h{_hundredths(across)}"
    return f"{letter}{_hundredths(across)} {_hundredths(down)}"


def _hundredths(number):
    return re.sub(r"^(-?)0(?=\.)", r"\1", f"{number / 100:.2f}".rstrip("0").rstrip("."))
