"""Tests that the pixels of an image depend only on seed, epoch and record. The same holds for the
rows that replace images that cannot be decoded."""

import json
import signal
import unittest

from jpeg import jpegs_of
from png import picture
from processes import TIMEOUT_S, ProcessTestCase, pause, run
from tfrecord import example, frame

RECORDS = 300
SPEC = "images-train:24"


class ImagesTest(ProcessTestCase):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "images"  # The servers' data root.
        self.data.mkdir()
        self.manifest = self.data / "manifest.pb"

    def index(self, broken=(), padding=0):
        """Indexes images. Those in `broken` are cut in the middle. `padding` bytes follow each
        image."""
        images = [picture(number) for number in range(RECORDS)]
        for number in broken:
            images[number] = images[number][:len(images[number]) // 2]
        self.index_images([image + bytes(padding) for image in images])

    def index_images(self, images, *args):
        """Writes the images as three shards and indexes them."""
        shards = [open(self.data / f"{i}.tfrecord", "wb") for i in range(3)]
        for number, encoded in enumerate(images):
            shards[number * 3 // RECORDS].write(frame(example(
                **{"image/encoded": encoded, "image/class/label": number % 5})))
        for shard in shards:
            shard.close()
        return self.check_run("penstock", "index", self.data, *args)

    def jpegs(self):
        """Returns RECORDS JPEGs, made by `penstock pack`."""
        self.pack(max_side=29)  # This is smaller than every picture.
        found = [jpeg for shard in sorted(self.data.glob("*.tfrecord"))
                 for jpeg in jpegs_of(shard.read_bytes())]
        self.assertEqual(len(found), RECORDS)
        for path in self.data.iterdir():
            path.unlink()
        return found

    def pack(self, max_side):
        """Packs the same images, as files of five classes. Images above `max_side` become JPEGs."""
        files = self.folder / "files"
        for number in range(RECORDS):
            path = files / str(number % 5) / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(picture(number))
        self.check_run("penstock", "pack", "--from", "folder", files, "-o", self.data,
                       "--max-side", max_side)
        self.check_run("penstock", "index", self.data)

    def args(self, servers, *args, epochs=2, batch=20, seed=7, spec=SPEC):
        command = self.stream_args(servers, "--global-batch-size", batch, "--spec", spec,
                                   "--remainder", "carry", "--digest-by-record", *args,
                                   epochs=epochs)
        command[command.index("--seed") + 1] = seed
        return command

    def read(self, servers, *args, **options):
        return json.loads(self.check_run("penstock", *self.args(servers, *args, **options)).stdout)

    def sum_of(self, *told):
        """Adds up the digests of parts of a stream, which gives the digest of the whole."""
        return sum(int(part["digest_by_record"], 16) for part in told) % 2**256

    def read_in_ranks(self, servers, world_size, *args, **options):
        ranks = [self.spawn("penstock", *self.args(servers, "--rank", rank, "--world-size",
                                                   world_size, *args, **options))
                 for rank in range(world_size)]
        told = []
        for child in ranks:
            out, err = child.communicate(timeout=TIMEOUT_S)
            self.assertEqual(child.returncode, 0, err)
            told.append(json.loads(out))
        return told

    def read_in_two_runs(self, servers, *args):
        """Reads in two runs: the first is interrupted somewhere in the first epoch, and the second
        continues."""
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
        """Checks that all ways to read give the same rows. Returns the result of one run."""
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
        # These change the order of the records, but not their numbers in an epoch.
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
        inspected = json.loads(self.check_run("penstock", "inspect", self.data, "--json", "-").stdout)
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

    def test_the_same_rows_stand_for_damaged_jpegs_everywhere(self):
        """Decoding notices some flipped bits and misses others; it always notices a cut."""
        images = self.jpegs()
        cut, flipped = range(0, RECORDS, 9), range(1, RECORDS, 3)
        for number in cut:
            images[number] = images[number][:len(images[number]) * (number % 5 + 1) // 7]
        for number in flipped:
            header = images[number].index(b"\xff\xda")
            damaged = bytearray(images[number])
            damaged[number * 37 % header] ^= 1 << number % 8
            images[number] = bytes(damaged)
        self.index_images(images)
        told = self.check_same_everywhere("--on-error", "replace")
        self.assertGreater(told["undecodable_rows"], 2 * len(cut))
        self.assertLess(told["undecodable_rows"], 2 * (len(cut) + len(flipped)))

    def test_filled_images_are_counted_once_for_each_row(self):
        images = self.jpegs()
        cut = range(0, RECORDS, 7)
        for number in cut:
            images[number] = images[number][:-len(images[number]) // 5]
        spec = self.folder / "fill.txtpb"
        spec.write_text('tensor { name: "image" image { feature: "image/encoded" truncated: FILL '
                        "resize { height: 8 width: 8 } } }")
        indexed = self.index_images(images, "--spec", spec, "--verify", "--json", "-")
        self.assertEqual(json.loads(indexed.stdout)["truncated_images"], len(cut))
        one = self.start_server().address
        two = one + "," + self.start_server().address
        for servers, way in (("local:", ()), (one, ()), (one, ("--no-shm",)), (two, ())):
            told = self.read(servers, *way, spec=spec)
            self.assertEqual(told["truncated_images"], 2 * len(cut), (servers, way))
        # The ranks' strips are in blocks that several ranks share.
        ranks = self.read_in_ranks(two, 4, spec=spec)
        self.assertEqual(sum(told["truncated_images"] for told in ranks), 2 * len(cut))
        shown = self.check_run("penstock", *(a for a in self.args(one, spec=spec) if a not in ("--json", "-")))
        self.assertIn(f"images   {2 * len(cut)} truncated files were filled", shown.stdout)

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
