"""Runs penstock-train for bench/gpu, and makes its data."""
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import processes
from sizes import FULL, Sizes

PRECISION = "bf16"
SAMPLE_RECORDS = 20_000
# Part of the message if the GPU has too little memory. This is no failure.
NO_MEMORY = "training takes"
MESSAGE = 300  # Maximum number of characters from there to its end.
# Time limit of a training in seconds. A training that takes longer counts as hung.
LIMIT = 90
# Options that make the loss smooth, because a loss that jumps amplifies rounding.
SEED = 5
GENTLY = ("--seed", SEED, "--clip-norm", 1, "--lr", 1e-4, "--warmup-steps", 10)


class LeftOut(Exception):
    """Says why something was not measured although nothing failed."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """What every training of a stage has in common."""
    programs: pathlib.Path
    manifest: pathlib.Path
    device: str = "cuda"
    precision: str = PRECISION
    sizes: Sizes = FULL
    log: object = None

    @property
    def data(self):
        return self.manifest.parent


def index(programs, sample, folder, records):
    """Copies `sample` into `folder` until an epoch has `records` records; returns the manifest."""
    folder = pathlib.Path(folder)
    shards = sorted(pathlib.Path(sample).glob("*.tfrecord"))
    for copy in range(-(-records // SAMPLE_RECORDS)):
        for shard in shards:
            shutil.copyfile(shard, folder / f"copy-{copy:03}-{shard.name}")
    subprocess.run([pathlib.Path(programs) / "penstock", "index", folder], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder / "manifest.pb"


def launched(setting, ranks):
    """The command that starts so many ranks, and their options. All share one GPU."""
    if ranks == 1:
        return [], []
    launch = [setting.programs / "penstock", "launch", "-np", ranks]
    if setting.device != "cuda":
        return [*launch, "--"], []
    gpu = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    return [*launch, "--gpus", ",".join([gpu] * ranks), "--"], ["--allow-shared-gpu"]


def missing(found):
    """Whether `found` says why there are no figures."""
    return "left_out" in found or "failed" in found


def no_end(limit, seconds_left):
    """The result of a run that did not end: "failed" if it had its whole limit, else "left_out"."""
    if seconds_left >= limit:
        return {"failed": f"no end within {limit:.0f} s"}
    return {"left_out": "out of time"}


def why_it_ended(output):
    """Returns the end of the output, or the message if memory is short."""
    place = output.find(NO_MEMORY)
    return processes.last_words(output if place < 0 else output[:place + MESSAGE])


def run_program(setting, command, seconds, limit=None, env=None):
    """Returns (output of the program, None), or (None, why there is no result)."""
    limit = LIMIT if limit is None else limit
    if seconds < 1:
        return None, {"left_out": "out of time"}
    ended = processes.run(command, min(limit, seconds), setting.log, env)
    if ended.code is None:
        return None, no_end(limit, seconds)
    if ended.code != 0:
        # The message may stand before many lines of other ranks.
        kind = "left_out" if NO_MEMORY in ended.output else "failed"
        return None, {kind: f"exit {ended.code}: {why_it_ended(ended.output)}"}
    return ended.output, None


def train(setting, model, batch, steps, *options, seconds_left, servers="local:", ranks=1, env=None,
          trace=None, shards=None):
    """Returns a training's summary, its "step_events" and its "output"; or why it was "left_out" or
    "failed". `trace`: the file for --profile-steps. `shards`: virtual shards."""
    launch, shared = launched(setting, ranks)
    with tempfile.TemporaryDirectory(prefix="penstock-train-") as folder:
        folder = pathlib.Path(folder)
        summary, events = folder / "summary.json", folder / "events.jsonl"
        command = [*launch, setting.programs / "penstock-train", *shared, "--manifest",
                   setting.manifest, "--servers", servers, "--device", setting.device, "--precision",
                   setting.precision, "--model", model, "--global-batch-size", batch, "--steps",
                   steps, "--json", summary, "--events", events, "--profile-file",
                   trace or folder / "trace.json", "--virtual-shards",
                   setting.sizes.shards if shards is None else shards, *options]
        output, why = run_program(setting, command, seconds_left(), env=env)
        if why:
            return why
        lines = [json.loads(line) for line in events.read_text().splitlines()]
        return {**json.loads(summary.read_text()), "output": output,
                "step_events": [line for line in lines if line["event"] == "step"]}


def trained(setting, model, batch, steps, *options, seconds_left, ranks=1):
    """Returns what train() returns. Raises LeftOut, or RuntimeError if the training failed."""
    found = train(setting, model, batch, steps, *GENTLY, *options, seconds_left=seconds_left,
                  ranks=ranks)
    if "left_out" in found:
        raise LeftOut(found["left_out"])
    if "failed" in found:
        raise RuntimeError(found["failed"])
    return found


def losses_of(found):
    """Returns the loss of each step."""
    return [step["loss"] for step in found["step_events"]]


def losses(*args, **values):
    """Trains like trained(), and returns the loss of each step."""
    return losses_of(trained(*args, **values))
