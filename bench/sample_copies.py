"""Copies of the sample's shards, for data that is larger than the sample."""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/e2e"))

from servers import BIN, REPOSITORY  # noqa: E402


def make_copies(data, copies, content=pathlib.Path.read_bytes):
    """Makes the folder `data` with shards and a manifest.pb; returns the paths of the shards.

    `content` maps the path of a sample's shard to the bytes of its copies.
    """
    data.mkdir()
    shards = []
    for shard in sorted((REPOSITORY / "sample").glob("*.tfrecord")):
        copied = content(shard)
        for copy in range(copies):
            shards.append(data / f"{copy}-{shard.name}")
            shards[-1].write_bytes(copied)
    subprocess.run([BIN / "penstock", "index", data, "-o", data / "manifest.pb"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return shards
