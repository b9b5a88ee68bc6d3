"""A hash of what kernels/ compiles to: figures of another hash are stale."""
import hashlib
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUFFIXES = {".h", ".cu", ".cc"}


def kernels_hash(root=ROOT):
    """SHA-256 over paths and contents below kernels/, in order of the paths; tests excepted."""
    digest = hashlib.sha256()
    folder = pathlib.Path(root) / "kernels"
    for path in sorted(folder.rglob("*")):
        if path.suffix not in SUFFIXES or path.name.endswith("_test.cc"):
            continue
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def states(root=ROOT):
    """(file, "current" or "stale") of each file of figures, in order."""
    now = kernels_hash(root)
    files = sorted((pathlib.Path(root) / "docs" / "gpu").glob("*.json"))
    return [(file.name, "current" if json.loads(file.read_text())["kernels_hash"] == now
             else "stale") for file in files]
