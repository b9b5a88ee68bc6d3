"""A hash of what kernels/ compiles to: figures of another hash are stale."""
import hashlib
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUFFIXES = {".h", ".cu", ".cc"}
FLAGS = ["kernels/CMakeLists.txt", "cmake/PenstockCuda.cmake"]


def kernels_hash(root=ROOT):
    """SHA-256 over paths and contents below kernels/, in order of the paths, tests excepted, and of
    what says how nvcc is called."""
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
    """(file, "current" or "stale") of each file of figures, in order."""
    now = kernels_hash(root)
    files = sorted((pathlib.Path(root) / "docs" / "figures" / "gpu").glob("*.json"))
    return [(file.name, "current" if json.loads(file.read_text())["kernels_hash"] == now
             else "stale") for file in files]
