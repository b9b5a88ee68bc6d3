"""The pixels of an image depend on seed, epoch and record alone, and so does what stands for an
image that cannot be decoded."""

import json
import signal
import unittest

from png import picture
from processes import TIMEOUT_S, ProcessTestCase, pause, run
from tfrecord import example, frame

RECORDS = 300
SPEC = "images-train:24"


class ImagesTest(ProcessTestCase):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "images"  # The root of servers.
        self.data.mkdir()
        self.manifest = self.data / "manifest.pb"

    def index(self, broken=(), padding=0):
        """Images in three shards, of which `broken` are cut in their middle; bytes behind an image
        are nobody's."""
        shards = [open(self.data / f"{i}.tfrecord", "wb") for i in range(3)]
        for number in range(RECORDS):
            encoded = picture(number)
            if number in broken:
                encoded = encoded[:len(encoded) // 2]
            shards[number * 3 // RECORDS].write(frame(example(
                **{"image/encoded": encoded + bytes(padding), "image/class/label": number % 5})))
        for shard in shards:
            shard.close()
        self.check_run("penstock", "index", self.data)

    def pack(self, max_side):
        """The same images, as files of five classes; those above `max_side` become JPEGs."""
        files = self.folder / "files"
        for number in range(RECORDS):
            path = files / str(number % 5) / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(picture(number))
        self.check_run("penstock", "pack", "--from", "folder", files, "-o", self.data,
                       "--max-side", max_side)
        self.check_run("penstock", "index", self.data)

    def args(self, servers, *args, epochs=2, batch=20, seed=7):
        command = self.stream_args(servers, "--global-batch-size", batch, "--spec", SPEC,
                                   "--remainder", "carry", "--digest-by-record", *args,
                                   epochs=epochs)
        command[command.index("--seed") + 1] = seed
        return command

    def read(self, servers, *args, **options):
        return json.loads(self.check_run("penstock", *self.args(servers, *args, **options)).stdout)

    def sum_of(self, *told):
        """Parts of a stream add up to all of it."""
        return sum(int(part["digest_by_record"], 16) for part in told) % 2**256

    def read_in_ranks(self, servers, world_size, *args):
        ranks = [self.spawn("penstock", *self.args(servers, "--rank", rank, "--world-size",
                                                   world_size, *args))
                 for rank in range(world_size)]
        told = []
        for child in ranks:
            out, err = child.communicate(timeout=TIMEOUT_S)
            self.assertEqual(child.returncode, 0, err)
            told.append(json.loads(out))
        return told

    def read_in_two_runs(self, servers, *args):
        """The first is interrupted somewhere in the first epoch, and the second goes on."""
        ids = self.folder / "ids"
        first = self.spawn("penstock", *self.args(servers, "--ids", ids, "--pace", 300, *args))
        while not ids.exists() or ids.stat().st_size == 0:
            self.assertIsNone(first.poll(), "the stream ended early")
            pause()
        first.send_signal(signal.SIGINT)
        out, err = first.communicate(timeout=TIMEOUT_S)
        self.assertEqual(first.returncode, 128 + signal.SIGINT, err)
        before = json.loads(out)
        self.assertLess(before["rows"], 2 * RECORDS)
        return before, self.read(servers, "--cursor", before["cursor"], *args)

    def check_same_everywhere(self, *args):
        """Returns what is told of one run."""
        one = self.read("local:", "--threads", 1, *args)
        self.assertEqual(one["rows"], 2 * RECORDS)
        all_rows = self.sum_of(one)
        server = self.start_server("--threads", 1).address
        both = server + "," + self.start_server("--threads", 8).address
        for servers, way in (("local:", ("--threads", 8)), (server, ()), (server, ("--no-shm",)),
                             (both, ()), (both, ("--no-shm",))):
            told = self.read(servers, *way, *args)
            self.assertEqual((told["digest"], told["digest_by_record"]),
                             (one["digest"], one["digest_by_record"]), (servers, way))
        self.assertEqual(self.sum_of(*self.read_in_ranks(both, 4, *args)), all_rows)
        self.assertEqual(self.sum_of(*self.read_in_two_runs(both, *args)), all_rows)
        return one

    def test_pixels_belong_to_seed_epoch_and_record(self):
        self.index()
        one = self.check_same_everywhere()
        # Another order of the same records, but for their number in an epoch.
        for order in (("--window-chunks", 3, "--lanes", 7), ("--strip-rows", 5)):
            other = self.read("local:", *order, batch=50)
            self.assertNotEqual(other["digest"], one["digest"], order)
            self.assertEqual(other["digest_by_record"], one["digest_by_record"], order)
        first = self.read("local:", epochs=1)
        self.assertNotEqual(self.sum_of(one) - self.sum_of(first), self.sum_of(first))
        self.assertNotEqual(self.read("local:", seed=8)["digest_by_record"],
                            one["digest_by_record"])

    def test_jpegs_too_have_the_same_pixels_everywhere(self):
        self.pack(max_side=40)
        inspected = json.loads(self.check_run("penstock", "inspect", self.data, "--json").stdout)
        images, = inspected["images"]
        self.assertGreater(images["jpeg"], RECORDS // 2)
        self.assertGreater(images["png"], 0)
        self.check_same_everywhere()

    def test_a_killed_server_changes_no_pixel(self):
        self.index()
        one = self.read("local:")
        killed = self.start_server()
        servers = killed.address + "," + self.start_server().address
        ids = self.folder / "ids"
        stream = self.spawn("penstock", *self.args(servers, "--ids", ids, "--pace", 300))
        while not ids.exists() or ids.stat().st_size == 0:
            self.assertIsNone(stream.poll(), "the stream ended early")
            pause()
        killed.kill()
        out, err = stream.communicate(timeout=TIMEOUT_S)
        self.assertEqual(stream.returncode, 0, err)
        told = json.loads(out)
        self.assertEqual((told["digest"], told["digest_by_record"]),
                         (one["digest"], one["digest_by_record"]))

    def test_the_same_rows_stand_for_broken_images_everywhere(self):
        broken = {3, 4, 50, 120, 121, 122, 299}
        self.index(broken)
        told = self.check_same_everywhere("--on-error", "replace")
        self.assertEqual(told["undecodable_rows"], 2 * len(broken))

    def test_a_broken_image_ends_the_job_by_default(self):
        self.index({150})
        for servers in ("local:", self.start_server().address):
            result = run("penstock", *self.args(servers))
            self.assertEqual(result.returncode, 1)
            for words in ("1.tfrecord", "record ", "feature 'image/encoded'", "PNG"):
                self.assertIn(words, result.stderr)

    def test_chunks_of_one_broken_image_find_a_spare(self):
        self.index({7, 8, 250}, padding=4096)  # A chunk holds at least 4 KiB.
        alone = ("--no-shuffle", "--on-error", "replace")
        local = self.read("local:", *alone)
        self.assertEqual(local["undecodable_rows"], 6)
        served = self.read(self.start_server().address, *alone)
        self.assertEqual(served["digest"], local["digest"])


if __name__ == "__main__":
    unittest.main()
