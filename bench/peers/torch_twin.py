#!/usr/bin/env python3
"""penstock-train beside the same model in PyTorch: parameters, outputs, gradients, speed.

    python3 -m venv /tmp/twin && /tmp/twin/bin/pip install torch numpy safetensors
    /tmp/twin/bin/python bench/peers/torch_twin.py --bin build/release/bin --data sample

Both start from the same safetensors file and see the same records. Outputs are those of `predict`;
gradients are the first moment after one step over 1 - beta1; both losses are after `--steps` steps
on the same batches. Then both train by turns, and the medians of their rates are compared.
Not part of ./check: PyTorch is a large download.
"""

import argparse
import json
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file

SIZES = {"tiny": (4, 64, 4, 128), "default": (8, 256, 8, 512), "large": (12, 512, 16, 2048)}
COUNTS = {"tiny": 144_577, "default": 4_308_737, "large": 38_143_489}
SIGNS = torch.tensor([1.0, -1.0, 1.0, -1.0])[:, None]
FENS = """rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1
rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1
r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3
8/8/8/4k3/8/4K3/4P3/8 w - - 0 1
8/5k2/8/8/8/2R5/5K2/8 b - - 12 40
r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 90 60""".splitlines()


def frames(path):
    """The payloads of a TFRecord file; the sample's are zstd's."""
    data, at = path.read_bytes(), 0
    if data[:4] == b"\x28\xb5\x2f\xfd":
        data = subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        yield data[at + 12:at + 12 + length]
        at += length + 16


def fields(data):
    """Protobuf's fields: (number, value)."""
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


def parse(payload):
    """(194 bytes, s) of a chess record."""
    values = {}
    for _, entry in fields(dict(fields(payload))[1]):
        entry = dict(fields(entry))
        ((kind, values_list),) = fields(entry[2])
        ((_, value),) = fields(values_list)
        if kind == 3:  # A packed int64.
            value = next(fields(b"\x08" + value))[1] if isinstance(value, bytes) else value
            value -= (value >> 63) << 64
        values[entry[1].decode()] = value
    return values["d"], values["s"]


def tensors(records):
    """Features [n, 64, 34] and scores [n] by the formulas of docs/decode_spec.md."""
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


class Twin(torch.nn.Module):
    def __init__(self, weights, heads):
        super().__init__()
        self.heads = heads
        self.layers = sum(name.endswith(".qkv.weight") for name in weights)
        self.p = torch.nn.ParameterDict(
            {name.replace(".", "/"): torch.nn.Parameter(value) for name, value in weights.items()})

    def linear(self, name, x):
        return F.linear(x, self.p[name + "/weight"], self.p[name + "/bias"])

    def norm(self, name, x):
        return F.layer_norm(x, x.shape[-1:], self.p[name + "/weight"], self.p[name + "/bias"], 1e-5)

    def forward(self, x):
        gelu = lambda t: F.gelu(t, approximate="tanh")
        x = self.linear("embed", x) + self.p["position"]
        batch, tokens, dim = x.shape
        for i in range(self.layers):
            block = f"blocks/{i}/"
            qkv = self.linear(block + "qkv", self.norm(block + "norm1", x))
            q, k, v = qkv.view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(q, k, v)
            x = x + self.linear(block + "proj", y.transpose(1, 2).reshape(batch, tokens, dim))
            x = x + self.linear(block + "fc2",
                                gelu(self.linear(block + "fc1", self.norm(block + "norm2", x))))
        x = self.norm("norm", x).mean(dim=1)
        return torch.tanh(self.linear("head/fc2", gelu(self.linear("head/fc1", x)))).squeeze(-1)

    def optimizer(self, lr):
        matrices = [p for n, p in self.p.items() if n.endswith("weight") and p.dim() == 2]
        others = [p for n, p in self.p.items() if not (n.endswith("weight") and p.dim() == 2)]
        return torch.optim.AdamW([{"params": matrices, "weight_decay": 0.01},
                                  {"params": others, "weight_decay": 0}], lr=lr, fused=True)


class Penstock:
    def __init__(self, args, folder):
        self.args, self.folder = args, pathlib.Path(folder)
        self.manifest = self.folder / "manifest.pb"
        self.run("penstock", "index", args.data, "-o", self.manifest, "--absolute")

    def run(self, program, *args):
        result = subprocess.run([str(pathlib.Path(self.args.bin) / program), *map(str, args)],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if result.returncode != 0:
            sys.exit(f"{program} {' '.join(map(str, args))}\n{result.stderr}")
        return result.stdout

    def train(self, steps, *args):
        summary = self.folder / "summary.json"
        self.run("penstock-train", "--manifest", self.manifest, "--model", self.args.model,
                 "--global-batch-size", self.args.batch, "--steps", steps, "--json", summary,
                 "--threads", self.args.threads, *args)
        return json.loads(summary.read_text())

    def checkpoint(self, name):
        return max((self.folder / name).glob("step-*.ckpt"))

    def moments(self, name):
        """Step 1's first moments by parameter, over 1 - beta1: the gradient."""
        data = self.checkpoint(name).read_bytes()
        _, _, json_size, size = struct.unpack_from("<8sIIQ", data)
        info = json.loads(data[24:24 + json_size])
        m = np.frombuffer(data, np.float32, size // 12, 24 + json_size + size // 3)
        out, at = {}, 0
        for parameter in info["parameters"]:
            count = int(np.prod(parameter["shape"]))
            out[parameter["name"]] = m[at:at + count].reshape(parameter["shape"]) / 0.1
            at += count
        return out

    def records(self, step):
        rows = json.loads(self.run("penstock", "which", self.manifest, "--split", "train", "--step",
                                   step, "--global-batch-size", self.args.batch, "--json"))["rows"]
        shards = {}
        for row in rows:
            if row["shard"] not in shards:
                path = pathlib.Path(row["shard"])
                path = path if path.is_absolute() else pathlib.Path(self.args.data) / path
                shards[row["shard"]] = list(frames(path))
        return [parse(shards[row["shard"]][row["record"]]) for row in rows]


def relative(a, b):
    a, b = torch.as_tensor(a).double(), torch.as_tensor(b).double()
    return float((a - b).norm() / b.norm())


def compare(penstock, args, weights_file, result):
    heads = SIZES[args.model][2]
    twin = Twin(load_file(weights_file), heads)
    result["parameters"] = sum(p.numel() for p in twin.parameters())
    assert result["parameters"] == COUNTS[args.model], result

    lines = penstock.folder / "positions.tsv"
    lines.write_text("".join(f"{fen}\t+0\n" for fen in FENS))
    penstock.run("penstock", "pack", lines, "-o", penstock.folder / "packed", "--records-per-shard",
                 1000)
    packed = [parse(r) for shard in sorted((penstock.folder / "packed").glob("*.tfrecord"))
              for r in frames(shard)]
    fens = [argument for fen in FENS for argument in ("--fen", fen)]
    ours = json.loads(penstock.run("penstock-train", "predict", "--checkpoint",
                                   penstock.checkpoint("start"), "--json", *fens))
    with torch.no_grad():
        theirs = twin(tensors(packed)[0])
    result["output_max_difference"] = float(
        (torch.tensor([o["score"] for o in ours]) - theirs).abs().max())

    penstock.train(1, "--init-from", weights_file, "--checkpoint-dir", penstock.folder / "one")
    gradients = penstock.moments("one")
    x, y = tensors(penstock.records(0))
    F.mse_loss(twin(x), y).backward()
    result["gradient_relative_differences"] = max(
        relative(gradients[name.replace("/", ".")], p.grad) for name, p in twin.p.items())

    twin = Twin(load_file(weights_file), heads)
    optimizer = twin.optimizer(1e-3)
    ours = penstock.train(args.steps, "--init-from", weights_file)
    losses = []
    for step in range(args.steps):
        x, y = tensors(penstock.records(step))
        losses.append(train_step(twin, optimizer, x, y, False))
    result["losses_at_the_end"] = [ours["loss_end"], statistics.mean(losses[-10:])]


def train_step(twin, optimizer, x, y, bf16):
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
        loss = F.mse_loss(twin(x).float(), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss.item()


def twin_rate(args, weights_file, x, y, bf16):
    twin = Twin(load_file(weights_file), SIZES[args.model][2])
    optimizer = twin.optimizer(1e-3)
    train_step(twin, optimizer, x, y, bf16)
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < args.seconds:
        train_step(twin, optimizer, x, y, bf16)
        steps += 1
    return steps * args.batch / (time.perf_counter() - start)


def measure(penstock, args, weights_file, result):
    x, y = tensors(penstock.records(0))
    rates = {"penstock": [], "penstock_bf16": [], "twin": [], "twin_bf16": []}
    steps = 8
    for _ in range(args.repetitions):
        for name, precision in ("penstock", "fp32"), ("penstock_bf16", "bf16"):
            ours = penstock.train(steps, "--precision", precision)
            rates[name].append(ours["positions_per_second"])
        steps = max(8, int(args.seconds * ours["positions_per_second"] / args.batch))
        rates["twin"].append(twin_rate(args, weights_file, x, y, False))
        rates["twin_bf16"].append(twin_rate(args, weights_file, x, y, True))
    result["positions_per_second"] = {
        name: {"median": statistics.median(r), "min": min(r), "max": max(r)}
        for name, r in rates.items()}
    medians = {name: statistics.median(r) for name, r in rates.items()}
    result["times_the_twin"] = medians["penstock"] / medians["twin"]
    result["bf16_times_the_twin"] = medians["penstock_bf16"] / medians["twin"]
    result["bf16_times_the_bf16_twin"] = medians["penstock_bf16"] / medians["twin_bf16"]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--data", default="sample")
    parser.add_argument("--model", choices=SIZES, default="tiny")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=20, help="of the comparison of losses")
    parser.add_argument("--seconds", type=float, default=2, help="of each measurement")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--no-parity", action="store_true", help="measure speed alone")
    parser.add_argument("--no-speed", action="store_true", help="compare alone")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    result = {"model": args.model, "batch": args.batch, "threads": args.threads,
              "torch": torch.__version__}
    with tempfile.TemporaryDirectory(prefix="torch-twin-") as folder:
        penstock = Penstock(args, folder)
        penstock.train(1, "--lr", 1e-30, "--weight-decay", 0, "--checkpoint-dir",
                       penstock.folder / "start")
        weights_file = penstock.folder / "start.safetensors"
        penstock.run("penstock-train", "export", "--checkpoint", penstock.checkpoint("start"),
                     "--to", weights_file)
        if not args.no_parity:
            compare(penstock, args, weights_file, result)
        if not args.no_speed:
            measure(penstock, args, weights_file, result)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
