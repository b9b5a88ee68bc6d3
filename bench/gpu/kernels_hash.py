"""A hash of the sources of kernels/. Figures with another hash are stale."""
import hashlib
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUFFIXES = {".h", ".cu", ".cc"}
FLAGS = ["kernels/CMakeLists.txt", "cmake/PenstockCuda.cmake"]


def kernels_hash(root=ROOT):
    """SHA-256 over paths and contents of the sources below kernels/ without tests, in order of the
    paths, and of the files that set the flags of nvcc."""
    digest = hashlib.sha256()
    root = pathlib.Path(root)
    sources = [path for path in sorted((root / "kernels").rglob("*"))
               if path.suffix in SUFFIXES and not path.name.endswith("_test.cc")]
    for path in sources + [root / name for name in FLAGS]:
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def states(root=ROOT):
    """(file, "current" or "stale") for each file of figures, in order."""
    now = kernels_hash(root)
    files = sorted((pathlib.Path(root) / "docs" / "figures" / "gpu").glob("*.json"))
    return [(file.name, "current" if json.loads(file.read_text())["kernels_hash"] == now
             else "stale") for file in files]
