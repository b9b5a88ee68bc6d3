"""Tests what the images' recipes rely on; builds no image. images_test.py runs images that were
built."""

import json
import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deploy" / "docker"
BIN = pathlib.Path(os.environ["PENSTOCK_BIN"])
HADOLINT = ROOT / "build" / "python" / "bin" / "hadolint"
RECIPES = {name: FOLDER / f"{name}.Dockerfile" for name in ("server", "trainer")}


def instructions(recipe):
    """Returns (instruction, arguments) of a recipe; continued lines are joined."""
    text = re.sub(r"^#.*\n", "", RECIPES[recipe].read_text(), flags=re.M).replace("\\\n", " ")
    return [line.split(maxsplit=1) for line in text.splitlines() if line.strip()]


def arguments(recipe, instruction):
    return [rest for name, rest in instructions(recipe) if name == instruction]


def presets():
    """Returns CMake's presets by name."""
    found = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
    return {preset["name"]: preset for preset in found}


class RecipeTest(unittest.TestCase):

    @unittest.skipUnless(HADOLINT.exists(), "hadolint is not installed: run .ci/python.sh")
    def test_hadolint_has_nothing_to_say(self):
        done = subprocess.run([HADOLINT, *RECIPES.values()], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_what_is_copied_exists_or_is_made(self):
        left_out = (ROOT / ".dockerignore").read_text().split()
        for recipe in RECIPES:
            stages = {rest.split(" AS ")[1] for rest in arguments(recipe, "FROM") if " AS " in rest}
            runs = " ".join(arguments(recipe, "RUN"))
            for copy in arguments(recipe, "COPY"):
                options = [word for word in copy.split() if word.startswith("--from=")]
                for source in copy.split()[len(options):-1]:
                    if options:
                        self.assertIn(options[0].removeprefix("--from="), stages)
                        # pip installs into this folder; its files are not known here.
                        made = "/opt/cuda" if source.startswith("/opt/cuda/") else source
                        self.assertIn(made.removeprefix("/src/"), runs)
                    else:
                        self.assertTrue((ROOT / source).exists(), f"{recipe}: {source}")
                        self.assertNotIn(source.split("/")[0], left_out)

    def test_the_image_has_code_for_the_gpus_of_the_portable_programs(self):
        gpus = presets()["portable"]["cacheVariables"]["PENSTOCK_CUDA_ARCHITECTURES"]
        configured = [run for run in arguments("trainer", "RUN") if "-DPENSTOCK_CUDA=ON" in run]
        self.assertEqual(len(configured), 1)
        self.assertIn(f'-DPENSTOCK_CUDA_ARCHITECTURES="{gpus}"', configured[0].split())

    def test_what_is_configured_needs_no_package_of_the_tests(self):
        """Tests that no image has GoogleTest or Google Benchmark: .ci/packages-programs.txt lacks
        both."""
        for recipe in RECIPES:
            for run in arguments(recipe, "RUN"):
                for configured in re.findall(r"cmake --preset [^&]*", run):
                    self.assertIn("-DPENSTOCK_TESTS=OFF", configured)
                    self.assertIn("-DPENSTOCK_BENCHMARKS=OFF", configured)

    def test_presets_and_targets_are_this_projects(self):
        for recipe in RECIPES:
            runs = " ".join(arguments(recipe, "RUN"))
            self.assertLessEqual(set(re.findall(r"--preset (\S+)", runs)), set(presets()))
            targets = " ".join(re.findall(r"--target ((?:penstock\S* +)+)", runs)).split()
            self.assertGreater(len(targets), 1)
            for target in targets:
                self.assertTrue((BIN / target).exists(), f"{recipe}: {target}")

    def test_the_programs_know_every_option(self):
        for recipe in RECIPES:
            program, *options = json.loads(arguments(recipe, "ENTRYPOINT")[0])
            options += json.loads(arguments(recipe, "CMD")[0])
            known = subprocess.run([BIN / program, "--help"], text=True, check=True,
                                   stdout=subprocess.PIPE, timeout=120).stdout
            for option in (word for word in options if word.startswith("--")):
                self.assertRegex(known, rf"{option}\b")

    def test_runtime_packages_are_those_of_the_programs(self):
        programs = [BIN / name for name in ("penstock", "penstock-server", "penstock-train")]
        packages = subprocess.run([FOLDER / "runtime_packages.sh", *programs], check=True,
                                  text=True, stdout=subprocess.PIPE, timeout=120).stdout.split()
        self.assertEqual(len(packages), len(set(packages)))
        self.assertIn("libc6", packages)
        for library in ("libgrpc++", "libopenblas"):  # libopenblas is found through a link.
            self.assertTrue(any(name.startswith(library) for name in packages), packages)
        states = subprocess.run(["dpkg-query", "-W", "-f=${Status}\n", *packages], text=True,
                                check=True, stdout=subprocess.PIPE, timeout=120).stdout
        self.assertEqual(set(states.splitlines()), {"install ok installed"})


if __name__ == "__main__":
    unittest.main()
