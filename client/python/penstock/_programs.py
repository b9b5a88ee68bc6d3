"""Finds the programs that this package starts, and defines the commands that run them.

Programs are searched in these places; the first one that exists decides:

1. the folder that the environment variable ``PENSTOCK_BIN`` names;
2. ``penstock/bin``, where the wheel puts them;
3. ``build/release/bin``, if this package is in a checkout of Penstock.
"""

from __future__ import annotations

import os
import pathlib
import platform
import signal
import sys
from typing import NoReturn

PROGRAMS = ("penstock", "penstock-server", "penstock-train")

_PACKAGE = pathlib.Path(__file__).resolve().parent
# Shells end with these codes if they cannot start a command.
_CANNOT_EXECUTE = 126
_NOT_FOUND = 127


def program(name: str) -> str:
    """Returns the path of a program of Penstock.

    Args:
        name: one of ``PROGRAMS``.

    Raises:
        FileNotFoundError: it does not exist; the message says how to build or install it.
        PermissionError: it exists, but this machine may not execute it.

    Example:
        >>> subprocess.run([program("penstock"), "--version"])
    """
    if name not in PROGRAMS:
        raise ValueError(f"Penstock has no program {name!r}; it has {', '.join(PROGRAMS)}")
    chosen = os.environ.get("PENSTOCK_BIN")
    if chosen:
        path = pathlib.Path(chosen, name)
        advice = f"PENSTOCK_BIN is {chosen!r}: set it to the folder that has {name}, or unset it"
    else:
        path, advice = _installed(name)
    if not path.is_file():
        raise FileNotFoundError(f"no program {path}. {advice}")
    if not os.access(path, os.X_OK):
        raise PermissionError(_why_not_executable(path))
    # An absolute path stays right after a change of the working folder.
    return str(path.absolute())


def checkout() -> pathlib.Path | None:
    """Returns the checkout of Penstock that contains this package; None if the package is
    installed."""
    root = _PACKAGE.parents[2]
    inside = (root / "client" / "python" / "penstock").resolve() == _PACKAGE
    return root if inside and (root / "CMakeLists.txt").is_file() else None


def _installed(name: str) -> tuple[pathlib.Path, str]:
    """Returns the program's path in the wheel or a build, and advice in case it is missing."""
    path = _PACKAGE / "bin" / name
    root = checkout()
    if root is not None and not path.is_file():
        path = root / "build" / "release" / "bin" / name
        return path, (f"Build it: cd {root} && .ci/install.sh && "
                      f".ci/build.sh release --target {name}")
    if name == "penstock-train":
        return path, ("The package for Python comes without it: build it in a checkout of "
                      "Penstock, and set PENSTOCK_BIN to the folder that has it")
    return path, "Install the package again: pip install --force-reinstall penstock"


def _why_not_executable(path: pathlib.Path) -> str:
    if os.statvfs(path).f_flag & os.ST_NOEXEC:
        return (f"{path} lies on a file system that is mounted noexec: install the package on "
                "another one, or copy the programs to one and set PENSTOCK_BIN to their folder")
    return f"{path} is not executable: chmod +x {path}"


def run(name: str) -> NoReturn:
    """Replaces this process by the program, which keeps its process id, arguments and open files.

    Exits with 127 if the program does not exist and 126 if it cannot be started, as shells do.
    """
    try:
        path = program(name)
    except FileNotFoundError as error:
        _end(_NOT_FOUND, f"{name}: {error}")
    except PermissionError as error:
        _end(_CANNOT_EXECUTE, f"{name}: {error}")
    _restore_signals()
    try:
        os.execv(path, [path, *sys.argv[1:]])
    except OSError as error:
        _end(_CANNOT_EXECUTE, f"{name}: {path} cannot be started: {error.strerror}; "
             f"it needs Linux on x86-64, this is {platform.system()} on {platform.machine()}")


def _end(code: int, message: str) -> NoReturn:
    print(message, file=sys.stderr)
    sys.exit(code)


def _restore_signals() -> None:
    """Python ignores these signals, and a program inherits that: `| head` would not end it."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


def run_penstock() -> NoReturn:
    """The command ``penstock``."""
    run("penstock")


def run_penstock_server() -> NoReturn:
    """The command ``penstock-server``."""
    run("penstock-server")
