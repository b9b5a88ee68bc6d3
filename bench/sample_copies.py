"""The sample's shards, many times, as data that is larger than it."""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/e2e"))

from servers import BIN, REPOSITORY  # noqa: E402


def make_copies(data, copies, content=pathlib.Path.read_bytes):
    """The paths of the shards in the new folder `data`, with a manifest.pb beside them.

    `content` makes a copy's bytes of the sample's shard.
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
