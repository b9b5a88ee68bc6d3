"""The stage `fed` of bench/gpu/contact: measures what feeding the GPU takes.

A penstock-server on this machine serves packed records over gRPC and through shared memory. The time
that the training waits, and the CPU time of the server, tell how many server cores one GPU needs.
"""
import contextlib
import os
import pathlib
import statistics
import tempfile
import time

import processes
from model import put
from training import missing, train

STARTS_WITHIN = 60  # Time limit in seconds.
WAYS = {"grpc": ("--no-shm",), "shared_memory": ()}


def cpu_seconds(pid):
    """Returns the user and system time of a process."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def server(setting, folder):
    """Yields (process, address) of a server that serves the data both ways."""
    folder = pathlib.Path(folder)
    address = folder / "address"
    command = [setting.programs / "penstock-server", "--data-root", setting.data, "--listen",
               "127.0.0.1:0", "--address-file", address, "--shm-socket", folder / "shm"]
    with open(folder / "log", "w") as log, processes.background(command, log) as process:
        deadline = time.monotonic() + STARTS_WITHIN
        while not address.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("penstock-server did not start: " +
                                   (folder / "log").read_text()[-300:])
            time.sleep(0.01)
        yield process, address.read_text().strip()


def figures(found, batch, warm_up, server_seconds):
    """Returns the figures of a training. `server_seconds` is the CPU time of its server."""
    steps = [step["times_s"] for step in found["step_events"]][warm_up:]
    rate = batch / statistics.median(sum(step.values()) for step in steps)
    per_core = found["positions"] / server_seconds if server_seconds > 0 else None
    return {"positions_per_second": rate,
            "input_wait_share": (sum(step["input"] for step in steps) /
                                 sum(sum(step.values()) for step in steps)),
            "positions_per_second_of_a_server_core": per_core,
            "server_cores_needed": rate / per_core if per_core else None}


def measure(setting, model, way, seconds_left):
    """Returns the figures of one training that a new server feeds, or why there are none."""
    if seconds_left() < 10:
        return {"left_out": "out of time"}
    *_, batch, steps = setting.sizes.rates[model]
    try:
        with tempfile.TemporaryDirectory(prefix="penstock-fed-") as folder, \
                server(setting, folder) as (process, address):
            before = cpu_seconds(process.pid)
            found = train(setting, model, batch, steps, *WAYS[way], servers=address,
                          seconds_left=seconds_left)
            if missing(found):
                return found
            return figures(found, batch, setting.sizes.warm_up, cpu_seconds(process.pid) - before)
    except (OSError, RuntimeError) as error:
        return {"failed": str(error)}


def run(setting, stage):
    for model in setting.sizes.rates:
        for way in WAYS:
            stage.begin(f"{model} {way}")
            put(stage, measure(setting, model, way, stage.seconds_left), "fed", model, way)
