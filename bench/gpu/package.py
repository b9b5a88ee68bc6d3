"""The folder that bench/gpu/pack makes and bench/gpu/contact reads: sources that a stage needs, the
programs, compressed, and pack.json."""
import hashlib
import json
import pathlib
import shutil
import subprocess
import tarfile

import kernels_hash

ROOT = kernels_hash.ROOT
FACTS = "pack.json"
PROGRAMS = "programs.tar.xz"  # With gzip it would be a quarter larger: 43 MiB instead of 34.
MOST_BYTES = 48 << 20
# Programs in the folder bin of a portable build.
NEEDED = ("penstock", "penstock-server", "penstock-train", "trainer_gpu_test", "kernels_check_bench")
NVTX_TOOL = "nvtx_tool.so"
# Files and folders of the checkout. kernels/ is for its hash, and to build kernels_check_bench if a
# package has none.
SOURCES = ("CMakeLists.txt", "LICENSE", "bench/gpu", "bench/peers/twin.py", "bench/peers/twin_speed.py",
           "cmake", "deploy/demo/patterns.py", "deploy/demo/png.py", "kernels", "sample")


def facts(root=ROOT):
    """Returns what pack.json says; {} in a checkout."""
    file = pathlib.Path(root) / FACTS
    return json.loads(file.read_text()) if file.exists() else {}


def size_of(folder):
    return sum(path.stat().st_size for path in pathlib.Path(folder).rglob("*") if path.is_file())


def copy_sources(out, root=ROOT):
    ignore = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in SOURCES:
        source, target = pathlib.Path(root) / name, pathlib.Path(out) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=ignore)
        else:
            shutil.copy(source, target)


def compress(programs, archive):
    """Packs these programs; returns {name: {bytes, sha256}}."""
    found = {}
    with tarfile.open(archive, "w:xz") as tar:
        for program in programs:
            data = pathlib.Path(program).read_bytes()
            found[program.name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            tar.add(program.resolve(), arcname=program.name)
    return found


def make_once(folder, fill):
    """Makes the folder with `fill(draft)` unless it exists. A folder that exists is whole, even if an
    earlier attempt was cut off."""
    folder = pathlib.Path(folder)
    if not folder.exists():
        draft = folder.with_suffix(".part")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        fill(draft)
        draft.rename(folder)
    return folder


def unpack(root, state):
    """Returns the folder of the package's programs, unpacked once into `state`; None in a checkout."""
    archive = pathlib.Path(root) / PROGRAMS
    if not archive.exists():
        return None
    name = hashlib.sha256(archive.read_bytes()).hexdigest()[:16]

    def extract(draft):
        try:
            with tarfile.open(archive) as tar:
                tar.extractall(draft)
        except tarfile.TarError:  # Some Pythons have no lzma.
            subprocess.run(["tar", "-xJf", archive, "-C", draft], check=True)
    return make_once(pathlib.Path(state) / f"programs-{name}", extract)
