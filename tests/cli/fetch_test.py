"""`retensor dataset fetch` against a server of its own on 127.0.0.1, which can misbehave.

Whatever happens, the final name holds the verified file or does not exist.
"""
import hashlib
import http.server
import json
import os
import re
import resource
import shutil
import ssl
import subprocess
import threading
import time
from pathlib import Path

import pytest

from sweeps import RETENSOR, TENSOR

FETCH = Path(RETENSOR).with_name("retensor-fetch")
needs_fetch = pytest.mark.skipif(not FETCH.exists(), reason="built without libcurl")
# A FROSTT file whose comment makes it long enough to be cut.
BODY = b"# " + b"x" * 300_000 + b"\n" + TENSOR.encode()
ENVIRONMENT = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}


class Handler(http.server.BaseHTTPRequestHandler):
    """The path chooses how the server behaves; `server.asked` lists (path, range, if-range)."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def head(self, status, length, **headers):
        self.send_response(status)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def cut(self):
        """Ends the connection without TLS's farewell, as a broken line does."""
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(2)

    def answer(self, body, tag='"1"', most=None, ranges=True, step=None):
        """The file, or its part from Range on; at most `most` bytes before the line breaks."""
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        start = int(wanted[1]) if wanted and ranges else 0
        if self.headers.get("If-Range", tag) != tag:
            start = 0
        if start >= len(body):
            return self.head(416, 0, Content_Range=f"bytes */{len(body)}")
        extra = {"Content_Range": f"bytes {start}-{len(body) - 1}/{len(body)}"} if start else {}
        self.head(206 if start else 200, len(body) - start, ETag=tag, **extra)
        part = body[start:][:most]
        for at in range(0, len(part), step or len(part)):
            self.wfile.write(part[at:at + (step or len(part))])
            time.sleep(0.01 if step else 0)
        if most is not None and len(body) - start > most:
            self.cut()

    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Range"),
                                  self.headers.get("If-Range")))
        if self.path in self.server.files:
            return self.answer(self.server.files[self.path], self.server.tag)
        times = sum(asked[0] == self.path for asked in self.server.asked)
        getattr(self, self.path.strip("/").split(".")[0], self.missing)(times)

    def good(self, _):
        self.answer(BODY)

    def cuts(self, _):
        self.answer(BODY, most=90_000)

    def slow(self, _):
        self.answer(BODY, step=5_000)

    def rangeless(self, times):
        self.answer(BODY, most=100_000 if times == 1 else None, ranges=False)

    def changing(self, times):
        if times == 1:
            self.answer(b"y" * len(BODY), tag='"0"', most=100_000)
        else:
            self.answer(BODY)

    def busy(self, times):
        self.head(503, 0) if times == 1 else self.answer(BODY)

    def wrong(self, _):
        self.answer(BODY[:-2] + b"7\n")

    def longer(self, _):
        self.answer(BODY + b"\n")

    def shorter(self, _):
        self.answer(BODY[:-1])

    def empty(self, _):
        self.answer(b" ") if self.headers.get("Range") else self.head(200, 0)

    def chunks(self, body):
        self.head(200, None, Transfer_Encoding="chunked")
        for at in range(0, len(body), 50_000):
            chunk = body[at:at + 50_000]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        self.wfile.write(b"0\r\n\r\n")

    def unannounced(self, _):
        self.chunks(BODY)

    def endless(self, _):
        self.chunks(BODY * 20)

    def ends(self, _):
        self.chunks(BODY[:100_000])

    def shifted(self, times):
        if times == 1:
            return self.answer(BODY, most=100_000)
        self.head(206, len(BODY) - 5, Content_Range=f"bytes 5-{len(BODY) - 1}/{len(BODY)}")
        self.wfile.write(BODY[5:])

    def silent(self, _):
        self.head(200, len(BODY))
        self.wfile.write(BODY[:1000])
        self.server.end.wait(30)

    def missing(self, _):
        self.head(404, 0)

    def moved(self, _):
        self.head(302, 0, Location="/good.tns")

    def loop(self, _):
        self.head(302, 0, Location="/loop.tns")

    def plain(self, _):
        self.head(302, 0, Location="http://127.0.0.1:%d/good.tns" % self.server.server_port)

    def local(self, _):
        self.head(302, 0, Location="file:///etc/hostname")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificate")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", "key.pem", "-out", "cert.pem"],
                   cwd=folder, check=True, capture_output=True, timeout=60)
    return folder


@pytest.fixture
def server(certificate):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # broken lines are meant
    server.daemon_threads = True
    server.asked = []
    server.files, server.tag = {}, '"1"'  # what is answered as it stands
    server.end = threading.Event()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server
    server.end.set()
    server.shutdown()
    thread.join()
    server.server_close()


class Client:
    """A registry with one entry per behaviour, and a cache."""

    def __init__(self, folder, port, cacert):
        self.folder, self.cacert = folder, cacert
        self.base = f"https://127.0.0.1:{port}"
        self.sha256 = hashlib.sha256(BODY).hexdigest()

    def out(self, name):
        return self.folder / "cache" / "fetched" / f"{self.sha256[:12]}-{name}.tns"

    def part(self, name):
        return Path(f"{self.out(name)}.part")

    def command(self, action, name, *more):
        entry = {"kind": "real", "form": "tensor", "dims": [4, 3, 2], "nnz": 6, "source": "a test",
                 "licence": "none", "fetch": {"url": f"{self.base}/{name}.tns",
                                              "sha256": self.sha256, "bytes": len(BODY)}}
        registry = self.folder / "registry.yaml"
        registry.write_text(json.dumps({"schema": 1, "datasets": {name: entry}}))
        return [RETENSOR, "dataset", action, name, "--registry", registry,
                "--cache", self.folder / "cache", *more]

    def run(self, action, name, *more, **how):
        return subprocess.run(self.command(action, name, *more), capture_output=True, text=True,
                              timeout=60, env=ENVIRONMENT, **how)

    def fetch(self, name, *more, **how):
        """Fetches, and checks what holds after any call."""
        done = self.run("fetch", name, "--cacert", self.cacert, *more, **how)
        assert done.returncode in (0, 2, 3), done.stderr
        assert self.out(name).exists() == (done.returncode == 0)
        if done.returncode == 0:
            assert done.stdout == f"{self.out(name)}\n"
            assert self.out(name).read_bytes() == BODY
            assert not self.part(name).exists()
        return done


@pytest.fixture
def client(tmp_path, server, certificate):
    return Client(tmp_path, server.server_port, certificate / "cert.pem")


@needs_fetch
def test_a_fetched_file_is_the_data_set(client, server):
    before = client.run("make", "good")
    assert before.returncode == 2 and "retensor dataset fetch good" in before.stderr
    done = client.fetch("good")
    assert "100 % of" in done.stderr and "\r" not in done.stderr
    assert client.run("make", "good").returncode == 0
    assert client.fetch("good").returncode == 0
    assert server.asked == [("/good.tns", None, None)], "a file that is there is not asked for"


@needs_fetch
@pytest.mark.parametrize("name, asked", [
    ("cuts", [None, "bytes=90000-", "bytes=180000-", "bytes=270000-"]),
    ("rangeless", [None, "bytes=100000-"]),
    ("changing", [None, "bytes=100000-"]),
    ("busy", [None, None]),
    ("unannounced", [None]),
    ("moved", [None]),
])
def test_a_file_arrives_over_lines_and_servers_of_all_kinds(client, server, name, asked):
    assert client.fetch(name).returncode == 0
    assert [a[1] for a in server.asked if a[0] == f"/{name}.tns"] == asked
    if name == "changing":
        assert server.asked[1][2] == '"0"'


@needs_fetch
@pytest.mark.parametrize("name, words", [
    ("wrong", "found SHA-256 [0-9a-f]{64}, expected [0-9a-f]{64}"),
    ("longer", f"found {len(BODY) + 1} bytes, expected {len(BODY)}"),
    ("shorter", f"found {len(BODY) - 1} bytes, expected {len(BODY)}"),
    ("empty", f"found 0 bytes, expected {len(BODY)}"),
    ("endless", f"found more than {len(BODY)} bytes"),
    ("ends", f"found 100000 bytes, expected {len(BODY)}"),
    ("shifted", "found a range from 5, expected one from 100000"),
    ("missing", "404"),
    ("loop", "redirects"),
    ("plain", "[Pp]rotocol .?http.? "),
    ("local", "[Pp]rotocol .?file.? "),
])
def test_what_is_not_the_file_is_refused(client, server, name, words):
    done = client.fetch(name)
    assert done.returncode == 2
    assert re.search(words, done.stderr), done.stderr
    assert not client.part(name).exists()
    assert len(server.asked) <= 6
    assert "/good.tns" not in [a[0] for a in server.asked]


@needs_fetch
def test_killed_at_any_moment_it_resumes(client, server):
    kept = 0
    for kill in range(5):
        running = subprocess.Popen(
            [FETCH, "--url", f"{client.base}/slow.tns", "--sha256", client.sha256, "--bytes",
             str(len(BODY)), "--out", client.out("slow"), "--cacert", client.cacert],
            stderr=subprocess.DEVNULL, env=ENVIRONMENT)
        client.out("slow").parent.mkdir(parents=True, exist_ok=True)
        end = time.monotonic() + 20
        while time.monotonic() < end and running.poll() is None:
            if client.part("slow").exists() and client.part("slow").stat().st_size > kept:
                break
            time.sleep(0.002)
        running.kill()
        running.wait()
        if client.out("slow").exists():
            break
        assert not client.part("slow").exists() or client.part("slow").stat().st_size >= kept
        kept = client.part("slow").stat().st_size if client.part("slow").exists() else 0
    assert client.fetch("slow").returncode == 0
    starts = [int(a[1][6:-1]) if a[1] else 0 for a in server.asked]
    assert starts == sorted(starts) and starts[-1] > 0


@needs_fetch
@pytest.mark.parametrize("left, asked", [
    (BODY[:1000], ["bytes=1000-"]),
    (BODY, []),
    (b"z" * 1000, ["bytes=1000-", None]),
    (b"z" * len(BODY), [None]),
    (BODY + b"z", [None]),
])
def test_the_partial_file_of_an_earlier_call(client, server, left, asked):
    client.out("good").parent.mkdir(parents=True)
    client.part("good").write_bytes(left)
    assert client.fetch("good").returncode == 0
    assert [a[1] for a in server.asked] == asked


@needs_fetch
def test_a_damaged_file_is_fetched_anew(client):
    client.out("good").parent.mkdir(parents=True)
    client.out("good").write_bytes(BODY[:-1])
    assert client.fetch("good").returncode == 0


@needs_fetch
def test_an_unknown_certificate_is_refused(client, server):
    done = client.run("fetch", "good")
    assert done.returncode == 2 and "certificate" in done.stderr
    assert not client.out("good").exists() and not server.asked


@needs_fetch
def test_a_dead_server_and_a_silent_one_take_bounded_time_and_keep_what_came(client, server):
    start = time.monotonic()
    done = client.fetch("silent", "--time-limit", "1")
    assert done.returncode == 3 and "1 s are over; 1000 of" in done.stderr
    assert client.part("silent").stat().st_size == 1000
    client.base = "https://127.0.0.1:1"
    done = client.fetch("silent")
    assert done.returncode == 3 and "1000 of" in done.stderr
    assert time.monotonic() - start < 30


@needs_fetch
def test_a_full_disk_keeps_what_was_written(client):
    def small_files_only():
        resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, resource.RLIM_INFINITY))

    # With SIGXFSZ ignored, writing beyond the limit is an error as on a full disk.
    done = client.fetch("good", preexec_fn=small_files_only, restore_signals=False)
    assert done.returncode == 3 and "writing:" in done.stderr
    assert client.part("good").stat().st_size == 120_000
    assert client.fetch("good").returncode == 0


@needs_fetch
def test_two_calls_do_not_mix(client):
    first = subprocess.Popen(client.command("fetch", "slow", "--cacert", client.cacert),
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             env=ENVIRONMENT)
    end = time.monotonic() + 20
    while not client.part("slow").exists() and time.monotonic() < end:
        time.sleep(0.002)
    second = client.run("fetch", "slow", "--cacert", client.cacert)
    assert second.returncode == 3 and "another process" in second.stderr or first.poll() == 0
    assert first.wait(60) == 0
    assert client.out("slow").read_bytes() == BODY


def test_without_the_program_the_message_says_what_to_do(client, tmp_path):
    alone = tmp_path / "alone" / "retensor"
    alone.parent.mkdir()
    shutil.copy(RETENSOR, alone)
    command = client.command("fetch", "good")
    done = subprocess.run([alone, *command[1:]], capture_output=True, text=True, timeout=60,
                          env=ENVIRONMENT)
    assert done.returncode == 3
    assert f"{alone}-fetch isn't there" in done.stderr and "libcurl" in done.stderr


def test_a_set_without_an_address_says_where_it_comes_from(client):
    registry = client.folder / "registry.yaml"
    command = client.command("fetch", "good")
    content = json.loads(registry.read_text())
    del content["datasets"]["good"]["fetch"]
    registry.write_text(json.dumps(content))
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "no address to fetch it from (a test)" in done.stderr
