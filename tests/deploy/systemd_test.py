"""Tests the systemd unit with systemd's own tools."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deploy" / "systemd"
BIN = pathlib.Path(os.environ["PENSTOCK_BIN"])
UNIT = "penstock-server.service"
# Maximum exposure, on a scale to 100. systemd rates up to 50 as "OK".
MAX_EXPOSURE = 30


def analyze(*args):
    return subprocess.run(["systemd-analyze", *map(str, args)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120)


@unittest.skipIf(shutil.which("systemd-analyze") is None, "systemd-analyze is not installed")
class SystemdTest(unittest.TestCase):

    def setUp(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-systemd-"))
        self.addCleanup(shutil.rmtree, folder)
        # `systemd-analyze verify` requires that the program exists.
        text = (FOLDER / UNIT).read_text()
        self.assertIn("ExecStart=/usr/bin/penstock-server ", text)
        self.unit = folder / UNIT
        self.unit.write_text(text.replace("/usr/bin/penstock-server",
                                          str(BIN / "penstock-server")))

    def verify(self, unit):
        return analyze("verify", "--man=no", "--recursive-errors=no", unit)

    def test_the_unit_is_valid(self):
        result = self.verify(self.unit)
        complaints = [line for line in result.stdout.splitlines() if UNIT in line]
        self.assertEqual((result.returncode, complaints), (0, []), result.stdout)

    def test_a_misspelt_option_is_found(self):
        self.unit.write_text(self.unit.read_text().replace("KillSignal=", "KillSignl="))
        self.assertIn("KillSignl", self.verify(self.unit).stdout)

    def test_the_server_is_confined(self):
        result = analyze("security", "--offline=yes", f"--threshold={MAX_EXPOSURE}", self.unit)
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_others_may_read_the_address_file(self):
        mask = re.search(r"^UMask=(\d+)$", self.unit.read_text(), flags=re.M)[1]
        self.assertEqual(int(mask, 8) & 0o044, 0)

    def test_systemd_waits_longer_than_the_grace(self):
        wait = next(line for line in self.unit.read_text().splitlines()
                    if line.startswith("TimeoutStopSec="))
        grace = next(line for line in (FOLDER / "server.conf").read_text().splitlines()
                     if line.startswith("grace="))
        self.assertGreater(int(wait.split("=")[1]), int(grace.split("=")[1].rstrip("s")))


class ConfigurationTest(unittest.TestCase):

    def print_config(self, lines):
        return self.run_server(lines, "--print-config")

    def run_server(self, lines, *args):
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
            file.write("\n".join(lines) + "\n")
            file.flush()
            return subprocess.run([str(BIN / "penstock-server"), "--config", file.name, *args],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  timeout=120)

    def test_the_server_knows_every_option(self):
        """Tests options that are commented out ("# NAME=VALUE") too. If an option is there twice,
        its last value counts."""
        lines = [line.removeprefix("# ") for line in (FOLDER / "server.conf").read_text().splitlines()]
        options = {line.split("=")[0]: line for line in lines if re.fullmatch(r"[a-z-]+=\S+", line)}
        self.assertGreater(len(options), 6)
        result = self.print_config(options.values())
        self.assertEqual(result.returncode, 0, result.stderr)
        for name, line in options.items():
            self.assertIn(f'{name}="{line.split("=")[1]}"', result.stdout)

    def test_an_option_that_it_does_not_know_is_refused(self):
        self.assertNotEqual(self.print_config(["data-root=/srv", "data-rot=/srv"]).returncode, 0)

    def test_wrong_options_are_not_tried_again_and_missing_data_is(self):
        prevented = re.findall(r"^RestartPreventExitStatus=(.*)$", (FOLDER / UNIT).read_text(), re.M)
        for line in ("data-rot=/srv", "threads=many", "listen=nowhere"):
            result = self.run_server(["data-root=/srv", line])
            self.assertIn(str(result.returncode), prevented, result.stderr)
        result = self.run_server(["data-root=/nowhere", "listen=127.0.0.1:0"])
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertNotIn("1", prevented)


if __name__ == "__main__":
    unittest.main()
