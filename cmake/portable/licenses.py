#!/usr/bin/env python3
"""Gathers the licences of everything that the portable programs contain, from Debian's packages.

    licenses.py BUILD OUT PROGRAM...

BUILD is the folder of a build with PENSTOCK_PORTABLE. The commands that link the PROGRAMs name the
libraries; the files that the compiler read name the headers, which have code too. OUT gets the file
`copyright` of each source package; the licences that these files refer to; and SOURCES, the exact
versions, with which anyone can get the sources and link again.
"""

import pathlib
import re
import shutil
import subprocess
import sys

COMMON = pathlib.Path("/usr/share/common-licenses")
# Files that g++ links without being told.
ADDED = ("libstdc++.a", "libgcc.a", "libgcc_eh.a", "Scrt1.o")
# Packages with headers of the kernel's interface, whose licence does not extend to programs that
# use it.
NO_CODE = {"linux-libc-dev"}
# Headers of trainer_gpu_test, which is not installed.
FOR_TESTS = {"libgtest-dev", "libgmock-dev"}
SOURCES = """\
Debian's source packages of all that is linked into these programs. Each can be fetched, with
`apt-get source PACKAGE=VERSION` or from https://snapshot.debian.org, and the programs can be built
and linked with it again from the sources of Penstock.

"""
# The toolkit's static runtime is not a Debian package.
CUDA_NOTICE = """\
libcudart_static.a is part of NVIDIA's CUDA Toolkit. The toolkit's End User License Agreement,
https://docs.nvidia.com/cuda/eula/, lists it among the files that may be distributed with programs.
"""


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def linked(build, program):
    """Returns the archives that the linker gets, without those of this build, and those that g++ adds.
    Some of them may be unused. A map of the linker names only the used ones, but mold 1.10 cannot write
    a map for a program with --defsym."""
    commands = output("ninja", "-C", build, "-t", "commands", program).splitlines()
    link = next(line for line in commands if f" -o bin/{program} " in line)
    paths = {(build / name).resolve() for name in re.findall(r"(?<=\s)[^\s=]+\.a(?=\s|$)", link)}
    found = {path for path in paths if build not in path.parents}
    assert found, f"{program} links no library"
    return found | {pathlib.Path(output("g++", f"-print-file-name={name}").strip()).resolve()
                    for name in ADDED}


def included(build):
    """Returns the headers that the build read, without those of this checkout."""
    deps = output("ninja", "-C", build, "-t", "deps")
    return {pathlib.Path(path).resolve() for path in re.findall(r"^ +(/usr/(?!local/)\S+)$", deps, re.M)}


def package_of(paths):
    """Returns the packages of files. An archive in build/archives belongs to the package that has
    the shared library of the same name."""
    names = [str(path) if str(path).startswith("/usr/") else f"*/{path.stem}.so" for path in paths]
    lines = output("dpkg", "-S", *names).splitlines()
    return {re.split(r"[:,]", line)[0] for line in lines}


def sources(packages):
    """Returns source package and version -> one of its binary packages."""
    found = {}
    for package in sorted(packages - NO_CODE - FOR_TESTS):
        said = output("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}\n", package)
        found.setdefault(said.split("\n")[0], package)
    return found


def main(build, out, *programs):
    build, out = pathlib.Path(build).resolve(), pathlib.Path(out)
    shutil.rmtree(out, ignore_errors=True)
    files = included(build).union(*(linked(build, program) for program in programs))
    cuda = {path for path in files if path.name == "libcudart_static.a"}
    if cuda:
        (out / "nvidia-cuda-runtime").mkdir(parents=True)
        (out / "nvidia-cuda-runtime" / "NOTICE").write_text(CUDA_NOTICE)
    named = set()
    found = sources(package_of(files - cuda))
    for source, package in found.items():
        text = pathlib.Path("/usr/share/doc", package, "copyright").read_text(errors="replace")
        folder = out / source.split()[0]
        folder.mkdir(parents=True)
        (folder / "copyright").write_text(text)
        named.update(re.findall(rf"{COMMON}/([\w.-]*\w)", text))
    (out / "common-licenses").mkdir()
    for name in sorted(named):
        shutil.copy(COMMON / name, out / "common-licenses")
    (out / "SOURCES").write_text(SOURCES + "".join(f"{source}\n" for source in sorted(found)))


if __name__ == "__main__":
    main(*sys.argv[1:])
