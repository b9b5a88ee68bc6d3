"""Tests the built images as deploy/docker/README.md runs them, and with the options of
deploy/kubernetes.

PENSTOCK_TEST_DOCKER: docker, or a command with the same arguments, such as podman; without it all
tests are skipped. PENSTOCK_TEST_IMAGES: the names of the images of the server and of the trainer.
"""

import os
import pathlib
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e"))

from certificates import Authority  # noqa: E402
from kubernetes_test import check_health, container, needs_yaml, pods  # noqa: E402
from processes import SAMPLE  # noqa: E402
from servers import wait_until  # noqa: E402

DOCKER = shlex.split(os.environ.get("PENSTOCK_TEST_DOCKER", ""))
SERVER, TRAINER = os.environ.get("PENSTOCK_TEST_IMAGES", "penstock-server penstock-trainer").split()
USER = f"{os.getuid()}:{os.getgid()}"
TIMEOUT_S = 300


def docker(*args):
    """Returns the result; stderr is part of stdout."""
    return subprocess.run([*DOCKER, *map(str, args)], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=TIMEOUT_S)


@unittest.skipUnless(DOCKER, "images are not built: deploy/docker/README.md, PENSTOCK_TEST_DOCKER")
class ImageTestCase(unittest.TestCase):
    """Has a folder with the sample, and a network on which servers are called penstock."""

    def setUp(self):
        self.name = f"penstock-test-{secrets.token_hex(4)}"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{self.name}-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.folder.chmod(0o755)
        self.data = shutil.copytree(SAMPLE, self.folder / "data")
        self.check("network", "create", self.name)
        self.addCleanup(docker, "network", "rm", self.name)

    def check(self, *args):
        done = docker(*args)
        self.assertEqual(done.returncode, 0, f"{shlex.join(map(str, args))}\n{done.stdout}")
        return done.stdout

    def run_in(self, image, *args, options=(), program=None):
        """Runs a container to its end and returns what it prints."""
        entry = ("--entrypoint", program) if program else ()
        return self.check("run", "--rm", "--network", self.name, *options, *entry, image, *args)

    def mounts(self, *names):
        """Returns options that mount folders at the root, read-only."""
        return [word for name in names for word in ("-v", f"{self.folder / name}:/{name}:ro")]

    def index(self):
        self.run_in(SERVER, "index", "/data", "--holdout", "5%", program="penstock",
                    options=("--user", USER, "-v", f"{self.data}:/data"))

    def start_server(self, *args, options=()):
        self.addCleanup(docker, "rm", "-f", self.name)
        self.check("run", "-d", "--name", self.name, "--network", self.name, "--network-alias",
                   "penstock", "--read-only", "--cap-drop", "ALL", "--security-opt",
                   "no-new-privileges", *options, SERVER, *args)
        wait_until(lambda: re.search(r'info serving|"serving"', self.logs()) or self.ended(),
                   "a server that serves or has ended")
        self.assertFalse(self.ended(), self.logs())

    def logs(self):
        return docker("logs", self.name).stdout

    def ended(self):
        return "true" not in docker("inspect", "-f", "{{.State.Running}}", self.name).stdout

    def stop_server(self):
        """Sends SIGTERM to PID 1, and kills the container only after a minute."""
        self.check("stop", "-t", "60", self.name)
        code = self.check("inspect", "-f", "{{.State.ExitCode}}", self.name).strip()
        self.assertEqual(code, "0", self.logs())


class ReadmeTest(ImageTestCase):

    def test_programs_start_and_tell_their_commit(self):
        for image, program in ((SERVER, "penstock-server"), (SERVER, "penstock"),
                               (TRAINER, "penstock-train"), (TRAINER, "penstock")):
            with self.subTest(image=image, program=program):
                self.assertRegex(self.run_in(image, "--version", program=program),
                                 r"\(commit [0-9a-f]{7,}\)")

    def test_users(self):
        for image in (SERVER, TRAINER):
            self.assertRegex(self.run_in(image, program="id"), r"uid=10001\S* gid=10001")

    def test_a_server_within_its_limits_feeds_a_trainer(self):
        self.index()
        self.start_server("--listen", "0.0.0.0:7070", "--insecure", options=(
            *self.mounts("data"), "--memory", "512m", "--cpus", "1"))
        self.assertRegex(self.logs(), r'threads=1 memory_budget="128.0 MiB"')
        said = self.run_in(TRAINER, "--manifest", "/data/manifest.pb", "--servers",
                           "penstock:7070", "--steps", 3, options=(
                               *self.mounts("data"), "--read-only"))
        self.assertIn("step 3", said)
        self.stop_server()

    def test_cuda(self):
        found = self.run_in(TRAINER, "-c", 'ldd "${PENSTOCK_CUDA_LIBS:-/none}"/* 2>&1 || true',
                            program="sh")
        if "/none" in found:
            self.skipTest(f"{TRAINER} is without CUDA")
        for library in ("libcublasLt.so", "libcupti.so", "libnccl.so"):
            self.assertIn(library, found)
        self.assertNotIn("not found", found)
        # The report about GPUs depends on this machine.
        said = self.run_in(TRAINER, "devices")
        self.assertNotIn("this build has no CUDA", said)
        for library in ("cuBLASLt", "NCCL", "CUPTI"):
            self.assertIn(f"[X] {library}", said)

    def test_ranks_of_one_container(self):
        self.index()
        said = self.run_in(TRAINER, "launch", "-np", 2, "--", "penstock-train", "--manifest",
                           "/data/manifest.pb", "--steps", 2, program="penstock", options=(
                               *self.mounts("data"), "--read-only"))
        self.assertIn("step 2", said)

    def test_tls_and_a_token(self):
        self.index()
        (self.folder / "tls").mkdir()
        Authority(self.folder / "tls", "ca").issue("server", "DNS:penstock")
        for name in ("token", "tokens"):
            (self.folder / "tls" / name).write_text("0123456789abcdef-mine\n")
        self.start_server(
            "--listen", "0.0.0.0:7070", "--tls-cert", "/tls/server.pem", "--tls-key",
            "/tls/server.key", "--token-file", "/tls/tokens",
            options=("--user", USER, *self.mounts("data", "tls")))
        self.run_in(TRAINER, "--manifest", "/data/manifest.pb", "--servers", "penstock:7070",
                    "--tls", "--tls-ca", "/tls/ca.pem", "--token-file", "/tls/token", "--steps", 1,
                    options=self.mounts("data", "tls"))
        self.stop_server()


@needs_yaml
class PodsTest(ImageTestCase):
    """Runs the containers of deploy/kubernetes with their own options, on the paths of their
    volumes."""

    def setUp(self):
        super().setUp()
        self.index()
        for name in ("tls", "token", "checkpoints"):
            (self.folder / name).mkdir()
        authority = Authority(self.folder / "tls", "ca")
        authority.issue("tls", "DNS:penstock")
        (self.folder / "tls" / "ca.pem").rename(self.folder / "tls" / "ca.crt")
        (self.folder / "tls" / "tls.pem").rename(self.folder / "tls" / "tls.crt")
        for name in ("token", "tokens"):
            (self.folder / "token" / name).write_text("0123456789abcdef-mine\n")
        # These permissions are like those that fsGroup gives, without root.
        (self.folder / "tls" / "tls.key").chmod(0o644)
        (self.folder / "checkpoints").chmod(0o777)

    def options(self, template):
        context = template["spec"]["securityContext"]
        user = f"{context['runAsUser']}:{context['runAsGroup']}"
        kept = [mount["name"] for mount in container(template)["volumeMounts"]
                if mount.get("readOnly")]
        return ["--user", user, *self.mounts(*kept)]

    def test_a_server_and_a_training(self):
        server, trainer = pods()
        self.start_server(*container(server)["args"],
                          options=(*self.options(server), "-p", "127.0.0.1::7071"))
        health = self.check("port", self.name, "7071").split()[-1]
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            check_health(self, health, container(server)[probe]["grpc"].get("service", ""))
        self.run_in(TRAINER, *container(trainer)["args"], "--steps=2", options=(
            *self.options(trainer), "--read-only", "--cap-drop", "ALL",
            "-v", f"{self.folder}/checkpoints:/checkpoints"))
        self.assertTrue(list((self.folder / "checkpoints").iterdir()))
        self.stop_server()


if __name__ == "__main__":
    unittest.main()
