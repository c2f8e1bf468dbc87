"""A real Slurm of two nodes on this host, for tests: its own munge, no database, no cgroups."""

import os
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = ["slurmctld", "slurmd", "sbatch", "munged"]
CONFIG = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthInfo=socket={folder}/munge/socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmdTimeout=3
ReturnToService=2
KillWait=2
NodeName=n[0-1] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{ports[1]}-{ports[2]}] CPUs=2
PartitionName=usual Nodes=n[0-1] Default=YES PriorityTier=1
PartitionName=urgent Nodes=n[0-1] PriorityTier=10 PreemptMode=OFF
"""


def obstacle():
    """Why there can be no Slurm here, or an empty text."""
    path = os.environ["PATH"] + ":/usr/sbin"
    lacking = [name for name in PROGRAMS if not shutil.which(name, path=path)]
    if lacking:
        return "not installed: " + ", ".join(lacking) + " (Debian: slurm-wlm, munge)"
    return "" if os.geteuid() == 0 else "the daemons of Slurm need root"


def free_ports(count):
    """Numbers of `count` ports in a row that nobody listens on."""
    for first in range(17000, 60000, count):
        sockets = [socket.socket() for _ in range(count)]
        try:
            for k, each in enumerate(sockets):
                each.bind(("127.0.0.1", first + k))
            return list(range(first, first + count))
        except OSError:
            continue
        finally:
            for each in sockets:
                each.close()
    raise OSError("no free ports")


def wait_until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.1)
    return found


class Slurm:
    """Its daemons, and calls of its commands."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.environment = dict(os.environ, SLURM_CONF=str(self.folder / "slurm.conf"),
                                PATH=os.environ["PATH"] + ":/usr/sbin")
        self.daemons = {}

    def start(self):
        munge = self.folder / "munge"
        munge.mkdir(mode=0o700)
        (self.folder / "state").mkdir()
        (munge / "key").write_bytes(os.urandom(1024))
        (munge / "key").chmod(0o600)
        host = socket.gethostname().split(".")[0]
        (self.folder / "slurm.conf").write_text(
            CONFIG.format(host=host, folder=self.folder, ports=free_ports(3)))
        self._begin("munged", "--foreground", "--force",
                    *(f"--{what}={munge / name}" for what, name in
                      [("key-file", "key"), ("socket", "socket"), ("pid-file", "pid"),
                       ("log-file", "log"), ("seed-file", "seed")]))
        wait_until((munge / "socket").exists, 10, "munged")
        self._begin("slurmctld", "-D", "-i")
        for node in ["n0", "n1"]:
            self.start_node(node)
        wait_until(lambda: self.idle_nodes() == 2, 30, "two idle nodes")

    def _begin(self, name, *arguments, key=None):
        with open(self.folder / f"{key or name}.out", "ab") as output:
            # A group of its own: what a daemon leaves behind ends with it.
            self.daemons[key or name] = subprocess.Popen(
                [name, *arguments], env=self.environment, stdout=output, stderr=output,
                start_new_session=True)

    def start_node(self, node):
        self._begin("slurmd", "-D", "-N", node, key=node)

    def kill_node(self, node):
        """The daemon dies; the processes of its tasks live on."""
        self.daemons[node].kill()
        self.daemons.pop(node).wait()

    def stop(self):
        if "slurmctld" in self.daemons:
            self.call("scancel", "--user=root", "--signal=KILL", "--full", check=False)
        for daemon in reversed(self.daemons.values()):
            daemon.terminate()
        for daemon in self.daemons.values():
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()

    def call(self, *command, check=True):
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True,
                              timeout=30, check=False)
        assert not check or done.returncode == 0, (command, done.stderr)
        return done.stdout.strip()

    def idle_nodes(self):
        states = self.call("sinfo", "-h", "-N", "-p", "usual", "-o", "%T", check=False)
        return states.split().count("idle")

    def jobs(self, job):
        """State and node of each task of an array that is not gone."""
        lines = self.call("squeue", "-h", "-r", "-j", job, "-o", "%K %T %N %A", check=False)
        return {int(line.split()[0]): line.split()[1:] for line in lines.splitlines()
                if line.split()[0] != "N/A"}

    def wait_for(self, job, seconds=60):
        """Until no task is left; what was put back into the queue need not wait for its time."""
        def is_over():
            found = self.jobs(job)
            for task, state in found.items():
                if state[0] == "PENDING":
                    self.start_now(f"{job}_{task}")
            return not found
        wait_until(is_over, seconds, f"the end of job {job}")

    def start_now(self, job):
        self.call("scontrol", "update", f"JobId={job}", "StartTime=now", check=False)


@contextmanager
def cluster(folder):
    slurm = Slurm(folder)
    try:
        slurm.start()
        yield slurm
    finally:
        slurm.stop()
