"""Builds the wheel: the package and one copy of the programs, in penstock/bin.

Installers call the functions of PEP 517 and PEP 660, which take the programs of this checkout's
release build. client/python/build_wheel.sh calls main(), for programs that run on any Linux.

There is no source distribution: it could not build the programs.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import pathlib
import platform
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from typing import Any, NoReturn

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = pathlib.Path(__file__).resolve().parents[1]
ROOT = HERE.parents[1]
BUILT = ROOT / "build" / "release" / "bin"
PROGRAMS = ("penstock", "penstock-server")
BUILD = f"cd {ROOT} && .ci/install.sh && .ci/build.sh release --target {' '.join(PROGRAMS)}"
# The licences that cmake/portable/licenses.py finds in the programs that run on any Linux.
LINKED_LICENSES = ("BSD-3-Clause AND GPL-3.0-or-later WITH GCC-exception-3.1 AND IJG AND "
                   "LGPL-2.1-or-later AND libpng-2.0 AND MIT AND Zlib")
# A fixed time, so that every build gives the same bytes.
WRITTEN_AT = (1980, 1, 1, 0, 0, 0)


def refuse(message: str) -> NoReturn:
    """Exits with one sentence. An exception would show how the installer called this module."""
    sys.exit(f"penstock: {message}")


class Wheel:
    """A wheel that is being written. `write` names it once all files are added."""

    def __init__(self, project: dict[str, Any], version: str, platform_tag: str) -> None:
        self._project = project
        self._version = version
        self._tags = [f"py3-none-{tag}" for tag in platform_tag.split(".")]
        self._name = f"penstock-{version}-py3-none-{platform_tag}.whl"
        self._info = f"penstock-{version}.dist-info"
        self._files: dict[str, tuple[bytes, int]] = {}
        self._license = str(project["license"])
        self._licenses: list[str] = []

    def add(self, name: str, content: bytes, mode: int = 0o644) -> None:
        """Adds a file; installers keep the execute bits of `mode`."""
        self._files[name] = content, mode

    def add_license(self, name: str, content: bytes) -> None:
        """Adds the text of a licence; `name` is relative to the wheel's folder of licences."""
        self._licenses.append(name)
        self.add(f"{self._info}/licenses/{name}", content)

    def add_license_expression(self, expression: str) -> None:
        """Adds the licences of files that are not Penstock's, as an SPDX expression."""
        self._license += f" AND {expression}"

    def write(self, folder: str) -> str:
        """Writes the wheel into the folder, and returns its name."""
        self.add(f"{self._info}/METADATA", self._metadata().encode())
        self.add(f"{self._info}/WHEEL", self._wheel().encode())
        self.add(f"{self._info}/entry_points.txt", self._entry_points().encode())
        self.add(f"{self._info}/RECORD", self._record().encode())
        with zipfile.ZipFile(pathlib.Path(folder, self._name), "w") as archive:
            for name, (content, mode) in self._files.items():
                entry = zipfile.ZipInfo(name, WRITTEN_AT)
                entry.external_attr = (0o100000 | mode) << 16
                entry.create_system = 3  # Unix, because the entry has a mode.
                archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)
        return self._name

    def _metadata(self) -> str:
        project = self._project
        readme = str(project["readme"])
        lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {self._version}",
                 f"Summary: {project['description']}",
                 f"Keywords: {','.join(project['keywords'])}",
                 "Platform: Linux x86-64",
                 f"License-Expression: {self._license}",
                 f"Requires-Python: {project['requires-python']}",
                 "Description-Content-Type: text/markdown"]
        lines += [f"License-File: {name}" for name in sorted(self._licenses)]
        lines += [f"Classifier: {name}" for name in project["classifiers"]]
        lines += [f"Requires-Dist: {need}" for need in project["dependencies"]]
        for extra, needs in project["optional-dependencies"].items():
            lines.append(f"Provides-Extra: {extra}")
            lines += [f'Requires-Dist: {need}; extra == "{extra}"' for need in needs]
        return "\n".join(lines) + "\n\n" + (HERE / readme).read_text(encoding="utf-8")

    def _wheel(self) -> str:
        tags = "".join(f"Tag: {tag}\n" for tag in self._tags)
        return f"Wheel-Version: 1.0\nGenerator: penstock\nRoot-Is-Purelib: false\n{tags}"

    def _entry_points(self) -> str:
        scripts = self._project["scripts"].items()
        return "[console_scripts]\n" + "".join(f"{name} = {call}\n" for name, call in scripts)

    def _record(self) -> str:
        lines = []
        for name, (content, _) in self._files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            lines.append(f"{name},sha256={digest.decode()},{len(content)}\n")
        return "".join(lines) + f"{self._info}/RECORD,,\n"


def read_project() -> dict[str, Any]:
    """Returns the table [project] of pyproject.toml."""
    project: dict[str, Any] = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    return project


def read_version() -> str:
    """Returns the version in penstock/_version.py. Importing it would need NumPy, which may be
    missing."""
    found = re.search(r'^__version__ = "(.+)"$', (HERE / "penstock/_version.py").read_text(), re.M)
    assert found is not None, "penstock/_version.py has no __version__"
    return found[1]


def package_files() -> Iterator[pathlib.Path]:
    """Yields the package's own files, always in the same order."""
    for path in sorted((HERE / "penstock").rglob("*")):
        inside = path.relative_to(HERE).parts
        if path.is_file() and "__pycache__" not in inside and inside[1] != "bin":
            yield path


def check_program(path: pathlib.Path, version: str) -> None:
    """Refuses a program that is missing, does not run here, or is of another version."""
    if not path.is_file():
        refuse(f"{path} does not exist: build the programs first ({BUILD}), or set PENSTOCK_BIN to "
               "their folder.")
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
    except OSError as error:
        refuse(f"{path} does not run here: {error.strerror}.")
    if said.split()[:2] != [path.name, version]:
        refuse(f"{path} is of another version than this package, {version}: it says "
               f"{said.strip()!r}; build it again ({BUILD}).")


def add_package(wheel: Wheel, programs: pathlib.Path, version: str) -> None:
    """Adds the Python files, and the programs of a folder."""
    for path in package_files():
        wheel.add(path.relative_to(HERE).as_posix(), path.read_bytes())
    for name in PROGRAMS:
        check_program(programs / name, version)
        wheel.add(f"penstock/bin/{name}", (programs / name).read_bytes(), 0o755)


def add_licenses(wheel: Wheel, folder: pathlib.Path | None) -> None:
    """Adds Penstock's licence, and the licences in a folder: those of everything that is linked
    into the programs."""
    wheel.add_license("LICENSE", (ROOT / "LICENSE").read_bytes())
    if folder is None:
        return
    wheel.add_license_expression(LINKED_LICENSES)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            wheel.add_license(path.relative_to(folder).as_posix(), path.read_bytes())


def refuse_other_machines() -> None:
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        refuse("only Linux on x86-64 is supported; "
               f"this is {platform.system()} on {platform.machine()}.")
    if not (ROOT / "CMakeLists.txt").is_file():
        refuse(f"{HERE} is not inside a checkout of Penstock, whose programs the package needs "
               "(pip before 21.3 copies the package out of the checkout: upgrade pip).")


# The hooks of PEP 517 and PEP 660, which define their names and arguments.


def build_wheel(wheel_directory: str, config_settings: object = None,
                metadata_directory: str | None = None) -> str:
    """For `pip install ./client/python`. The programs need the libraries of this machine."""
    refuse_other_machines()
    version = read_version()
    wheel = Wheel(read_project(), version, "linux_x86_64")
    add_package(wheel, pathlib.Path(os.environ.get("PENSTOCK_BIN") or BUILT), version)
    add_licenses(wheel, None)
    return wheel.write(wheel_directory)


def build_editable(wheel_directory: str, config_settings: object = None,
                   metadata_directory: str | None = None) -> str:
    """For `pip install -e ./client/python`. Package and programs stay where they are."""
    refuse_other_machines()
    wheel = Wheel(read_project(), read_version(), "linux_x86_64")
    wheel.add("__editable__.penstock.pth", f"{HERE}\n".encode())
    add_licenses(wheel, None)
    return wheel.write(wheel_directory)


def build_sdist(sdist_directory: str, config_settings: object = None) -> NoReturn:
    """There is no source distribution."""
    refuse("there is no source distribution; client/python/build_wheel.sh makes a wheel.")


def main() -> None:
    """Writes a wheel with the given programs and prints its path."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="their folder")
    parser.add_argument("--licenses", type=pathlib.Path, required=True,
                        help="a folder with the licences of all that is linked into them")
    parser.add_argument("--platform", required=True, help="platform tags, with dots between")
    parser.add_argument("folder", help="where the wheel is written")
    options = parser.parse_args()
    refuse_other_machines()
    version = read_version()
    wheel = Wheel(read_project(), version, options.platform)
    add_package(wheel, options.programs, version)
    add_licenses(wheel, options.licenses)
    print(pathlib.Path(options.folder, wheel.write(options.folder)))


if __name__ == "__main__":
    main()
