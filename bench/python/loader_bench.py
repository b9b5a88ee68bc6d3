"""The Python package beside a C++ consumer of the same batches, and beside a DataLoader.

    build/peers/bin/python3 bench/python/loader_bench.py [--pairs 7] [--only local,grpc,...] [--json F]

local, grpc    int8 chess batches of 4,096: rows a second of penstock.Loader over `penstock stream`.
images         JPEG files of 640x480 to crops of 224: the same ratio, for batches of 64.
ready          The consumer's time for a packed batch of 64 that is ready, with NumPy and with torch.
dataloader     penstock.Loader over DataLoader(num_workers=2): __getitem__ for each record, and the
               best vectorised form.

The two sides of a ratio take turns, --pairs times. The program prints the median of the ratios, with
the smallest and the largest. `./check --peers` makes build/peers.
"""

import argparse
import contextlib
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "bench/peers"), str(REPOSITORY / "tests/e2e")]
import jpeg_shards  # noqa: E402
from servers import die_with_parent, wait_until  # noqa: E402

CONSUME = REPOSITORY / "bench/python/consume.py"
CHESS = ["--batch", "4096", "--dtype", "i8"]


def output_of(command):
    found = subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True).stdout
    return json.loads(found)


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.penstock = args.bin / "penstock"

    def run(self, *command):
        subprocess.run(list(map(str, [self.penstock, *command])), check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def chess(self):
        """The sample, uncompressed, each shard under 40 names."""
        data = self.folder / "chess"
        if not data.exists():
            self.run("pack", "--from", "tfrecord", REPOSITORY / "sample", "-o", data)
            jpeg_shards.repeat_shards(data, 40)
            self.run("index", data)
        return data

    def images(self):
        data = self.folder / "images"
        jpeg_shards.write_pictures(self.folder / "pictures", 512, "420", False)
        self.run("pack", self.folder / "pictures", "-o", data, "--records-per-shard", 128)
        jpeg_shards.repeat_shards(data, 8)
        self.run("index", data)
        return data

    def python(self, way, data, *args):
        return output_of([sys.executable, CONSUME, way, data, *args])

    def stream(self, data, servers, spec, dtype, batch, steps):
        found = output_of([self.penstock, "stream", data, "--servers", servers, "--dtype", dtype,
                           "--epochs", 0, "--global-batch-size", batch, "--steps", steps,
                           *(["--spec", spec] if spec else []), "--json", "-"])
        return found["rows"] / found["seconds"]

    def beside_cpp(self, data, servers, spec, dtype, batch, steps):
        ours = self.python("loader", data, "--servers", servers, "--dtype", dtype, "--batch", batch,
                           "--steps", steps, *(["--spec", spec] if spec else []))
        return ours["rows_per_second"], self.stream(data, servers, spec, dtype, batch, steps)

    @contextlib.contextmanager
    def server(self, data):
        address = self.folder / "address"
        command = [self.args.bin / "penstock-server", "--data-root", data, "--listen", "127.0.0.1:0",
                   "--address-file", address]
        server = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, preexec_fn=die_with_parent)
        wait_until(address.exists, "the server")
        yield address.read_text().strip()
        server.terminate()
        server.wait()


def report(name, pairs):
    ratios = [a / b for a, b in pairs]
    found = {"ratio": statistics.median(ratios), "least": min(ratios), "most": max(ratios),
             "python": statistics.median(a for a, _ in pairs),
             "beside": statistics.median(b for _, b in pairs)}
    print(f"{name}: {found['ratio']:.2f} ({found['least']:.2f} to {found['most']:.2f}), "
          f"{found['python']:,.0f} and {found['beside']:,.0f} rows/s", flush=True)
    return found


def local(bench):
    data = bench.chess()
    turns = range(bench.args.pairs)
    return report("local:", [bench.beside_cpp(data, "local:", None, "i8", 4096, 4000)
                             for _ in turns])


def grpc(bench):
    data = bench.chess()
    with bench.server(data) as address:
        return report("gRPC", [bench.beside_cpp(data, address, None, "i8", 4096, 2000)
                               for _ in range(bench.args.pairs)])


def images(bench):
    data = bench.images()
    return report("images", [bench.beside_cpp(data, "local:", "images-train:224", "i8", 64, 100)
                             for _ in range(bench.args.pairs)])


def ready(bench):
    found = {}
    for output in "numpy", "torch":
        costs = [bench.python("ready", bench.chess(), "--batch", 64, "--dtype", "packed", "--output",
                              output)["microseconds_a_batch"] for _ in range(bench.args.pairs)]
        found[output] = statistics.median(costs)
        print(f"ready, {output}: {found[output]:.1f} us a batch ({min(costs):.1f} to "
              f"{max(costs):.1f})", flush=True)
    return found


def dataloader(bench):
    data = bench.chess()
    pairs = {"getitem": [], "vectorised": []}
    for _ in range(bench.args.pairs):
        ours = bench.python("loader", data, *CHESS, "--steps", 2000)["rows_per_second"]
        for way, steps in ("getitem", 4), ("vectorised", 60):
            theirs = bench.python(way, data, *CHESS, "--steps", steps)["rows_per_second"]
            pairs[way].append((ours, theirs))
    return {way: report(f"DataLoader, {way}", pairs[way]) for way in pairs}


CASES = {"local": local, "grpc": grpc, "images": images, "ready": ready, "dataloader": dataloader}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default=REPOSITORY / "build/release/bin")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--only", default=",".join(CASES))
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-python-") as folder:
        bench = Bench(args, pathlib.Path(folder))
        found = {case: CASES[case](bench) for case in args.only.split(",")}
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
