"""Takes batches from the Python package or a DataLoader, and prints rows a second as JSON.

    python3 bench/python/consume.py loader DATASET --servers local: --dtype i8 --batch 4096 --steps 500
    python3 bench/python/consume.py ready DATASET --dtype packed --batch 64
    python3 bench/python/consume.py getitem|vectorised DATASET --batch 4096 --steps 20

loader_bench.py runs this program. It does not look at the rows.
"""

import argparse
import json
import pathlib
import statistics
import sys
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "client/python"), str(REPOSITORY / "bench/python")]


def open_loader(args):
    import penstock

    return penstock.Loader(args.dataset, servers=args.servers, spec=args.spec, dtype=args.dtype,
                           global_batch_size=args.batch, output=args.output,
                           look_ahead=args.look_ahead)


def endless(loader):
    while True:
        yield from loader


def loader(args):
    """The rate from the first request to the last batch, as `penstock stream` counts."""
    with open_loader(args) as batches:
        start = time.perf_counter()
        rows = sum(batch.rows for _, batch in zip(range(args.steps), endless(batches)))
        return {"rows_per_second": rows / (time.perf_counter() - start)}


def ready(args):
    """The consumer's time for a batch that is ready."""
    costs = []
    with open_loader(args) as batches:
        stream = endless(batches)
        next(stream)
        count = batches.stats()["slots"] // 2
        for _ in range(5):
            time.sleep(0.5)  # In this time the slots fill.
            start = time.perf_counter()
            for _ in range(count):
                next(stream)
            costs.append((time.perf_counter() - start) / count)
    return {"microseconds_a_batch": 1e6 * statistics.median(costs), "batches": count}


def data_loader(args):
    from torch.utils.data import DataLoader

    import tfrecord_datasets

    dataset = tfrecord_datasets.Positions(args.dataset)
    if args.way == "getitem":
        batches = DataLoader(dataset, args.batch, shuffle=True, num_workers=args.workers)
    else:
        batches = DataLoader(tfrecord_datasets.Batches(dataset, args.batch), batch_size=None,
                             num_workers=args.workers)
    arriving = iter(batches)
    next(arriving)  # When this returns, the workers have started.
    start = time.perf_counter()
    for _ in range(args.steps):
        next(arriving)
    return {"rows_per_second": args.steps * args.batch / (time.perf_counter() - start)}


WAYS = {"loader": loader, "ready": ready, "getitem": data_loader, "vectorised": data_loader}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("dataset")
    parser.add_argument("--servers", default="local:")
    parser.add_argument("--spec")
    parser.add_argument("--dtype", default="i8")
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--output", default="numpy")
    parser.add_argument("--look-ahead")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    print(json.dumps(WAYS[args.way](args)))


if __name__ == "__main__":
    main()
