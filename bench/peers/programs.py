"""Runs Penstock's programs for the comparisons."""

import json
import pathlib
import struct
import subprocess
import sys

import numpy as np

import chess_records


class Penstock:
    """Runs the programs on one data set. `args` has bin, data, model, batch and threads. `model_args`
    are for penstock-train alone, `source_args` for every program that reads records. `parse` turns the
    bytes of a record into values."""

    def __init__(self, args, folder, *index_args, model_args=(), source_args=(), dtype="packed",
                 parse=chess_records.parse):
        self.args, self.folder = args, pathlib.Path(folder)
        # The manifest names the shards by absolute paths.
        source_args = ("--data-root", "/", *source_args)
        self.model_args, self.source_args, self.dtype = model_args, source_args, dtype
        self.parse = parse
        self.manifest = self.folder / "manifest.pb"
        self.shards = {}  # The parsed records of each shard.
        self.run("penstock", "index", args.data, "-o", self.manifest, "--absolute", *index_args)

    def run(self, program, *args):
        result = subprocess.run([str(pathlib.Path(self.args.bin) / program), *map(str, args)],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if result.returncode != 0:
            sys.exit(f"{program} {' '.join(map(str, args))}\n{result.stderr}")
        return result.stdout

    def train(self, steps, *args):
        summary = self.folder / "summary.json"
        self.run("penstock-train", "--manifest", self.manifest, "--device", "cpu",
                 "--model", self.args.model, *self.model_args, *self.source_args,
                 "--global-batch-size", self.args.batch, "--steps", steps, "--json", summary,
                 "--threads", self.args.threads, *args)
        return json.loads(summary.read_text())

    def events(self, steps, *args):
        """The step events of a training of so many steps, and its summary."""
        events = self.folder / "events.jsonl"
        summary = self.train(steps, "--events", events, *args)
        lines = (json.loads(line) for line in events.read_text().splitlines())
        return [line for line in lines if line["event"] == "step"], summary

    def rate(self, steps, *args):
        """Samples per second without the first step, which touches memory for the first time."""
        lines, _ = self.events(steps + 1, *args)
        seconds = [sum(line["times_s"].values()) for line in lines]
        return steps * self.args.batch / sum(seconds[1:])

    def checkpoint(self, name):
        return max((self.folder / name).glob("step-*.ckpt"))

    def moments(self, name):
        """The gradient of step 1 by parameter: its first moment divided by 1 - beta1."""
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

    def untrained(self, name, *args):
        """Saves a checkpoint of the initial weights, by a step that changes nothing."""
        self.train(1, "--lr", 1e-30, "--weight-decay", 0, "--checkpoint-dir", self.folder / name,
                   *args)

    def initial_weights(self, seed):
        """A safetensors file of the initial weights."""
        name = f"start-{seed}"
        self.untrained(name, "--seed", seed)
        weights = self.folder / f"{name}.safetensors"
        self.run("penstock-train", "export", "--checkpoint", self.checkpoint(name), "-o", weights)
        return weights

    def order(self, split, *args):
        """The records of a split in a trainer's order, and the digest of their rows."""
        ids = self.folder / "ids"
        digest = json.loads(self.run(
            "penstock", "stream", self.manifest, *self.source_args, "--split", split, "--dtype",
            self.dtype, "--digest", "--json", "-", "--global-batch-size", self.args.batch, "--ids", ids,
            *args))["digest"]
        rows = (line.rsplit("\t", 1) for line in ids.read_text().splitlines())
        return [self.record(shard, int(number)) for shard, number in rows], digest

    def record(self, shard, number):
        """A parsed record."""
        if shard not in self.shards:
            path = pathlib.Path(shard)
            path = path if path.is_absolute() else pathlib.Path(self.args.data) / path
            self.shards[shard] = [self.parse(r) for r in chess_records.frames(path)]
        return self.shards[shard][number]

    def records(self, step):
        rows = json.loads(self.run("penstock", "which", self.manifest, *self.source_args, "--split",
                                   "train", "--step", step, "--global-batch-size", self.args.batch,
                                   "--json", "-"))["rows"]
        return [self.record(row["shard"], row["record"]) for row in rows]
