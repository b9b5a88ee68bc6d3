"""The Debian package: lintian accepts it, and its programs, manual, completion and unit are in place."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["PENSTOCK_BIN"]).parent


def output(*command, **options):
    return subprocess.run(command, check=True, text=True, capture_output=True, **options).stdout


class DebianPackageTest(unittest.TestCase):
    """Tests the package that cpack makes from this build."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-deb-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        output("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", cls.folder)
        cls.package = next(cls.folder.glob("penstock_*_amd64.deb"))
        cls.root = cls.folder / "root"
        output("dpkg-deb", "-x", cls.package, cls.root)

    def test_lintian_accepts_it(self):
        ran = subprocess.run(["lintian", "--allow-root", self.package], check=False, text=True,
                             capture_output=True)
        self.assertEqual((ran.returncode, ran.stdout), (0, ""))

    def test_the_programs_run(self):
        for program in ("penstock", "penstock-server", "penstock-train"):
            self.assertIn("commit", output(self.root / "usr/bin" / program, "--version"))

    def test_each_command_has_a_manual_page_that_man_reads_without_a_warning(self):
        pages = sorted((self.root / "usr/share/man/man1").glob("*.1.gz"))
        names = {page.name.split(".")[0] for page in pages}
        for name in ("penstock", "penstock-stream", "penstock-chess-generate", "penstock-server",
                     "penstock-train", "penstock-train-predict"):
            self.assertIn(name, names)
        for page in pages:
            ran = subprocess.run(["man", "--warnings", "-l", page], check=True, text=True,
                                 capture_output=True, env={**os.environ, "MANPAGER": "cat",
                                                           "MANWIDTH": "80"})
            self.assertEqual(ran.stderr, "", page.name)
            self.assertIn("SYNOPSIS", ran.stdout)

    def test_the_configuration_is_kept_by_upgrades(self):
        self.assertEqual(output("dpkg-deb", "-I", self.package, "conffiles"),
                         "/etc/penstock/server.conf\n")
        self.assertTrue((self.root / "etc/penstock/server.conf").exists())

    def test_the_unit_starts_the_program_that_is_in_the_package(self):
        unit = (self.root / "usr/lib/systemd/system/penstock-server.service").read_text()
        self.assertIn("ExecStart=/usr/bin/penstock-server --config /etc/penstock/server.conf", unit)

    def test_the_maintainer_scripts_are_shell(self):
        for script in ("postinst", "prerm", "postrm"):
            text = output("dpkg-deb", "-I", self.package, script)
            output("sh", "-n", input=text)


if __name__ == "__main__":
    unittest.main()
