"""Chess positions in TFRecord shards as PyTorch datasets: the usual form and a fast one.

Positions reads and parses one record for each __getitem__. Batches cuts whole batches out of the
mapped shards with NumPy. This works only because all these records have the same layout.
"""

import pathlib
import struct
import sys

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
from chess_records import features  # noqa: E402

PLANE_BYTES = 192  # Bytes of the planes in the feature "d". Its flags follow them.


class Positions(torch.utils.data.Dataset):
    """int8 planes [8, 8, 24] and the score of one record. Shards must be uncompressed."""

    def __init__(self, folder):
        paths = sorted(pathlib.Path(folder).glob("*.tfrecord"))
        self.shards = [np.memmap(path, np.uint8, "r") for path in paths]
        self.places = np.concatenate([self._places(i) for i in range(len(paths))])

    def _places(self, shard):
        """An array [records, 3]: shard, offset of the payload, length of the payload."""
        data, at, found = self.shards[shard], 0, []
        while at < len(data):
            (length,) = struct.unpack_from("<Q", data, at)
            found.append((shard, at + 12, length))
            at += length + 16
        return np.array(found)

    def __len__(self):
        return len(self.places)

    def __getitem__(self, index):
        shard, at, length = self.places[index]
        values = features(self.shards[shard][at:at + length].tobytes())
        bits = np.unpackbits(np.frombuffer(values["d"], np.uint8, PLANE_BYTES))
        planes = torch.from_numpy(bits.view(np.int8).reshape(8, 8, 24))
        return planes, np.float32(values["s"])


class Batches(torch.utils.data.Dataset):
    """A shuffled batch for each number. The planes are at the same offset in all records."""

    def __init__(self, positions, batch):
        self.positions, self.batch = positions, batch
        self.order = np.random.default_rng(1).permutation(len(positions))
        shard, at, length = positions.places[0]
        payload = positions.shards[shard][at:at + length].tobytes()
        self.planes_at = payload.index(features(payload)["d"])

    def __len__(self):
        return len(self.order) // self.batch

    def __getitem__(self, number):
        chosen = self.order[number * self.batch:(number + 1) * self.batch]
        places = self.positions.places[chosen]
        packed = np.empty((self.batch, PLANE_BYTES), np.uint8)
        for shard in np.unique(places[:, 0]):
            rows = np.flatnonzero(places[:, 0] == shard)
            starts = places[rows, 1] + self.planes_at
            packed[rows] = self.positions.shards[shard][starts[:, None] + np.arange(PLANE_BYTES)]
        return torch.from_numpy(np.unpackbits(packed, axis=1).view(np.int8).reshape(-1, 8, 8, 24))
