"""The addresses of the registry against a server of its own that stands for the public ones.

A mirror has the hosts as folders: so every form of address, archive and file is tried as it stands
in the registry, with small content of the same shape, right and wrong in one way.
"""
import gzip
import hashlib
import http.server
import io
import json
import os
import re
import select
import shutil
import socket
import subprocess
import tarfile
import threading
import zipfile

import pytest
import yaml

from fetch_test import ENVIRONMENT, certificate, needs_fetch, server  # noqa: F401
from sweeps import RETENSOR, ROOT

pytestmark = needs_fetch
REGISTRY = {name: entry for path in (ROOT / "datasets").glob("*.yaml") if path.stem != "checksums"
            for name, entry in yaml.safe_load(path.read_text())["datasets"].items()}
TNS = "1 1 1 2\n2 3 1 0.5\n4 1 2 -1\n"
DIMS, NNZ = [4, 3, 2], 3


def tar(members, mode="w:gz"):
    """An archive of (name, bytes)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, content in members:
            item = tarfile.TarInfo(name)
            item.size = len(content)
            archive.addfile(item, io.BytesIO(content))
    return out.getvalue()


def with_sidecar(text):
    return tar([("./._t.tns", b"\0\5\26\7 resource"), ("./t.tns", text.encode())])


def packed(text):
    return gzip.compress(text.encode(), mtime=0)


def zipped(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


def from_zero(text):
    lines = [line.split() for line in text.splitlines()]
    return "".join(" ".join([*(str(int(w) - 1) for w in words[:-1]), words[-1]]) + "\n"
                   for words in lines)


def matrix(name, text="%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 3\n2 1 0.25\n"):
    return tar([(f"{name}/{name}_b.mtx", b"%%MatrixMarket matrix array real general\n1 1\n1\n"),
                (f"{name}/{name}.mtx", text.encode())])


class Public:
    """A cache, a mirror and a registry of one entry with the keys of a public one."""

    def __init__(self, folder, server, cacert):  # noqa: F811
        self.folder, self.server, self.cacert = folder, server, cacert
        self.cache = folder / "cache"
        self.environment = {**ENVIRONMENT, "RETENSOR_MIRROR":
                            f"https://127.0.0.1:{server.server_port}/mirror"}

    def registry(self, name, dims=DIMS, nnz=NNZ, **keys):
        """The entry `name` as the registry has it, with other sizes."""
        entry = {key: value for key, value in REGISTRY[name].items() if key != "paper"}
        entry = {**entry, "dims": dims, "nnz": nnz, **keys}
        (self.folder / "registry.yaml").write_text(json.dumps({"schema": 1, "datasets":
                                                               {name: entry}}))

    def serve(self, url, content):
        self.server.files["/mirror/" + url.removeprefix("https://")] = content

    def run(self, action, *arguments, **environment):
        return subprocess.run(
            [RETENSOR, "dataset", action, *arguments, "--registry", self.folder / "registry.yaml",
             "--cache", self.cache, *(["--cacert", self.cacert] if action == "fetch" else [])],
            capture_output=True, text=True, timeout=60, env={**self.environment, **environment})

    def tensor(self, name):
        """Lines of the tensor, without the header's two."""
        out = self.folder / "out.tns"
        done = self.run("make", name, out)
        assert done.returncode == 0, done.stderr
        return out.read_text().splitlines()[2:]


@pytest.fixture
def public(tmp_path, server, certificate):  # noqa: F811
    return Public(tmp_path, server, certificate / "cert.pem")


def url_of(name):
    return REGISTRY[name]["fetch"]["url"]


def test_every_address_of_the_registry_has_a_form_that_is_tried_here():
    tried = [r"frostt_data/.*\.tns\.gz$", r"frostt-tensors\..*\.tns\.gz$",
             r"_\{01\.\.\d\d\}\.tar\.gz$",
             r"ml-1m\.zip$", r"hetrec2011-.*\.zip$", r"dlmc\.tar\.gz$", r"100k_a\.csv$",
             r"nips_1-17\.mat$"]
    for name, entry in REGISTRY.items():
        if "fetch" in entry:
            assert sum(bool(re.search(form, entry["fetch"]["url"])) for form in tried) == 1, name
            assert entry["source"] and entry["licence"] and entry["cite"], name


FORMS = [
    ("nell2", packed(TNS), {}),
    ("darpa", with_sidecar(TNS), {}),
    ("fb-m", with_sidecar(TNS), {}),
    ("lanl2", with_sidecar(from_zero(TNS)), {}),
    ("lanl2", with_sidecar(TNS), {}),
    ("lanl2", packed(from_zero(TNS)), {}),
    ("matmul_4-3-2", packed("1 1 4 2\n3 1 2 0.5\n1 2 1 -1\n"), {}),
]


@pytest.mark.parametrize("name, content, keys", FORMS)
def test_files_of_frostt_arrive(public, name, content, keys):
    public.registry(name, **keys)
    public.serve(url_of(name), content)
    done = public.run("fetch", name)
    assert done.returncode == 0, done.stderr
    assert "dims, nonzeros and indices are as published" in done.stderr
    expected = ["4 1 1 2", "2 3 1 0.5", "1 1 2 -1"] if name.startswith("matmul") else \
        TNS.splitlines()
    assert public.tensor(name) == expected
    records = yaml.safe_load((public.cache / "fetched" / "checksums.yaml").read_text())
    assert [(r["url"], r["sha256"], r["bytes"]) for r in records["checksums"]] == [
        (url_of(name), hashlib.sha256(content).hexdigest(), len(content))]


@pytest.mark.parametrize("name, content, keys, words", [
    ("nell2", packed(TNS), {"nnz": 4}, "found 3 nonzeros, the registry states 4"),
    ("nell2", packed(TNS + "5 1 1 1\n"), {}, "4:1: found '5', expected an index of mode 1"),
    ("nell2", packed(from_zero(TNS)), {}, "expected an index of mode 1 of 3, from 1 to 4"),
    ("nell2", packed(TNS)[:-9], {}, "a complete gzip archive"),
    ("nell2", packed(TNS + "1 1 1 3\n"), {"nnz": 4}, "1, 1, 1"),
    ("darpa", tar([("._t.tns", b"x")]), {}, "0 files that could be the tensor"),
    ("darpa", tar([("a.tns", TNS.encode()), ("b.tns", TNS.encode())]), {}, "2 files that could be"),
    ("darpa", gzip.compress(tar([("t.tns", b"x" * 2000)], "w:")[:1500]), {}, "a member cut short"),
    ("lanl2", with_sidecar(from_zero(TNS) + "4 0 0 1\n"), {"nnz": 4},
     "index 4 of mode 1 in a file that counts from zero, expected at most 3"),
    ("lanl2", with_sidecar(TNS + "5 1 1 1\n"), {"nnz": 4}, "expected an index of mode 1"),
    ("matmul_4-3-2", packed("1 1 5 2\n3 1 2 0.5\n1 2 1 -1\n"), {}, "the registry states 4 x 3 x 2"),
])
def test_files_of_frostt_that_are_wrong_in_one_way_are_refused(public, name, content, keys, words):
    public.registry(name, **keys)
    public.serve(url_of(name), content)
    done = public.run("fetch", name)
    assert done.returncode == 2 and words in done.stderr, done.stderr
    assert done.stdout == "" and not (public.cache / "fetched" / "checksums.yaml").exists()
    assert not list((public.cache / "tensors").glob("*.tnsb"))


def serve_stack(public, **replaced):
    for number in range(1, 58):
        name = f"oscil_dcop_{number:02}"
        public.serve(f"https://sparse.tamu.edu/MM/Sandia/{name}.tar.gz",
                     replaced.get(name) or matrix(name))
    public.registry("oscil_dcop", [2, 2, 57], 2 * 57)


def test_a_stack_of_numbered_archives_arrives(public):
    serve_stack(public)
    done = public.run("fetch", "oscil_dcop")
    assert done.returncode == 0, done.stderr
    assert public.tensor("oscil_dcop")[:2] == ["1 1 1 3", "1 1 2 3"]
    assert len(list((public.cache / "fetched").glob("*-oscil_dcop/*.tar.gz"))) == 57
    again = public.run("fetch", "oscil_dcop")
    assert again.returncode == 0 and len(public.server.asked) == 57


@pytest.mark.parametrize("archive, words", [
    (matrix("oscil_dcop_09", "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 3\n"),
     "rows and columns"),
    (matrix("oscil_dcop_90"), "found 0 files oscil_dcop_09/oscil_dcop_09.mtx"),
    (b"not an archive", "oscil_dcop_09.tar.gz"),
])
def test_a_stack_with_one_wrong_archive_is_refused(public, archive, words):
    serve_stack(public, oscil_dcop_09=archive)
    done = public.run("fetch", "oscil_dcop")
    assert done.returncode == 2 and words in done.stderr, done.stderr


def test_a_stack_with_a_missing_archive_is_continued_by_the_next_call(public):
    serve_stack(public)
    path = "/mirror/sparse.tamu.edu/MM/Sandia/oscil_dcop_30.tar.gz"
    content = public.server.files.pop(path)
    done = public.run("fetch", "oscil_dcop")
    assert done.returncode == 2 and "404" in done.stderr
    assert "not fetched" in public.run("make", "oscil_dcop").stderr
    public.server.files[path] = content
    assert public.run("fetch", "oscil_dcop").returncode == 0
    assert sum(asked[0] == path for asked in public.server.asked) == 2


RECORDS = "2::3::5::978300760\n1::2::1::978302109\n1::3::5::978301968\n"
TAGS = "userID\tartistID\ttagID\tday\n2\t52\t13\t1\n2\t52\t15\t1\n9\t7\t13\t1\n"
LAYER = REGISTRY["dlmc-rn50-0.98-final_dense"]["make"]["layer"]
VIEWS = "7,100,anna,0,3\n9,100,anna,0,1\n9,200,ben,2,4\n"


def papers(names):
    """nips_1-17.mat with three papers of three authors and two words, as bytes."""
    numpy, matlab, sparse = map(pytest.importorskip, ("numpy", "scipy.io", "scipy.sparse"))
    authors = sparse.csc_matrix([[1.0, 1, 0], [0, 0, 1], [0, 0, 0]])
    counts = sparse.csc_matrix([[2.0, 0, 1], [3, 1, 0]])
    cells = numpy.empty((1, len(names)), dtype=object)
    cells[0] = names
    out = io.BytesIO()
    matlab.savemat(out, {"docs_authors": authors, "counts": counts, "docs_names": cells})
    return out.getvalue()


@pytest.mark.parametrize("name, content, sizes, expected", [
    ("ratings", zipped({"ml-1m/ratings.dat": RECORDS, "ml-1m/README": "x"}), ([2, 3, 5], 3),
     ["1 2 1 1", "1 3 5 1", "2 3 5 1"]),
    ("hetrec-lastfm", zipped({"user_taggedartists.dat": TAGS, "tags.dat": "x"}), ([2, 2, "?"], 3),
     ["1 2 1 1", "1 2 2 1", "2 1 1 1"]),
    ("dlmc-rn50-0.98-final_dense",
     tar([("dlmc/rn50/other.smtx", b"x"), (f"dlmc/{LAYER}.smtx", b"2, 3, 3\n0 1 3\n2 0 1\n")]),
     ([2, 3], 3), ["1 3 1", "2 1 1", "2 2 1"]),
    ("twitch-100k", VIEWS.encode(), ([2, *"????"], 0),
     ["1 1 1 1 4 1", "2 1 1 1 2 1", "2 2 2 3 5 1"]),
])
def test_collections_arrive(public, name, content, sizes, expected):
    fetch = {**REGISTRY[name]["fetch"]}
    if "sha256" in fetch:
        fetch["sha256"] = hashlib.sha256(content).hexdigest()
    public.registry(name, *sizes, fetch=fetch)
    public.serve(url_of(name), content)
    done = public.run("fetch", name)
    assert done.returncode == 0, done.stderr
    assert public.tensor(name) == expected


def test_a_layer_is_found_by_its_path_in_an_unpacked_archive(public, tmp_path):
    name = "dlmc-rn50-0.98-final_dense"
    public.registry(name, [2, 3], 3, fetch=REGISTRY[name]["fetch"])
    for sparsity, text in (("0.98", "2, 3, 3\n0 1 3\n2 0 1\n"), ("0.7", "1, 1, 0\n0 0\n\n")):
        path = tmp_path / "dlmc" / f"{LAYER.replace('0.98', sparsity)}.smtx"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    done = public.run("make", name, "--input", tmp_path / "dlmc")
    assert done.returncode == 0, done.stderr
    assert public.tensor(name) == ["1 3 1", "2 1 1", "2 2 1"]


@pytest.mark.parametrize("name, content, sizes, words", [
    ("ratings", zipped({"ml-1m/ratings.dat": RECORDS.replace("::5::", "::6::")}), ([2, 3, 5], 3),
     "ratings to 5"),
    ("ratings", zipped({"ml-1m/movies.dat": RECORDS}), ([2, 3, 5], 3), "found 0 files ratings.dat"),
    ("hetrec-lastfm", zipped({"user_taggedartists.dat": TAGS}), ([3, 2, "?"], 3), "states 3 x"),
    ("hetrec-lastfm", zipped({"user_taggedartists.dat": TAGS}), ([2, 2, "?"], 4), "states 4"),
    ("dlmc-rn50-0.98-final_dense", tar([("dlmc/a.smtx", b"1, 1, 0\n0 0\n\n")]), ([1, 1], 0),
     "holds no layer"),
    ("dlmc-rn50-0.98-final_dense", tar([(f"dlmc/{LAYER}.smtx", b"2, 3, 3\n0 4 3\n2 0 1\n")]),
     ([2, 3], 3), "row starts"),
    ("twitch-100k", b"7,100,anna,0\n", ([1, *"????"], 0), "expected user,stream,streamer"),
])
def test_collections_that_are_wrong_in_one_way_are_refused(public, name, content, sizes, words):
    fetch = {"url": url_of(name), "sha256": hashlib.sha256(content).hexdigest()}
    public.registry(name, *sizes, fetch=fetch)
    public.serve(url_of(name), content)
    fetched = public.run("fetch", name)
    made = public.run("make", name)
    assert fetched.returncode == 0 and made.returncode == 2, made.stderr
    assert words in made.stderr


def test_papers_of_nips_arrive(public):
    fetch = {"url": url_of("nips-papers")}
    public.registry("nips-papers", [3, 3, 2, "?"], 0, fetch=fetch)
    public.serve(url_of("nips-papers"), papers(["2003/AA01", "1987/1", "2003/AA02"]))
    done = public.run("fetch", "nips-papers")
    assert done.returncode == 0, done.stderr
    assert public.tensor("nips-papers") == ["1 1 1 2 2", "1 1 2 2 3", "1 2 1 2 2", "1 2 2 2 3",
                                            "2 3 2 1 1"]


@pytest.mark.parametrize("content, words", [
    (lambda: b"MATLAB of another version", "no file of MATLAB 5"),
    (lambda: papers(["2003/AA01", "1987/1"]), "found 2 names, 3 rows"),
    (lambda: papers(["2003/AA01", "nips/1", "2003/AA02"]), "docs_names, 2: found 'nips/1'"),
])
def test_papers_of_nips_that_are_wrong_in_one_way_are_refused(public, content, words):
    fetch = {"url": url_of("nips-papers")}
    public.registry("nips-papers", [3, 3, 2, "?"], 0, fetch=fetch)
    public.serve(url_of("nips-papers"), content())
    assert public.run("fetch", "nips-papers").returncode in (0, 2)
    made = public.run("make", "nips-papers")
    assert made.returncode == 2 and words in made.stderr, made.stderr


def test_a_published_checksum_is_insisted_on(public):
    public.registry("ratings", [2, 3, 5], 3)
    public.serve(url_of("ratings"), zipped({"ratings.dat": RECORDS}))
    done = public.run("fetch", "ratings")
    assert done.returncode == 2
    assert f"expected {REGISTRY['ratings']['fetch']['sha256']}" in done.stderr


def fetched(public, content=packed(TNS)):
    public.registry("nell2")
    public.serve(url_of("nell2"), content)
    done = public.run("fetch", "nell2")
    assert done.returncode == 0, done.stderr
    return public.cache / "fetched" / next(
        p.name for p in (public.cache / "fetched").iterdir() if p.name.endswith(".gz"))


def test_from_the_second_fetch_on_the_recorded_checksum_is_compared(public):
    file = fetched(public)
    file.unlink()
    other = packed(TNS.replace("0.5", "0.25"))
    public.serve(url_of("nell2"), other)
    done = public.run("fetch", "nell2")
    assert done.returncode == 2 and not file.exists()
    assert "recorded by the first fetch here" in done.stderr and "--new-checksum" in done.stderr
    taken = public.run("fetch", "nell2", "--new-checksum")
    assert taken.returncode == 0, taken.stderr
    assert "2 3 1 0.25" in public.tensor("nell2")
    assert hashlib.sha256(other).hexdigest() in (file.parent / "checksums.yaml").read_text()


def test_a_fetched_file_is_compared_with_its_record_whenever_it_is_used(public):
    file = fetched(public)
    shutil.rmtree(public.cache / "tensors")
    file.write_bytes(packed(TNS.replace("0.5", "0.25")))
    done = public.run("make", "nell2")
    assert done.returncode == 2
    assert "found SHA-256" in done.stderr or "bytes, expected" in done.stderr
    assert "fetch it again" in done.stderr


def contribute(public, *digests):
    lines = [{"url": url_of("nell2"), "sha256": digest, "bytes": len(packed(TNS)),
              "by": f"user {i}"}
             for i, digest in enumerate(digests)]
    (public.folder / "checksums.yaml").write_text(json.dumps({"schema": 1, "checksums": lines}))


def test_a_contributed_checksum_takes_the_place_of_the_first_look(public):
    contribute(public, hashlib.sha256(packed(TNS)).hexdigest())
    fetched(public)
    assert not (public.cache / "fetched" / "checksums.yaml").exists()
    contribute(public, "0" * 64)
    shutil.rmtree(public.cache)
    done = public.run("fetch", "nell2")
    assert done.returncode == 2 and "recorded by user 0" in done.stderr


def test_contributed_checksums_that_contradict_each_other_are_named(public):
    contribute(public, hashlib.sha256(packed(TNS)).hexdigest(), "0" * 64)
    public.registry("nell2")
    public.serve(url_of("nell2"), packed(TNS))
    done = public.run("fetch", "nell2")
    assert done.returncode == 0
    assert "records contradict each other" in done.stderr and "by user 1" in done.stderr
    contribute(public, "1" * 64, "0" * 64)
    done = public.run("fetch", "nell2")
    assert done.returncode == 2 and "by user 0" in done.stderr and "by user 1" in done.stderr


def test_a_shared_cache_is_read_and_never_written(public):
    fetched(public)
    shared = public.folder / "shared"
    public.cache.rename(shared)
    before = sorted((p, p.stat().st_mtime_ns) for p in shared.rglob("*"))
    asked = len(public.server.asked)
    done = public.run("fetch", "nell2", RETENSOR_SHARED_CACHE=str(shared))
    assert done.returncode == 0 and str(shared) in done.stdout
    (next((shared / "tensors").iterdir())).unlink()
    done = public.run("make", "nell2", RETENSOR_SHARED_CACHE=str(shared))
    assert done.returncode == 0 and done.stdout.startswith(str(public.cache)), done.stderr
    assert len(public.server.asked) == asked
    left = {p for p, _ in before if p.suffix != ".tnsb"}
    assert left == {p for p in shared.rglob("*")}


def test_sizes_and_disk_space_are_told_first(public):
    public.registry("nell2", paper={"pasta": {"id": "r2"}}, nnz=10**15)
    done = public.run("fetch", "--paper", "pasta", "--dry-run")
    assert done.returncode == 0 and "about" in done.stderr and "free" in done.stderr
    done = public.run("fetch", "--paper", "pasta")
    assert done.returncode == 3 and "nothing was fetched" in done.stderr
    assert not public.server.asked
    done = public.run("fetch", "--paper", "nobody")
    assert done.returncode == 2 and "the registry quotes pasta" in done.stderr


def test_one_that_fails_does_not_stop_the_others(public):
    entries = {name: {k: v for k, v in REGISTRY[name].items() if k != "paper"} for name in
               ("nell1", "nell2")}
    for entry in entries.values():
        entry.update(dims=DIMS, nnz=NNZ)
    (public.folder / "registry.yaml").write_text(json.dumps({"schema": 1, "datasets": entries}))
    public.serve(url_of("nell2"), packed(TNS))
    done = public.run("fetch", "nell-1", "nell-2")
    assert done.returncode == 2 and "404" in done.stderr
    assert len(done.stdout.splitlines()) == 1 and "nell-2.tns.gz" in done.stdout


def test_a_mirror_is_named_by_option_and_needs_https(public):
    public.registry("nell2")
    public.serve(url_of("nell2"), packed(TNS))
    mirror = public.environment.pop("RETENSOR_MIRROR")
    done = public.run("fetch", "nell2", "--mirror", mirror.replace("https", "http"))
    assert done.returncode == 2 and "begins with https://" in done.stderr
    assert public.run("fetch", "nell2", "--mirror", mirror + "/").returncode == 0


def test_a_cut_file_of_unknown_checksum_is_resumed_only_where_it_is_the_same_version(public):
    name, content = "nell2", packed(TNS + "# " + os.urandom(40_000).hex() + "\n")
    public.registry(name)
    public.serve(url_of(name), content)
    file = public.cache / "fetched" / f"{hashlib.sha256(url_of(name).encode()).hexdigest()[:12]}-" \
                                      f"{url_of(name).rsplit('/', 1)[1]}"
    file.parent.mkdir(parents=True)
    part, mark = file.with_name(file.name + ".part"), file.with_name(file.name + ".part.mark")
    part.write_bytes(content[:1000])
    mark.write_text('"1"')
    assert public.run("fetch", name).returncode == 0
    file.unlink()
    (file.parent / "checksums.yaml").unlink()
    part.write_bytes(b"z" * 1000)
    mark.write_text('"0"')
    assert public.run("fetch", name).returncode == 0
    file.unlink()
    (file.parent / "checksums.yaml").unlink()
    part.write_bytes(b"z" * 1000)
    assert public.run("fetch", name).returncode == 0
    assert [a[1] for a in public.server.asked] == ["bytes=1000-", "bytes=1000-", None]
    assert file.read_bytes() == content and not mark.exists()


class Proxy(http.server.BaseHTTPRequestHandler):
    """Passes bytes on, as a proxy does for https."""

    def log_message(self, *_):
        pass

    def do_CONNECT(self):
        self.server.asked.append(self.path)
        host, port = self.path.split(":")
        with socket.create_connection((host, int(port))) as other:
            self.send_response(200)
            self.end_headers()
            ends = {self.connection: other, other: self.connection}
            while True:
                for end in select.select(list(ends), [], [])[0]:
                    data = end.recv(1 << 16)
                    if not data:
                        return
                    ends[end].sendall(data)


def test_a_proxy_of_the_environment_is_taken(public):
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    proxy.asked, proxy.daemon_threads = [], True
    thread = threading.Thread(target=proxy.serve_forever, args=(0.05,))
    thread.start()
    public.environment["https_proxy"] = f"http://127.0.0.1:{proxy.server_port}"
    try:
        fetched(public)
    finally:
        proxy.shutdown()
        thread.join()
        proxy.server_close()
    assert proxy.asked == [f"127.0.0.1:{public.server.server_port}"]
