"""A Slurm of one node in a folder, for one test program, as root: munged, slurmctld and slurmd."""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e"))

from processes import SAMPLE, run  # noqa: E402
from servers import TIMEOUT_S, die_with_parent, reserve_port, wait_until  # noqa: E402

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch")

# Slurm accepts the node's stated resources as they are (config_overrides), so no test depends on
# the machine.
CONFIGURATION = """
ClusterName=penstock
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPort={ctld_port}
SlurmdPort={slurmd_port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmdParameters=config_overrides
SchedulerParameters=sched_min_interval=0
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MailProg=/bin/true
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=10 State=UP
"""


def why_not():
    """Returns why there can be no Slurm here, or nothing."""
    if os.geteuid() != 0:
        return "not root: no Slurm can be started"
    if not os.path.ismount("/sys/fs/cgroup"):
        return "no control groups at /sys/fs/cgroup, which slurmd needs"
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"not installed: {', '.join(missing)}" if missing else ""


class Slurm:
    """Keeps its files in `folder`, which is removed with it; jobs may use the folder too."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-slurm-"))
        self.folder.chmod(0o755)
        self._daemons = []
        self._configuration = self.folder / "slurm.conf"
        self._environment = {**os.environ, "SLURM_CONF": str(self._configuration)}
        host = socket.gethostname().split(".")[0]
        self._ports = [reserve_port() for _ in range(2)]
        ctld_port, slurmd_port = (port.getsockname()[1] for port in self._ports)
        self._configuration.write_text(CONFIGURATION.format(
            folder=self.folder, host=host, ctld_port=ctld_port, slurmd_port=slurmd_port))
        for name in ("state", "spool"):
            (self.folder / name).mkdir()

    def start(self):
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self._spawn("munged", "--foreground", "--force", f"--key-file={key}",
                    *(f"--{name}-file={self.folder}/munge.{name}" for name in ("pid", "seed", "log")),
                    f"--socket={self.folder}/munge.socket")
        wait_until((self.folder / "munge.socket").exists, f"munged\n{self.logs()}")
        self._spawn("slurmctld", "-D", "-f", self._configuration)
        self._spawn("slurmd", "-D", "-f", self._configuration)
        self._wait_until(lambda: self.run("sinfo", "-h", "-o", "%T").stdout.strip() == "idle",
                         "an idle node")

    def stop(self):
        """Ends the jobs, then the daemons; nothing of them is left."""
        if len(self._daemons) == 3:
            self.run("scancel", "--user=root", "--full")
            self._wait_until(lambda: not self.run("squeue", "-h").stdout.strip(), "no job")
        for daemon in reversed(self._daemons):
            daemon.terminate()
            try:
                daemon.wait(TIMEOUT_S)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        for port in self._ports:
            port.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, *args, **environment):
        return subprocess.run([*map(str, args)], env={**self._environment, **environment}, text=True,
                              cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=TIMEOUT_S, preexec_fn=die_with_parent)

    def submit(self, *args, **environment):
        """Submits a script with arguments; returns the job's number."""
        result = self.run("sbatch", "--parsable", *args, **environment)
        assert result.returncode == 0, result.stdout
        return int(result.stdout)

    def state(self, job):
        """Returns 'RUNNING', 'COMPLETED', ..., and the exit status of the script."""
        fields = dict(field.split("=", 1) for field in
                      self.run("scontrol", "show", "job", "-o", job).stdout.split() if "=" in field)
        return fields["JobState"], int(fields["ExitCode"].split(":")[0])

    def wait(self, job):
        """Waits for the job's end. Returns its state, like state()."""
        self._wait_until(lambda: self.state(job)[0] not in ("PENDING", "RUNNING", "COMPLETING"),
                         f"job {job}")
        return self.state(job)

    def logs(self):
        return "\n".join(f"== {path.name}\n{path.read_text(errors='replace')[-3000:]}"
                         for path in sorted(self.folder.glob("*.out")))

    def _spawn(self, name, *args):
        with open(self.folder / f"{name}.out", "w") as log:
            self._daemons.append(subprocess.Popen(
                [name, *map(str, args)], env=self._environment, stdout=log, stderr=log,
                preexec_fn=die_with_parent))

    def _wait_until(self, condition, what):
        try:
            wait_until(condition, what)
        except TimeoutError as error:
            raise AssertionError(f"{error}\n{self.logs()}") from None


class SlurmTestCase(unittest.TestCase):
    """Has a Slurm for the class, and an indexed copy of the sample in its folder."""

    LOG = ""  # Name of a job's log; it may contain "{job}".

    @classmethod
    def setUpClass(cls):
        cls.slurm = Slurm()
        cls.addClassCleanup(cls.slurm.stop)
        cls.slurm.start()
        cls.manifest = cls.slurm.folder / "data" / "manifest.pb"
        shutil.copytree(SAMPLE, cls.manifest.parent)
        result = run("penstock", "index", cls.manifest.parent, "-o", cls.manifest)
        assert result.returncode == 0, result.stderr

    def log(self, job):
        path = self.slurm.folder / self.LOG.format(job=job)
        return path.read_text() if path.exists() else ""
