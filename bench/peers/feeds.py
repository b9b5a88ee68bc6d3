"""What programs have in common that make batches without end by other frameworks.

    python3 PROGRAM CONTENDER DATA --batch-size N --waits FILE [--service ADDRESS]
    python3 PROGRAM service --address-file FILE

The time of arrival of each batch is written to --waits, as by `penstock stream`. `service` is a
dispatcher and a worker of tf.data service. The exit code is 77 if a framework or one of its
dependencies is missing.
"""

import argparse
import os
import pathlib
import sys
import time

from program_turns import SKIPPED

CORES = len(os.sched_getaffinity(0))


def tensorflow():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow
    return tensorflow


def distribute(tf, rows, address):
    """The rows, made by the worker at `address`. Batches are not compressed."""
    return rows.apply(tf.data.experimental.service.distribute(
        "parallel_epochs", "grpc://" + address, compression=None))


def run_service(address_file):
    service = tensorflow().data.experimental.service
    dispatcher = service.DispatchServer(service.DispatcherConfig(port=0))
    address = dispatcher.target.split("://")[1]
    worker = service.WorkerServer(service.WorkerConfig(dispatcher_address=address))
    address_file.write_text(address)
    worker.join()


def run(doc, feeds, check):
    """Runs the contender that the command line names. `feeds` has a function by name that takes the
    arguments and returns batches; check(batch, args) ends the program if one is wrong."""
    parser = argparse.ArgumentParser(description=doc,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("contender", choices=[*feeds, "service"])
    parser.add_argument("data", type=pathlib.Path, nargs="?")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--waits", type=pathlib.Path)
    parser.add_argument("--service")
    parser.add_argument("--address-file", type=pathlib.Path)
    args = parser.parse_args()
    try:
        if args.contender == "service":
            run_service(args.address_file)
        with open(args.waits, "w", buffering=1) as waits:
            for batch in feeds[args.contender](args):
                waits.write(f"{time.monotonic()}\n")
                check(batch, args)
    except ImportError as error:
        print(error, file=sys.stderr)
        sys.exit(SKIPPED)
