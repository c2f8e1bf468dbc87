"""The words of verdicts, in the order and with the explanation that all pages share."""

# What a claim comes to, in the order of bars and tables.
OUTCOMES = {
    "holds": "rows of this project agree with the published value",
    "undecided": "the interval of the measurement includes both answers",
    "does not hold": "rows of this project disagree with it",
    "fitted": "a stand-in was fitted to the value, so that it says nothing",
    "contradicts itself": "the paper's own equations or numbers exclude the value",
    "not tested": "no row measures it; the reason is given"}

# Verdicts: the outcome says whether the value was met, the word on what.
VERDICTS = {
    "reproduced": "holds, on the paper's data",
    "consistent": "holds, on other real data, a stand-in or generated data",
    "transfers": "holds, for a ratio of times on another GPU or processor than the paper's",
    "deviates": "does not hold, on the paper's data",
    "inconsistent": "does not hold, on other real data, a stand-in or generated data",
    "does not transfer": "does not hold, for a ratio of times on another GPU or processor",
    **{word: OUTCOMES[word] for word in ("undecided", "fitted", "contradicts itself",
                                         "not tested")}}

# What a claim asks for. A test could have gone the other way; set-up is read back.
ASKS = {
    "measurement": "a quantity that the code could have got otherwise: time, stored bytes, error",
    "property": "a stated property of a format or an algorithm, checked on data",
    "setting": "a setting of the paper, read back from the spec",
    "definition": "a formula or a data set's size, read back"}
SET_UP = ("setting", "definition")

KINDS = {"SET": "set-up", "DATA": "data set", "EQ": "equation", "TAB": "cell of a table",
         "FIG": "figure", "NUM": "number in the text", "ALG": "algorithm",
         "QUAL": "statement on an order or a trend", "DER": "derived from the paper's numbers"}


def outcome(verdict):
    """The outcome of a verdict: its word where that says neither yes nor no."""
    return {True: "holds", False: "does not hold"}.get(verdict["holds"], verdict["verdict"])


def style_class(name):
    """The class of an outcome in style.css."""
    return name.replace(" ", "-")
