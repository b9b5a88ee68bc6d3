"""The stage `trace` of bench/gpu/contact: traces some steps with CUPTI, for the idle time between step
graphs and inside them, and checks that the ranges of NVTX reach a tool. The runs are apart from those
of `model`, because tracing costs time."""
import collections
import gzip
import pathlib
import tempfile

from model import put
from training import missing, train

MOST_FILE = 15 << 20  # Size limit in bytes: a file is easy to copy if it has at most 16 MiB.
NVTX_STEPS = 3


def shares(device):
    """Returns the shares of time in which a summary's "device" was busy and idle, or which figure is
    missing. A share that is None is unknown."""
    times = device["sum"]
    for figure in ("steps", "busy_us"):
        if not times.get(figure):
            return {"left_out": f"the trace by {device['source']} has {figure} {times.get(figure)}"}
    idle = {what: times.get(f"idle_{what}_us") for what in ("before", "between_launches", "inside")}
    whole = times["busy_us"] + sum(value or 0 for value in idle.values())
    return {"source": device["source"], "steps": times["steps"],
            "step_ms": whole / times["steps"] / 1e3, "busy": times["busy_us"] / whole,
            **{f"idle_{what}": None if value is None else value / whole
               for what, value in idle.items()}}


def keep(trace, out, model):
    """Compresses the trace into --out; returns its name, or why it is not there."""
    packed = gzip.compress(trace.read_bytes())
    if len(packed) > MOST_FILE:
        return f"left out: it has {len(packed)} bytes"
    (out / f"trace-{model}.json.gz").write_bytes(packed)
    return f"trace-{model}.json.gz"


def trace_model(setting, model, stage):
    """Returns the idle time between step graphs and inside them, or why there is none."""
    if stage.seconds_left() < 10:
        return {"left_out": "out of time"}
    first = setting.sizes.warm_up + 1
    last = first + setting.sizes.traced
    with tempfile.TemporaryDirectory(prefix="penstock-trace-") as folder:
        file = pathlib.Path(folder) / "trace.json"
        found = train(setting, model, setting.sizes.rates[model][3], last, "--profile-steps",
                      f"{first}:{last}", seconds_left=stage.seconds_left, trace=file)
        if missing(found):
            return found
        notes = [line for line in found["output"].splitlines() if "--profile-steps: " in line]
        if "device" not in found:
            return {"left_out": " ".join(notes)[:300] or "no GPU was traced"}
        return {**shares(found["device"]), "notes": notes, "file": keep(file, stage.out, model)}


def nvtx(setting, model, stage):
    """Returns how often each range was begun, as the tool beside the programs counts them."""
    tool = setting.programs / "nvtx_tool.so"
    if not tool.exists():
        return {"left_out": f"no {tool}"}
    with tempfile.TemporaryDirectory(prefix="penstock-nvtx-") as folder:
        seen = pathlib.Path(folder) / "seen"
        found = train(setting, model, setting.sizes.bits[model][0], NVTX_STEPS,
                      seconds_left=stage.seconds_left, env={
                          "NVTX_INJECTION64_PATH": str(tool), "PENSTOCK_NVTX_SEEN": str(seen)})
        if missing(found):
            return found
        if not seen.exists():
            return {"failed": "the program did not load the tool of NVTX_INJECTION64_PATH"}
        counts = collections.Counter(seen.read_text().split("\n")[:-1])
    # One more range may begin: that of a step that finds the end of the training.
    if not NVTX_STEPS <= counts.get("step", 0) <= NVTX_STEPS + 1:
        return {"failed": f"{counts.get('step', 0)} ranges `step` in {NVTX_STEPS} steps: {dict(counts)}"}
    return {"ranges": dict(counts)}


def run(setting, stage):
    for model in setting.sizes.rates:
        stage.begin(f"trace of {model}")
        put(stage, trace_model(setting, model, stage), "trace", model)
    stage.begin("nvtx")
    put(stage, nvtx(setting, next(iter(setting.sizes.bits)), stage), "trace", "nvtx")
