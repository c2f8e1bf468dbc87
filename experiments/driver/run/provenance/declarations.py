"""C++ and CUDA sources as top-level declarations, told apart by their tokens.

A reader for formatted code, not a compiler: it finds where declarations at namespace level begin
and end, what they are called, and which of their tokens decide what is measured. Comments, blanks,
include lines, namespaces, linkage words, attributes and what a `throw` says do not. Neither do
functions that only describe a method (DESCRIPTIONS).
"""

import re
from dataclasses import dataclass, field

TOKEN = re.compile(r"""
    (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)
  | (?P<raw>R"(?P<fence>[^(\s]*)\(.*?\)(?P=fence)")
  | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
  | (?P<char>'(?:\\.|[^'\\\n])+')
  | (?P<number>\.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<mark>::|->|<<<|[^\s\w])
""", re.VERBOSE | re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
WORD = re.compile(r"[A-Za-z_]\w*$")

# Return types of functions that say what a method is called, takes and refuses, and what arithmetic
# its check assumes. A row holds the parameters that came of it.
DESCRIPTIONS = {"Support", "ParamSpec", "ParamSchema", "Precision", "Form", "Method", "MethodSpec"}
# The body of what stands in for the CUDA side in a build without it.
STAND_IN = ["{", "no_cuda", "(", ")", ";", "}"]
# Members that tests call, no run.
CONTRACT = {"check", "to_coo"}
PREPARED = "Prepared"  # in the type that a function returns which makes a run
FORWARD = re.compile(r"\{ return [\w :<>]+ \( (?:\w+ (?:, )?)*\) ; \}$")
LINKAGE = {"inline", "static", "extern"}
CLASS_WORDS = {"class", "struct", "union", "enum"}
# Words before a parenthesis that is not a function's list of parameters.
NO_FUNCTION = {"__launch_bounds__", "alignas", "__align__", "decltype", "noexcept", "requires",
               "__attribute__", "explicit", "__cluster_dims__"}
OPEN, CLOSE = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}


@dataclass
class Declaration:
    """A declaration at namespace level, or a member function that is defined outside its class."""

    names: set
    tokens: list             # of what is measured
    host: list               # the same without code that runs on the device alone
    namespace: tuple = ()
    owner: str = ""          # the class, of a member
    bases: set = field(default_factory=set)  # words in the base clause, of a class
    is_class: bool = False
    kernel: bool = False
    described: bool = False  # only describes a method: not measured
    prepares: list = None    # the bodies of functions in it that make a run
    local: bool = False      # other files do not see it
    path: str = ""


def tokenise(text):
    """Tokens without comments, include lines and attributes; neighbouring strings are joined."""
    result = []
    for match in TOKEN.finditer(text):
        kind, token = match.lastgroup, match.group()
        if kind == "fence":
            kind = "raw"
        if kind == "comment":
            continue
        if kind == "directive":
            token = COMMENT.sub(" ", token.replace("\\\n", " ")).replace("#", "# ", 1)
            token = " ".join(token.split())
            if re.match(r"# (include\b|pragma once)", token):
                continue
        if kind == "string" and result and result[-1].endswith('"') and token.startswith('"'):
            result[-1] = result[-1][:-1] + token[1:]
            continue
        result.append(token)
    return _without_attributes(result)


def _without_attributes(tokens):
    result, i = [], 0
    while i < len(tokens):
        if tokens[i] == "[" and tokens[i + 1:i + 2] == ["["]:
            i = closing(tokens, i) + 1
        else:
            result.append(tokens[i])
            i += 1
    return result


def closing(tokens, i):
    """Where the bracket at `i` is closed (the last token where it is not)."""
    depth = 0
    for k in range(i, len(tokens)):
        if tokens[k] in OPEN:
            depth += 1
        elif tokens[k] in CLOSE:
            depth -= 1
            if depth == 0:
                return k
    return len(tokens) - 1


def _angle(tokens, i):
    """The token after the list of template parameters that opens at `i`."""
    depth = 0
    while i < len(tokens):
        if tokens[i] in OPEN:
            i = closing(tokens, i)
        elif tokens[i] == "<":
            depth += 1
        elif tokens[i] == ">":
            depth -= 1
            if depth == 0:
                return i + 1
        i += 1
    return i


def is_word(token):
    return WORD.match(token) is not None


def parse(text, path=""):
    """The declarations of a source, and the names of the namespaces that it opens."""
    found, namespaces = [], set()
    _scope(tokenise(text), (), found, namespaces)
    for declaration in found:
        declaration.path = path
    return found, namespaces


def _scope(tokens, namespace, found, namespaces, local=False):
    i = 0
    while i < len(tokens):
        token = tokens[i]
        if token.startswith("# "):
            if token.startswith("# define "):
                found.append(_macro(token))
            i += 1
        elif token in (";", "}"):
            i += 1
        elif token == "namespace" or tokens[i:i + 2] == ["inline", "namespace"]:
            i = _namespace(tokens, i, namespace, found, namespaces, local)
        elif token == "extern" and tokens[i + 1:i + 3] == ['"C"', "{"]:
            end = closing(tokens, i + 2)
            _scope(tokens[i + 3:end], namespace, found, namespaces, local)
            i = end + 1
        else:
            end = _end(tokens, i)
            declaration = _declaration(tokens[i:end])
            if declaration:
                declaration.namespace = namespace
                declaration.local = local or tokens[i] == "static"
                found.append(declaration)
            i = end


def _namespace(tokens, i, namespace, found, namespaces, local):
    i += 2 if tokens[i] == "inline" else 1
    names = []
    while tokens[i] not in ("{", "=", ";"):
        if is_word(tokens[i]):
            names.append(tokens[i])
        i += 1
    if tokens[i] != "{":  # another name of one
        namespaces.update(names)
        return tokens.index(";", i) + 1
    namespaces.update(names)
    end = closing(tokens, i)
    _scope(tokens[i + 1:end], (*namespace, *names), found, namespaces, local or not names)
    return end + 1


def _macro(token):
    name = re.match(r"# define (\w+)", token).group(1)
    body = tokenise(token[len("# define "):])
    return Declaration({name}, body, body)


def _end(tokens, i):
    """The token after the declaration that begins at `i`."""
    head, function, initialisers = None, False, False
    while tokens[i:i + 1] == ["template"] and tokens[i + 1:i + 2] == ["<"]:
        i = _angle(tokens, i + 1)
    while i < len(tokens):
        token = tokens[i]
        if token == ";":
            return i + 1
        if token in CLASS_WORDS and head is None:
            head = token
        if token == "=" and not function:
            head = "value"
        if token == ":" and function:
            initialisers = True
        if token == "(" and head is None and i and tokens[i - 1] not in NO_FUNCTION:
            function = True
        if token in OPEN:
            end = closing(tokens, i)
            if token == "{" and function and not (
                    initialisers and (is_word(tokens[i - 1]) or tokens[i - 1] == ">")):
                return end + 1
            i = end
        elif token not in CLASS_WORDS and token == "operator" and head is None:
            function = True
            i = tokens.index("(", i + (3 if tokens[i + 1] == "(" else 1)) - 1
        i += 1
    return i


def _declaration(tokens):
    """None for what declares nothing of its own: prototypes, using-declarations, assertions."""
    first = tokens[0]
    if first in ("static_assert", "friend") or tokens[:2] == ["using", "namespace"]:
        return None
    if first == "typedef":
        return Declaration({t for t in tokens if is_word(t)}, tokens, tokens)
    if first == "using":
        return Declaration({tokens[1]}, tokens, tokens) if "=" in tokens else None
    start = 0
    while tokens[start] == "template" and tokens[start + 1] == "<":
        start = _angle(tokens, start + 1)
    tokens = tokens[:start] + _without_linkage(tokens[start:])
    if set(tokens[start:start + 2]) & CLASS_WORDS:
        return _class(tokens, start)
    at = _parameters(tokens, start)
    return _variable(tokens, start) if at is None else _function(tokens, start, at)


def _without_linkage(tokens):
    result, i = [], 0
    while i < len(tokens) and tokens[i] not in ("(", "{", "=", ";"):
        if tokens[i] not in LINKAGE:
            result.append(tokens[i])
        i += 1
    return result + tokens[i:]


def _class(tokens, start):
    body = next((k for k in range(start, len(tokens)) if tokens[k] == "{"), None)
    if body is None:
        return None  # a forward declaration, or an explicit instantiation
    head = tokens[start:body]
    enum = head[0] == "enum"
    colon = next((k for k, t in enumerate(head) if t == ":"), len(head))
    names = _class_name(head[:colon])
    end = closing(tokens, body)
    if enum:
        if head[1:2] not in (["class"], ["struct"]):
            names |= {t for t in tokens[body:end] if is_word(t)}
        return Declaration(names, tokens, tokens)
    kept, host, prepares = _members(tokens[body + 1:end])
    front = tokens[:body + 1]
    return Declaration(names, front + kept + tokens[end:], front + host + tokens[end:],
                       bases={t for t in head[colon:] if is_word(t)}, is_class=True,
                       prepares=prepares)


def _class_name(head):
    """The name before a specialisation's arguments; alignments and `final` are no names."""
    k, name = 1, ""
    while k < len(head) and head[k] != "<":
        if head[k] in ("alignas", "__align__"):
            k = closing(head, k + 1)
        elif is_word(head[k]) and head[k] != "final":
            name = head[k]
        k += 1
    return {name}


def _members(tokens):
    """The tokens of a class's members that are measured, of those that the host runs, and the
    bodies of those that make a run.
    """
    kept, host, prepares, i = [], [], [], 0
    while i < len(tokens):
        if tokens[i].startswith("# "):
            kept.append(tokens[i])
            host.append(tokens[i])
            i += 1
            continue
        if tokens[i] in ("public", "private", "protected") and tokens[i + 1:i + 2] == [":"]:
            i += 2
            continue
        end = max(_end(tokens, i), i + 1)
        member = tokens[i:end]
        i = end
        at = _parameters(member, 0)
        head = member if at is None else member[:at]
        if at is not None and (DESCRIPTIONS & set(head) or head[-1] in CONTRACT):
            continue
        if at is not None and PREPARED in head:
            prepares += prepared(member[closing(member, at):])
        kept += member
        if at is None or not _device_alone(head):
            host += member
    return kept, host, prepares


def _device_alone(head):
    return "__global__" in head or ("__device__" in head and "__host__" not in head)


def _parameters(tokens, start):
    """Where a function's list of parameters opens; None for what is no function."""
    i = start
    while i < len(tokens):
        token = tokens[i]
        if token in ("=", ";", "{"):
            return None
        if token == "operator":
            return tokens.index("(", i + (3 if tokens[i + 1] == "(" else 1))
        if token == "(":
            if i > start and tokens[i - 1] not in NO_FUNCTION and tokens[i + 1:i + 2] != ["*"]:
                return i
            i = closing(tokens, i)
        elif token == "[":
            i = closing(tokens, i)
        i += 1
    return None


def _function(tokens, start, at):
    after = closing(tokens, at)
    if tokens[-1] == ";" and "{" not in tokens[after:] and "=" not in tokens[at:after]:
        return None  # a prototype without default arguments
    head = tokens[start:at]
    owner, name = _qualified(head)
    if PREPARED in head:
        return Declaration({name}, tokens, tokens, owner=owner, prepares=prepared(tokens[after:]),
                           described=tokens[-6:] == STAND_IN)
    found = Declaration({name}, tokens, tokens, owner=owner, kernel="__global__" in head,
                        described=_describes(head, owner, name) or tokens[-6:] == STAND_IN)
    if _device_alone(head):
        found.host = []
    return found


def prepared(tokens):
    """The body of a function that makes a run, by whatever name and in whatever class; none of one
    that only hands its arguments on.
    """
    body = tokens[tokens.index("{"):] if "{" in tokens else []
    return [] if FORWARD.match(" ".join(body)) else body


def _describes(head, owner, name):
    return (bool(DESCRIPTIONS & set(head)) or name.startswith("register_")
            or (owner != "" and name in CONTRACT))


def _qualified(head):
    """Class and name of `Type Class<T>::name`; the class is empty for a free function."""
    if "operator" in head:
        place = head.index("operator")
        name = "operator"
    else:
        place = max((k for k, t in enumerate(head) if is_word(t)), default=0)
        name = head[place]
    k = place - 1
    if k >= 0 and head[k] == "~":
        k -= 1
    if k < 1 or head[k] != "::":
        return "", name
    k -= 1
    if head[k] == ">":
        depth = 0
        while k >= 0:
            depth += {">": 1, "<": -1}.get(head[k], 0)
            k -= 1
            if depth == 0:
                break
    return (head[k] if k >= 0 and is_word(head[k]) else ""), name


def _variable(tokens, start):
    names, i = set(), start
    while i < len(tokens):
        if tokens[i] in ("=", "{", ";", ",", "[") and i > start and is_word(tokens[i - 1]):
            names.add(tokens[i - 1])
        if tokens[i] in OPEN:
            i = closing(tokens, i)
        i += 1
    return Declaration(names, tokens, tokens)


def measured(tokens, namespaces):
    """Tokens without the names of namespaces before `::` and without what a `throw` says."""
    result, i = [], 0
    while i < len(tokens):
        if tokens[i] in namespaces and tokens[i + 1:i + 2] == ["::"]:
            i += 2
        elif tokens[i] == "throw":
            result.append("throw")
            i = _expression_end(tokens, i + 1)
        else:
            result.append(tokens[i])
            i += 1
    return result


def _expression_end(tokens, i):
    while i < len(tokens) and tokens[i] not in (";", ",") and tokens[i] not in CLOSE:
        i = closing(tokens, i) + 1 if tokens[i] in OPEN else i + 1
    return i


def without_device_lambdas(tokens):
    """Tokens with the bodies of lambdas that run on the device alone left out."""
    result, i = [], 0
    while i < len(tokens):
        result.append(tokens[i])
        if tokens[i] == "__device__" and result[-2:-1] == ["]"] and "{" in tokens[i:]:
            i = closing(tokens, tokens.index("{", i))
        i += 1
    return result
