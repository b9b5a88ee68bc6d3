"""A root folder that has a compiler, nvcc, CMake, Ninja and Python, but no make, no git, no gRPC and no .git.
It stands for a machine with a GPU that has little software."""
import ctypes
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import sysconfig

PACKAGES = ("g++", "g++-12", "gcc", "gcc-12", "cpp-12", "binutils", "binutils-x86-64-linux-gnu",
            "libstdc++-12-dev", "libgcc-12-dev", "libc6", "libc6-dev", "libcrypt-dev", "linux-libc-dev", "cmake", "cmake-data",
            "ninja-build", "coreutils", "dash", "grep")
NOT_COPIED = re.compile(r"^/usr/share/(doc|man|locale|info|lintian|vim|emacs|bash-completion)|lto1$|/lto-")
PATH = "/opt/python/bin:/usr/bin"
CLONE_NEWNS, MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 1, 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
# Minor numbers of character devices. Their major number is 1.
DEVICES = {"null": 3, "zero": 5, "full": 7, "random": 8, "urandom": 9}
LIBC = ctypes.CDLL(None, use_errno=True)


def mount(source, target, kind, flags=0, data=""):
    """mount(2)."""
    target = pathlib.Path(target)
    target.mkdir(parents=True, exist_ok=True)
    arguments = [str(one).encode() if one else None for one in (source, target, kind)]
    if LIBC.mount(*arguments, flags, data.encode()) != 0:
        raise OSError(ctypes.get_errno(), f"mount {target}")


def own_mounts():
    """Gives this process mounts of its own, which no other process sees and which end with it."""
    if LIBC.unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    mount(None, "/", None, MS_REC | MS_PRIVATE)


def libraries(files):
    """Returns the shared libraries that these programs load."""
    said = subprocess.run(["ldd", *files], capture_output=True, text=True, check=False).stdout
    return {pathlib.Path(path) for path in re.findall(r"^\s.*?(/\S+) \(0x", said, re.M)}


class BareRoot:
    """The folder, a file system in memory. It and all that is mounted in it end with close().
    REQUIRES: own_mounts()."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        mount("tmpfs", self.folder, "tmpfs", data="size=3g")
        for name in ("bin", "sbin", "lib", "lib64"):
            (self.folder / "usr" / name).mkdir(parents=True)
            (self.folder / name).symlink_to(f"usr/{name}")
        self._copy_packages()
        self._copy_python()
        programs = [path for folder in ("usr/bin", "usr/lib/gcc", "opt/python")
                    for path in (self.folder / folder).rglob("*")
                    if path.is_file() and (os.access(path, os.X_OK) or path.suffix == ".so")]
        self.add_libraries(programs, "usr/lib/x86_64-linux-gnu")
        mount("proc", self.folder / "proc", "proc")
        self._make_devices()
        (self.folder / "tmp").mkdir()

    def close(self):
        if LIBC.umount2(str(self.folder).encode(), MNT_DETACH) != 0:
            raise OSError(ctypes.get_errno(), f"umount {self.folder}")

    def _make_devices(self):
        (self.folder / "dev" / "shm").mkdir(parents=True)
        for name, minor in DEVICES.items():
            os.mknod(self.folder / "dev" / name, 0o666 | stat.S_IFCHR, os.makedev(1, minor))

    def _copy(self, path):
        # /lib and /bin are links to folders of /usr.
        target = self.folder / str(path).lstrip("/")
        if target.exists() or target.is_symlink():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target, follow_symlinks=False)

    def _copy_packages(self):
        listed = subprocess.run(["dpkg", "-L", *PACKAGES], capture_output=True, text=True,
                                check=True).stdout.split("\n")
        for name in listed:
            path = pathlib.Path(name)
            if name and not NOT_COPIED.search(name) and (path.is_symlink() or path.is_file()):
                self._copy(path)
        for name, target in (("sh", "dash"), ("c++", "g++"), ("cc", "gcc")):
            link = self.folder / "usr" / "bin" / name
            if not link.exists():
                link.symlink_to(target)

    def _copy_python(self):
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        target = self.folder / "opt" / "python"
        (target / "bin").mkdir(parents=True)
        shutil.copy(os.path.realpath(sys.executable), target / "bin" / "python3")
        shutil.copytree(sysconfig.get_path("stdlib"), target / "lib" / version, symlinks=True,
                        ignore=shutil.ignore_patterns("site-packages", "dist-packages", "test", "idlelib",
                                                      "tkinter", "__pycache__", "config-*", "ensurepip"))

    def add_libraries(self, programs, place):
        """Copies the libraries that these programs load, except those that the root has."""
        for path in libraries(programs):
            has = self.folder / "usr" / "lib" / "x86_64-linux-gnu" / path.name
            if not has.exists() and not path.name.startswith("ld-linux"):
                target = self.folder / place / path.name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)

    def bind(self, source, target):
        """Shows a folder of this machine, read-only."""
        mount(source, self.folder / target, None, MS_BIND)
        mount(None, self.folder / target, None, MS_BIND | MS_REMOUNT | MS_RDONLY)

    def limit(self, name, mebibytes):
        """Makes an empty folder of limited size; returns its path outside the root."""
        mount("tmpfs", self.folder / name, "tmpfs", data=f"size={mebibytes}m")
        return self.folder / name

    def script(self, name, text):
        """Writes a shell script into /usr/bin."""
        path = self.folder / "usr" / "bin" / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)

    def start(self, folder, command, preexec=None, **env):
        """Starts the command in a folder of the root, with these variables and no others."""
        def enter():
            if preexec:
                preexec()
            os.chroot(self.folder)
            os.chdir(folder)
        return subprocess.Popen([*map(str, command)], preexec_fn=enter, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, env={"PATH": PATH, "HOME": "/tmp", **env})
