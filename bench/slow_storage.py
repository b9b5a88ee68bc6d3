"""Measures a server whose storage takes milliseconds to answer, as over a network.

    sudo apt-get install python3-pyfuse3 zstd
    sudo /usr/bin/python3 bench/slow_storage.py --latency-ms 5 --json slow.json

A second mount serves the data through a file system in user space. It answers each read after
--latency-ms, however many reads are outstanding, and keeps nothing in the page cache. The server
reads from it with each number of --read-threads. The memory budget is a third of the data, so every
epoch reads all of it. At last the server reads the files themselves from the page cache. The ceiling
of each case is measured just before it: plain preads of the same size on the same mount by as many
threads. The server has 2 threads and shares the cores with the file system.
"""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/e2e"))

from sample_copies import make_copies  # noqa: E402
from servers import BIN, Server, wait_until  # noqa: E402

CHUNK = 256 << 10


def serve_slowly(folder, mount, latency_s):
    """Serves `folder` at `mount` until it is unmounted. Needs a process of its own."""
    import errno

    import pyfuse3
    import trio

    names = sorted(os.listdir(folder))

    class Slow(pyfuse3.Operations):
        async def getattr(self, inode, ctx=None):
            entry = pyfuse3.EntryAttributes()
            path = folder if inode == pyfuse3.ROOT_INODE else os.path.join(folder, names[inode - 2])
            info = os.stat(path)
            entry.st_ino, entry.st_mode, entry.st_size = inode, info.st_mode, info.st_size
            entry.st_mtime_ns = info.st_mtime_ns
            entry.attr_timeout = entry.entry_timeout = 60
            return entry

        async def lookup(self, parent, name, ctx=None):
            if os.fsdecode(name) not in names:
                raise pyfuse3.FUSEError(errno.ENOENT)
            return await self.getattr(names.index(os.fsdecode(name)) + 2)

        async def open(self, inode, flags, ctx):
            await trio.sleep(latency_s)
            fd = os.open(os.path.join(folder, names[inode - 2]), os.O_RDONLY)
            return pyfuse3.FileInfo(fh=fd, direct_io=True)

        async def read(self, fh, offset, size):
            await trio.sleep(latency_s)
            return os.pread(fh, size, offset)

        async def release(self, fh):
            os.close(fh)

    pyfuse3.init(Slow(), mount, set(pyfuse3.default_options))
    try:
        trio.run(pyfuse3.main)
    finally:
        pyfuse3.close()


@contextlib.contextmanager
def mounted(folder, mount, latency_ms):
    mount.mkdir()
    process = subprocess.Popen([sys.executable, __file__, "--serve", str(folder), str(mount),
                                "--latency-ms", str(latency_ms)])
    try:
        wait_until(lambda: process.poll() is not None or os.path.ismount(mount), "the mount", 30)
        if process.poll() is not None:
            raise RuntimeError("the file system ended: it needs root, /dev/fuse and pyfuse3")
        yield mount
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=False)
        process.wait(30)


def unpacked(shard):
    """The uncompressed shard, so that each chunk is a read of 256 KiB."""
    return subprocess.run(["zstd", "-dc", shard], check=True, stdout=subprocess.PIPE).stdout


def plain_reads(folder, shards, threads, seconds):
    """Bytes per second of preads at chunk boundaries, by `threads` threads."""
    files = [os.open(folder / shard, os.O_RDONLY) for shard in shards]
    places = [(fd, at) for fd in files for at in range(0, os.fstat(fd).st_size, CHUNK)]
    end = time.monotonic() + seconds

    def read_some(first):
        count, i = 0, first
        while time.monotonic() < end:
            fd, at = places[i * 7919 % len(places)]
            count += len(os.pread(fd, CHUNK, at))
            i += threads
        return count

    with ThreadPoolExecutor(threads) as pool:
        total = sum(pool.map(read_some, range(threads)))
    for fd in files:
        os.close(fd)
    return total / seconds


def rows_per_second(folder, data, manifest, read_threads, budget, seconds):
    server = Server(data, folder / "address", folder / "log", "--threads", 2, "--read-threads",
                    read_threads, "--memory-budget", budget)
    server.start()
    try:
        server.wait_serving()
        out = subprocess.run(
            [str(BIN / "penstock"), "bench", str(manifest), "--servers", server.address,
             "--dtype", "packed", "--lanes", "16", "--seconds", str(seconds), "--json", "-"],
            check=True, stdout=subprocess.PIPE, text=True).stdout
    finally:
        server.end()
    return json.loads(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--latency-ms", type=float, default=5)
    parser.add_argument("--read-threads", default="0,4,16,64")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--copies", type=int, default=80,
                        help="copies of the sample, 20,000 records each")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--serve", nargs=2, metavar=("FOLDER", "MOUNT"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        return serve_slowly(*args.serve, args.latency_ms / 1000)
    report = {"command": " ".join(sys.argv), "load": os.getloadavg(), "cases": []}
    print("| reads at a time | plain reads, MB/s | positions/s | of files, MB/s | of plain | "
          "verdict |\n|" + "---|" * 6)
    with tempfile.TemporaryDirectory(prefix="penstock-slow-") as name:
        folder = pathlib.Path(name)
        paths = make_copies(folder / "data", args.copies, unpacked)
        shards, size = [path.name for path in paths], sum(path.stat().st_size for path in paths)
        with mounted(folder / "data", folder / "slow", args.latency_ms) as slow:
            cases = [(int(n), slow) for n in args.read_threads.split(",")]
            cases.append((16, folder / "data"))
            for threads, data in cases:
                runs = []
                for _ in range(args.repetitions):
                    plain = plain_reads(data, shards, threads or 2, args.seconds / 2)
                    bench = rows_per_second(folder, data, folder / "data/manifest.pb", threads,
                                            size // 3, args.seconds)
                    runs.append((plain, bench))
                runs.sort(key=lambda run: run[1]["positions_per_second"])
                median = runs[len(runs) // 2][1]
                plain = statistics.median(run[0] for run in runs)
                read = sum(server["read_bytes_per_second"] for server in median["servers"])
                label = f"{threads}" if data == slow else "page cache"
                rows = median["positions_per_second"]
                print(f"| {label} | {plain / 1e6:.0f} | {rows / 1e3:.0f} k | "
                      f"{read / 1e6:.0f} | {read / plain:.2f} | {median['limit']} |", flush=True)
                report["cases"].append({"read_threads": threads, "where": label,
                                        "plain_bytes_per_second": plain,
                                        "runs": [run[1] for run in runs]})
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
