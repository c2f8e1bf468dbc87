"""What the program looks like to a person: help, suggestions, completion, man page, colours."""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import termios

import pytest

from sweeps import RETENSOR, ROOT, at_terminal


def call(*args, code=0, **environment):
    done = subprocess.run([RETENSOR, *args], cwd=ROOT, text=True, capture_output=True, timeout=60,
                          env={**os.environ, **environment})
    assert done.returncode == code, done.stdout + done.stderr
    return done


def command_names():
    return re.findall(r"^  ([a-z]+) +\w", call("--help").stdout, re.MULTILINE)


COMMANDS = command_names()


def options_of(command):
    """The long options that the help of a command shows."""
    return set(re.findall(r"--([a-z][a-z-]*)", call(command, "--help").stdout.split("Options:")[1]
                          .split("Example:")[0]))


FEW_ROWS = str(ROOT / "experiments/results/cpu/tca_spmm-fig4.jsonl")


def test_help_of_a_command_is_its_help():
    assert {"bench", "cp", "plan", "help", "man", "completion"} <= set(COMMANDS)
    for command in ("plan", "cp", "help"):
        assert call("help", command).stdout == call(command, "--help").stdout
    assert call("help").stdout == call("--help").stdout
    assert "unknown command 'plam'; did you mean 'plan'?" in call("help", "plam", code=2).stderr


@pytest.mark.parametrize("args, suggested", [
    (["show", "cpd"], "cpd.cpu.als"), (["show", "pasta.cpu.cooo"], "pasta.cpu.coo"),
    (["show", "zzzz"], None), (["plann"], "plan"), (["wordnet"], None),
    (["list", "method"], "methods"), (["plan", "--wiht", "x"], "--with"),
    (["schema", "claim"], "claims"),
    (["verdict", "--rows", FEW_ROWS, "--verdict", "xyzzy"], None),
])
def test_only_what_may_have_been_meant_is_suggested(args, suggested):
    message = call(*args, code=2).stderr
    assert re.findall(r"did you mean '([^']*)'\?", message) == ([suggested] if suggested else [])


@pytest.mark.parametrize("command", COMMANDS)
def test_json_is_printed_or_refused_with_the_reason(command):
    if "json" in options_of(command):
        return
    message = call(command, "--json", code=2).stderr
    assert message.startswith(f"retensor: {command}: there is no --json: ")


def test_json_describes_methods_and_data_sets():
    shown = json.loads(call("show", "hlsto.cpu", "--json").stdout)
    assert [problem["orders"] for problem in shown["problems"]] == [[3, 4, 5], [3, 4, 5]]
    assert shown["problems"][0]["types"] == ["f32"] and shown["runs_here"]
    listed = {entry["name"]: entry for entry in json.loads(
        call("list", "datasets", "--json").stdout)}
    assert listed["wordnet"]["dims"]
    assert json.loads(call("list", "experiments", "--json").stdout)[0]["path"]


def test_methods_tell_what_they_take_and_where_they_run():
    table = call("list", "methods").stdout
    assert table.splitlines()[0].split() == ["method", "here", "operations", "orders", "types",
                                             "summary"]
    row = next(line for line in table.splitlines() if line.startswith("hlsto.cpu "))
    assert row.split()[1:6] == ["yes", "mttkrp,", "ttm_chain", "3-5", "f32"]
    methods = json.loads(call("list", "methods", "--json").stdout)
    takes_mttkrp = {m["id"] for m in methods if {"mttkrp", "mttkrp_all"} & set(m["operations"])}
    for backend in ("cpu", "cuda"):
        als, = (m for m in methods if m["id"] == f"cpd.{backend}.als")
        offered = next(p["choices"] for p in als["params"] if p["name"] == "mttkrp")
        assert set(offered) == {m for m in takes_mttkrp if m.split(".")[1] == backend}
    assert "tca_spmm.cpu" not in call("show", "cpd.cpu.als").stdout


def completions(*words):
    """What bash offers for the last word."""
    line = " ".join(f"'{word}'" for word in ("retensor", *words))
    script = (f'source <("$1" completion bash); PATH="$(dirname "$1"):$PATH"; COMP_WORDS=({line}); '
              f'COMP_CWORD={len(words)}; _retensor; printf "%s\\n" "${{COMPREPLY[@]}}"')
    done = subprocess.run(["bash", "-c", script, "bash", RETENSOR], cwd=ROOT, text=True,
                          capture_output=True, timeout=60)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return set(done.stdout.split())


def test_bash_completes_commands_options_and_values():
    assert completions("pl") == {"plan", "plot"}
    for command in ("run", "bench", "verdict"):
        assert completions(command, "--") == {"--" + option for option in options_of(command)}
    assert completions("plan", "--with", "") == {"quick", "device", "full"}
    assert completions("show", "cpd.") == {"cpd.cpu.als", "cpd.cuda.als"}
    assert completions("bench", "wordn") >= {"wordnet"}
    assert completions("bench", "--operation", "mtt") == {"mttkrp", "mttkrp_all"}
    assert completions("verdict", "pas") == {"pasta"}
    assert completions("list", "me") == {"methods"}
    assert completions("help", "com") == {"compare", "completion"}
    assert completions("dataset", "ma") == {"make"}
    assert completions("dataset", "make", "wordnet-g") == {"wordnet-glosses"}
    assert completions("verdict", "--kind", "Q") == {"QUAL"}
    assert completions("verdict", "--verdict", "dev") == {"deviates"}
    assert completions("bundle", "tca") == {"tca_spmm"}
    assert completions("plan", "experiments/pasta/fig4") == {"experiments/pasta/fig4.yaml"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_scripts_of_other_shells_name_every_option(shell):
    script = call("completion", shell).stdout
    for command in COMMANDS:
        assert command in script
        for option in options_of(command):
            assert (f"'--{option}[" if shell == "zsh" else f"-l {option}") in script


def fish_offers(line):
    """What fish offers for the last word of a line."""
    script = 'source (retensor completion fish | psub); complete -C "$argv[1]"'
    done = subprocess.run(["fish", "--no-config", "-c", script, line], cwd=ROOT, text=True,
                          capture_output=True, timeout=60, env=own_shell())
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return {offer.split("\t")[0] for offer in done.stdout.splitlines()}


def zsh_offers(line):
    """What an interactive zsh lists for the last word of a line, on a terminal."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 400, 100, 0, 0))
    with subprocess.Popen(["zsh", "-f", "-i"], cwd=ROOT, stdin=slave, stdout=slave, stderr=slave,
                          env={**own_shell(), "TERM": "dumb"}, start_new_session=True) as shell:
        os.close(slave)
        os.write(master, b"unset zle_bracketed_paste; unsetopt prompt_sp; autoload -Uz compinit; "
                 b"compinit -u -D; source <(retensor completion zsh); compdef _retensor retensor; "
                 b"PS1=rea''dy\n")
        read_until(master, "ready")
        os.write(master, line.encode() + b"\x04")   # Control-D lists what it would complete
        os.write(master, b"\x15print do''ne\n")     # Control-U takes the line back
        listed = read_until(master, "done\r")
        shell.kill()
    os.close(master)
    names = re.sub(r" -- .*", "", listed.partition(line)[2])  # without what explains them
    return set(re.findall(r"[\w./-]+", names))


def own_shell():
    return {**os.environ, "PATH": f"{os.path.dirname(RETENSOR)}:{os.environ['PATH']}"}


def read_until(terminal, word):
    text = ""
    while word not in text:
        assert select.select([terminal], [], [], 30)[0], text
        text += os.read(terminal, 65536).decode(errors="replace")
    return text


@pytest.mark.parametrize("shell, offers", [("fish", fish_offers), ("zsh", zsh_offers)])
def test_other_shells_complete_commands_options_and_values(shell, offers):
    if not shutil.which(shell):
        pytest.skip(f"there is no {shell}")
    first = offers("retensor pl")
    assert first >= {"plan", "plot"} and not first & {"run", "bench"}
    for line, expected in {"plan --with ": {"quick", "device", "full"}, "plan --wi": {"--with"},
                           "show cpd.": {"cpd.cpu.als", "cpd.cuda.als"},
                           "bench --operation mtt": {"mttkrp", "mttkrp_all"},
                           "bench word": {"wordnet"}, "verdict pas": {"pasta"},
                           "list me": {"methods"}, "help com": {"compare", "completion"},
                           "dataset ma": {"make"}, "dataset make word": {"wordnet"}}.items():
        assert offers("retensor " + line) >= expected, line


def test_the_man_page_has_every_command_and_option():
    page = call("man").stdout
    if groff := shutil.which("groff"):
        done = subprocess.run([groff, "-man", "-Tascii", "-ww", "-P-cbou"], input=page, text=True,
                              capture_output=True, timeout=60)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        text = done.stdout
    else:
        text = page.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "")
    for command in COMMANDS:
        assert f"retensor {command}" in text
        for option in options_of(command):
            assert f"--{option}" in text
    assert "NO_COLOR" in text


def test_a_terminal_gets_colours_unless_it_asks_for_none():
    environment = {"NO_COLOR": ""}
    assert "\x1b[1m" in at_terminal("list", "methods", **environment)
    assert "\x1b[31m" in at_terminal("show", "nothing", **environment)
    for refusal in ({"NO_COLOR": "1"}, {"NO_COLOR": "", "TERM": "dumb"}):
        assert "\x1b" not in at_terminal("list", "methods", **refusal)
        assert "\x1b" not in at_terminal("show", "nothing", **refusal)
    assert "\x1b" not in call("list", "methods", TERM="xterm").stdout


def test_a_table_in_colour_has_the_columns_of_one_without():
    plain = at_terminal("list", "methods", NO_COLOR="1")
    coloured = at_terminal("list", "methods", NO_COLOR="")
    assert coloured != plain
    assert re.sub(r"\x1b\[\d+m", "", coloured) == plain
