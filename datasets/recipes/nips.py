"""Words of the papers of NIPS 1 to 17 as a tensor: paper x author x word x year.

Reads nips_1-17.mat (Globerson, Chechik, Pereira and Tishby 2007), a file of MATLAB with the sparse
matrices `docs_authors`, papers x authors, and `counts`, words x papers, and with the papers' names,
`docs_names`, as YYYY/name. A word of a paper has an entry for each of its authors, and its count
there as the value. Papers, authors and words keep their numbers; the years that occur ascend.

FROSTT's `nips` was made of this file; it has two papers and three authors fewer, and how its maker
chose them is not stated. Needs NumPy and SciPy.

    nips.py --out FILE.tns --input nips_1-17.mat|FOLDER
"""
import io
import re
import sys

import bulk
import recipe

FILE = "nips_1-17.mat"
NAMES = ["docs_authors", "counts", "docs_names"]
YEAR = re.compile(r"([0-9]{4})/.", re.ASCII)
LARGEST = 1 << 30  # bytes of the file


def variables(source):
    """The three variables of the file; throws where it has others."""
    try:
        import scipy.io
        import scipy.sparse
    except ImportError:
        raise recipe.Malformed(f"{FILE} is read with SciPy, which is not installed") from None
    with recipe.opened(source, FILE) as stream:
        content = recipe.whole(stream, LARGEST)
    try:
        found = scipy.io.loadmat(io.BytesIO(content), variable_names=NAMES)
    except Exception as error:  # of any kind where bytes are wrong
        raise recipe.Malformed(f"{source}: no file of MATLAB 5 ({error})") from None
    for name in NAMES[:2]:
        if not scipy.sparse.issparse(found.get(name)):
            raise recipe.Malformed(f"{source}: expected a sparse matrix {name}")
    if "docs_names" not in found:
        raise recipe.Malformed(f"{source}: expected names, docs_names")
    return found["docs_authors"].tocsr(), found["counts"].tocsc(), found["docs_names"].ravel()


def years_of(source, names):
    years = []
    for number, name in enumerate(names, 1):
        text = "".join(map(str, name.ravel())) if hasattr(name, "ravel") else str(name)
        year = YEAR.match(text)
        if not year:
            raise recipe.Malformed(f"{source}: docs_names, {number}: found '{text[:60]}', expected "
                                   "YYYY/name")
        years.append(int(year[1]))
    return years


def convert(arguments):
    authors, counts, names = variables(arguments.input)
    papers = len(names)
    if authors.shape[0] != papers or counts.shape[1] != papers:
        raise recipe.Malformed(f"{arguments.input}: found {papers} names, {authors.shape[0]} rows "
                               f"of docs_authors and {counts.shape[1]} columns of counts")
    years = years_of(arguments.input, names)
    places = {year: place for place, year in enumerate(sorted(set(years)))}
    dims = (papers, authors.shape[1], counts.shape[0], max(len(places), 1))
    return (dims, entries_of(authors, counts, [places[year] for year in years]),
            "NIPS 1 to 17: paper x author x word x year; value: count of the word in the paper")


def entries_of(authors, counts, years):
    import numpy
    for matrix in (authors, counts):
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        matrix.sort_indices()
    by = [authors.indices[authors.indptr[p]:authors.indptr[p + 1]] for p in range(len(years))]
    of = [slice(counts.indptr[p], counts.indptr[p + 1]) for p in range(len(years))]
    sizes = [len(by[p]) * (of[p].stop - of[p].start) for p in range(len(years))]
    columns = [numpy.repeat(range(len(years)), sizes),
               joined(numpy.repeat(b, s.stop - s.start) for b, s in zip(by, of)),
               joined(numpy.tile(counts.indices[s], len(b)) for b, s in zip(by, of)),
               numpy.repeat(years, sizes)]
    values = joined(numpy.tile(counts.data[s], len(b)) for b, s in zip(by, of))
    return bulk.Entries([column.astype(numpy.int64) for column in columns],
                        values.astype(numpy.int64 if (values == values.round()).all() else float))


def joined(parts):
    import numpy
    return numpy.concatenate([numpy.zeros(0), *parts])


def add_options(parser):
    pass


if __name__ == "__main__":
    sys.exit(recipe.main(__doc__, convert, add_options))
