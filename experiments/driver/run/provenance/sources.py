"""Hashes of what a method is made of, independent of files, comments and the order of declarations.

The roots of a method are the declaration that holds its id as text (where several methods share a
class, all of them), and the measuring loop. From there on every name of a declaration that is
visible is followed, whatever it means in its place: too much may be reached, never too little.
Visible are the parts of the tree that include lines lead to from the method's own part.
"""

import hashlib
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from . import declarations as cpp

SOURCES = {".hpp", ".cpp", ".cu", ".cuh", ".h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
LOOP = "measure"  # of the part common/measure
MEASURE = {"method", "machine", "run", "measure"}  # rooms of common/ that see each other: one part
METHOD_ID = re.compile(r'"([a-z][a-z0-9_]*\.(?:cpu|cuda|\{\})(?:\.[a-z0-9_]+)?)"$')
# Folders of common/ with methods, now and before, and what their ids begin with.
HOMES = {"decompose": ("cpd", "tucker"), "cpd": ("cpd",)}
BASE = "Method"  # classes derived from it describe: followed, but their words are not hashed
# What the processes of a distributed method run beside the MTTKRP of each: the folder that answers
# the measuring loop; the file where following begins, and the part by which processes exchange,
# which the program hands on; the parts that it is followed into.
SERVING = Path("experiments/driver/mpi")
SERVES = SERVING / "serve.cpp"
EXCHANGES = ("common", "communicate")
EXCHANGING = {EXCHANGES, ("common", "distribute")}
DISTRIBUTED = ("distributed.cpu", "distributed.cuda")
# Parts and names where following ends: data, problem, parameters, oracle, work model, facts of the
# machine. They are the same for every method, and what they decide stands in the row.
APART = {("common", "io"), ("common", "generate"), ("common", "reference")}
ENDS = {"Problem", "ProblemSpec", "Operation", "Params", "ParamSchema", "ParamSpec", "ParamValue",
        "Method", "MethodSpec", "Support", "Registry", "Work", "work_model", "ValueModel",
        "facts", "DeviceFacts", "available", "memory", "cpu_facts", "core_clock_mhz",
        "sm_clock_mhz", "peak_resident_bytes", "reset_peak_resident", "ErrorMetrics",
        "ErrorAccumulator", "Sha256", "no_cuda", "without_params", "missing_library",
        "library_refusal", "RETENSOR_DEVICE_PART", "DescribedMethod"}
CUDA_SOURCES = {".cu", ".cuh"}


@dataclass
class Part:
    """A part of the tree whose sources see each other: a folder of common/, a baseline, a paper."""

    declarations: list = field(default_factory=list)
    needs: set = field(default_factory=set)  # parts that its include lines name

    def named(self):
        """Declarations by name, what other files do not see by path and name."""
        index = defaultdict(list)
        for declaration in self.declarations:
            names = declaration.names | {declaration.owner} - {""}
            if not names & ENDS:
                for name in names:
                    place = (declaration.path, name) if declaration.local else name
                    index[place].append(declaration)
        return index


@dataclass
class MethodHash:
    """What a row of a method is compared by."""

    source: str    # over all that the method reaches
    host: str      # over what runs on the host
    kernels: set   # (namespace..., name) of the kernels that it can launch
    part: tuple    # where the method stands
    reached: list  # the declarations, for those who want to know why


def part_of(path):
    """The part of a source: ("common", "io"), ("baselines", "blco"), ("papers", "pasta")."""
    folders = path.parts
    if "baselines" in folders:
        at = folders.index("baselines")
        return (("baselines", folders[at + 1]) if len(folders) > at + 2
                else ("baselines of", folders[at - 1]))
    if folders[0] == "common" and folders[1] in MEASURE:
        return ("common", "measure")
    return folders[:2]


def read_tree(root):
    """The parts of a checkout and the names of its namespaces, without tests and without the driver
    but for what distributed methods run.
    """
    parts, namespaces = defaultdict(Part), set()
    for top in ("common", "papers", SERVING):
        for file in sorted((root / top).rglob("*")):
            path = file.relative_to(root)
            if file.suffix not in SOURCES or "tests" in path.parts:
                continue
            text = file.read_text()
            found, opened = cpp.parse(text, str(path))
            part = parts[part_of(path)]
            part.declarations += found
            part.needs |= set(_parts_included(root, path, text)) - {part_of(path)}
            namespaces |= opened
    return parts, namespaces


def _parts_included(root, path, text):
    for name in INCLUDE.findall(text):
        for candidate in (path.parent / name, Path(name)):
            if (root / candidate).is_file():
                yield part_of(candidate)
                break


def ids_in(declaration):
    """The ids that a declaration holds as text, of both backends where it says {} for them."""
    for token in declaration.tokens:
        if (match := METHOD_ID.match(token)):
            for backend in ("cpu", "cuda"):
                yield match.group(1).replace("{}", backend)


def modules_of(part):
    """What ids of the methods of a part may begin with."""
    return HOMES.get(part[-1], (part[-1],))


def method_ids(parts):
    """Every id that a declaration of its module holds as text, with the part where it stands."""
    return {method: name for name, part in sorted(parts.items()) for d in part.declarations
            for method in ids_in(d) if method.split(".")[0] in modules_of(name)}


class Tree:
    """The declarations of a checkout with their relations."""

    def __init__(self, root):
        self.root = Path(root)
        self.parts, self.namespaces = read_tree(self.root)
        for part in self.parts.values():
            for declaration in part.declarations:
                declaration.tokens = cpp.measured(declaration.tokens, self.namespaces)
                declaration.host = cpp.measured(declaration.host, self.namespaces)
                declaration.prepares = declaration.prepares and cpp.measured(
                    declaration.prepares, self.namespaces)
        self.index = {name: part.named() for name, part in self.parts.items()}
        self.descriptors = self._derived_from(BASE)
        self.followed, self.digests = {}, {}  # of declarations that several methods reach

    def _derived_from(self, base):
        """The names of a class and of all that derive from it."""
        derived, before = {base}, 0
        while len(derived) != before:
            before = len(derived)
            for part in self.parts.values():
                for d in part.declarations:
                    if d.bases & derived:
                        derived |= d.names
        return derived

    def visible(self, part):
        """The parts that `part` sees, itself included."""
        seen, ahead = {part}, [part]
        while ahead:
            ahead += (more := self.parts[ahead.pop()].needs - seen)
            seen |= more
        return seen

    def methods(self):
        """The hashes of every method by id, and of every part that is a module by its name."""
        hashes = {method: self.method(method, part)
                  for method, part in method_ids(self.parts).items()}
        for part in self.parts:
            if part[0] in ("papers", "baselines") or part[-1] in HOMES:
                for module in modules_of(part):
                    hashes[module] = self.hashed(part, self.parts[part].declarations)
        if part_of(SERVES) in self.parts:
            hashes |= {method: self.distributed(method) for method in DISTRIBUTED}
        return hashes

    def distributed(self, method):
        """The hash of what the processes of a distributed method run but for their MTTKRP, which
        is another method's. Following ends where programs begin: a decomposition is none of it.
        """
        on_device = ".cuda" in method
        part = part_of(SERVES)
        roots = [d for d in self.parts[part].declarations if d.path == str(SERVES)]
        roots += [d for d in self.parts[EXCHANGES].declarations
                  if on_device or Path(d.path).suffix not in CUDA_SOURCES]
        parts = EXCHANGING | {part} | ({("common", "device")} if on_device else set())
        return self._hash_of(part, roots, [self.index[name] for name in sorted(parts)], on_device)

    def method(self, method, part):
        roots = [d for d in self.parts[part].declarations if method in ids_in(d)]
        return self.hashed(part, roots, roots, on_device=".cuda" in method)

    def hashed(self, part, roots, descriptors=(), on_device=True):
        roots = roots + self.index[("common", "measure")][LOOP]
        describe = {id(d) for d in descriptors}
        visible = (self.visible(part) | {("common", "measure")}) - APART
        indices = [self.index[name] for name in sorted(visible)]
        return self._hash_of(part, roots, indices, on_device, describe)

    def _hash_of(self, part, roots, indices, on_device, describe=frozenset()):
        def describes(d):
            return id(d) in describe or bool(d.bases & self.descriptors)

        def counts(d):
            return not d.described and (on_device or Path(d.path).suffix not in CUDA_SOURCES)

        reached = _reached(roots, indices, counts, lambda d: self._words(d, "tokens"))
        of_host = _reached(roots, indices, counts, lambda d: self._words(d, "host"))

        def alone(d):
            """Whether only the runs that it makes are hashed."""
            return d.prepares is not None and not d.is_class or describes(d)

        return MethodHash(
            source=_digest(self._part_digest(d, "tokens", alone(d)) for d in reached),
            host=_digest(self._part_digest(d, "host", alone(d)) for d in of_host),
            kernels={(*d.namespace, name) for d in reached if d.kernel for name in d.names},
            part=part,
            reached=reached)

    def _words(self, declaration, tokens):
        """The words that are followed from `tokens` or `host` of a declaration."""
        place = id(declaration), tokens
        if place not in self.followed:
            self.followed[place] = _followed(getattr(declaration, tokens))
        return self.followed[place]

    def _part_digest(self, declaration, tokens, alone):
        """The digest of what a method's hash has of a declaration, which many methods reach."""
        place = id(declaration), tokens, alone
        if place not in self.digests:
            kept = declaration.prepares or [] if alone else getattr(declaration, tokens)
            kept = cpp.without_device_lambdas(kept) if tokens == "host" else kept
            self.digests[place] = _text_digest(" ".join(kept))
        return self.digests[place]

    def common(self):
        """Over all of common/ that data and oracles are made by."""
        return _digest(_text_digest(" ".join(d.tokens)) for name, part in self.parts.items()
                       if name[0] == "common" and name[1] not in ("cpd", "decompose", "device")
                       for d in part.declarations)

    def sees(self, part, path):
        """Whether the object at `path` of a build belongs to what `part` sees.

        A library is called after its module; one that is called after none belongs to common/.
        """
        library = Path(path).parent.name.removeprefix("lib")
        modules = {name[-1]: name for name in self.parts if name[0] in ("papers", "baselines")}
        own = max((m for m in modules if library.startswith(m + "_")), key=len, default=None)
        return own is None or modules[own] in self.visible(part)


def _reached(roots, indices, counts, words_of):
    """What the roots lead to; `counts` tells what is followed. Every word is looked up once, and
    once more in each file that has it."""
    reached, ahead, known, known_in = {}, list(roots), set(), defaultdict(set)
    while ahead:
        declaration = ahead.pop()
        if id(declaration) in reached or not (counts(declaration) or declaration in roots):
            continue
        reached[id(declaration)] = declaration
        words = words_of(declaration)
        path = declaration.path
        for index in indices:
            for word in words - known:
                ahead += index.get(word, ())
            for word in words - known_in[path]:
                ahead += index.get((path, word), ())
        known |= words
        known_in[path] |= words
    return list(reached.values())


def _followed(tokens):
    """The words of a declaration but for those that name a member after `.` or `->`."""
    return {t for k, t in enumerate(tokens)
            if cpp.is_word(t) and (k == 0 or tokens[k - 1] not in (".", "->"))}


def _text_digest(text):
    """Empty for an empty text."""
    return text and hashlib.sha256(text.encode()).hexdigest()


def _digest(digests):
    digest = hashlib.sha256()
    for text in sorted(set(digests) - {""}):
        digest.update(text.encode())
    return digest.hexdigest()
