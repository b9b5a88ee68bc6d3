"""Finds what this machine has: its GPU, its tools and NVIDIA's libraries."""
import datetime
import glob
import os
import pathlib
import shutil
import subprocess
import sys

import kernels_hash


def output(*command):
    """Returns the output of the command, or "" if it cannot run: driver and commit are only notes."""
    try:
        return subprocess.run(command, cwd=kernels_hash.ROOT, capture_output=True, text=True,
                              check=True, timeout=60).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def has_gpu():
    """Returns whether the driver has a device. The programs ask CUDA itself."""
    return os.path.exists("/dev/nvidiactl") or bool(output("nvidia-smi", "-L"))


def nvcc():
    """Returns nvcc's path, or None. A toolkit is often outside $PATH."""
    folders = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
    return shutil.which("nvcc") or next(filter(None, (
        shutil.which("nvcc", path=f"{folder}/bin") for folder in folders if folder)), None)


def facts(commit):
    """Returns what the file of a stage says about this machine and these sources."""
    ask = lambda what: output("nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader")
    return {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "commit": commit, "command": " ".join(["bench/gpu/contact", *sys.argv[1:]]),
            "device": ask("name").split("\n")[0], "driver": ask("driver_version").split("\n")[0],
            "nvcc": output(nvcc() or "nvcc", "--version").splitlines()[-1:],
            "cores": len(os.sched_getaffinity(0)),
            "kernels_hash": kernels_hash.kernels_hash()}


def nvidia_packages(python):
    """Returns the folders of NVIDIA's packages in a Python."""
    return output(python, "-c", "import nvidia; print(*nvidia.__path__, sep='\\n')").splitlines()


def nvidia_folders(python):
    """Returns the folders of NVIDIA's libraries in a Python's packages, for PENSTOCK_CUDA_LIBS."""
    found = [lib for root in nvidia_packages(python) for lib in sorted(glob.glob(f"{root}/*/lib"))]
    return ":".join(filter(None, [os.environ.get("PENSTOCK_CUDA_LIBS", ""), *found]))


def compute_sanitizer(python):
    """Returns the path of compute-sanitizer in $PATH, in the toolkit or in a Python's packages, or None."""
    folders = [f"{os.environ.get('CUDA_HOME', '/usr/local/cuda')}/bin"]
    for root in nvidia_packages(python):
        folders += glob.glob(f"{root}/*/bin") + glob.glob(f"{root}/*/compute-sanitizer")
    return shutil.which("compute-sanitizer") or shutil.which(
        "compute-sanitizer", path=os.pathsep.join(folders))


def has_torch(python):
    if not shutil.which(python):
        return False
    return subprocess.run([python, "-c", "import torch"], capture_output=True,
                          check=False).returncode == 0


def commit_of(root=kernels_hash.ROOT):
    """Returns the commit of a checkout, or "" without git."""
    if not (pathlib.Path(root) / ".git").exists():
        return ""
    return output("git", "-C", root, "describe", "--always", "--dirty", "--abbrev=12")
