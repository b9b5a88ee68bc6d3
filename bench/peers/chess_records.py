"""Reads records of chess positions without Penstock, and makes the model's inputs of them."""

import struct
import subprocess

import numpy as np
import torch

SIGNS = torch.tensor([1.0, -1.0, 1.0, -1.0])[:, None]


def frames(path):
    """The payloads of a TFRecord file. Those of the sample are compressed by zstd."""
    data, at = path.read_bytes(), 0
    if data[:4] == b"\x28\xb5\x2f\xfd":
        data = subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        yield data[at + 12:at + 12 + length]
        at += length + 16


def fields(data):
    """The fields of a protobuf message: (number, value)."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            size = varint()
            yield tag >> 3, data[at:at + size]
            at += size


def features(payload):
    """The first value of each feature of a tf.train.Example, by name."""
    values = {}
    for _, entry in fields(dict(fields(payload))[1]):
        entry = dict(fields(entry))
        ((kind, values_list),) = fields(entry[2])
        ((_, value),) = fields(values_list)
        if kind == 3:  # The values are packed int64.
            value = next(fields(b"\x08" + value))[1] if isinstance(value, bytes) else value
            value -= (value >> 63) << 64
        values[entry[1].decode()] = value
    return values


def parse(payload):
    """(d, s) of a chess record; d has 194 bytes."""
    values = features(payload)
    return values["d"], values["s"]


def tensors(records):
    """Features [n, 64, 34] and scores [n] by the formulas of docs/reference/decode_spec.md."""
    bits = np.unpackbits(np.frombuffer(b"".join(d for d, _ in records), np.uint8))
    bits = torch.from_numpy(bits.reshape(len(records), 1552).astype(np.float32))
    planes = bits[:, :1536].reshape(-1, 64, 6, 4).transpose(2, 3) * SIGNS
    planes = planes.reshape(-1, 64, 24)
    flags = bits[:, None, 1536:1546].expand(-1, 64, -1)
    s = torch.tensor([s for _, s in records], dtype=torch.float64)
    mate = bits[:, 1546].double()
    far = 0.8 + 0.02 * torch.clamp(11 - s.abs(), min=0)
    score = (1 - mate) * 0.8 * torch.tanh(s / 400) + mate * torch.sign(s) * far
    return torch.cat([planes, flags], dim=2), score.float()
