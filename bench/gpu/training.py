"""Runs penstock-train for bench/gpu, and makes its data."""
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

PRECISION = "bf16"
SAMPLE_RECORDS = 20_000
# Part of the message if the GPU has too little memory. This is no failure.
NO_MEMORY = "training takes"
# Seconds that a training may take. A training that takes longer hangs.
LIMIT = 90


class LeftOut(Exception):
    """Says why something was not measured although nothing failed."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """The programs, the manifest, the device and the precision."""
    programs: pathlib.Path
    manifest: pathlib.Path
    device: str = "cuda"
    precision: str = PRECISION

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


def train(setting, model, batch, steps, *options, seconds_left, servers="local:", ranks=1):
    """A training's summary, its "step_events" and its "stderr"; or why it was "left_out" or
    "failed"."""
    seconds = seconds_left()
    launch, shared = launched(setting, ranks)
    with tempfile.TemporaryDirectory(prefix="penstock-train-") as folder:
        folder = pathlib.Path(folder)
        summary, events = folder / "summary.json", folder / "events.jsonl"
        command = [*launch, setting.programs / "penstock-train", *shared, "--manifest",
                   setting.manifest, "--servers", servers, "--device", setting.device, "--precision",
                   setting.precision, "--model", model, "--global-batch-size", batch, "--steps",
                   steps, "--json", summary, "--events", events, "--profile-file",
                   folder / "trace.json", *options]
        try:
            ended = subprocess.run([*map(str, command)], capture_output=True, text=True,
                                   timeout=max(min(LIMIT, seconds), 1), check=False)
        except subprocess.TimeoutExpired:
            return no_end(LIMIT, seconds)
        if ended.returncode != 0:
            said = " ".join(ended.stderr.split())[-600:]
            return {"left_out" if NO_MEMORY in said else "failed": said}
        lines = [json.loads(line) for line in events.read_text().splitlines()]
        return {**json.loads(summary.read_text()), "stderr": ended.stderr,
                "step_events": [line for line in lines if line["event"] == "step"]}
