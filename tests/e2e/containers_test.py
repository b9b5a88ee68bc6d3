"""Tests data other than TFRecord: image folders, WebDataset tars and fixed-size records give the
same rows as the same data in TFRecords."""

import io
import tarfile
import unittest

from npy import read_npz
from png import picture
from processes import ProcessTestCase, run
from tfrecord import frame

IMAGES = 120
CLASSES = 4
RECORD_BYTES = 60


def image_spec(image, label):
    return f"""tensor {{ name: "image" image {{ feature: "{image}"
        random_resized_crop {{ height: 16 width: 16 }} flip: 0.5 }} }}
        tensor {{ name: "label" label {{ feature: "{label}" }} }}"""


class ContainersTest(ProcessTestCase):
    def setUp(self):
        super().setUp()
        self.root = self.folder / "all"

    def write_photos(self):
        """Writes the photos in the order in which `penstock pack` and an index list them."""
        photos = self.root / "photos"
        self.pictures = []
        for number in range(IMAGES):
            label, name = number * CLASSES // IMAGES, f"{number:03}.png"
            path = photos / f"class{label}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(picture(number))
            self.pictures.append((picture(number), label))
        return photos

    def write_tars(self, name="tars", ends=("png",)):
        """Uses the extensions `ends` for the images' names in turn."""
        tars = self.root / name
        tars.mkdir(parents=True)
        for shard in range(2):
            with tarfile.open(tars / f"{shard}.tar", "w") as tar:
                for number in range(shard * IMAGES // 2, (shard + 1) * IMAGES // 2):
                    image, label = self.pictures[number]
                    for end, data in ((ends[number % len(ends)], image),
                                      ("cls", str(label).encode())):
                        member = tarfile.TarInfo(f"{number:03}.{end}")
                        member.size = len(data)
                        tar.addfile(member, io.BytesIO(data))
        return tars

    def write_spec(self, text):
        path = self.folder / "spec.textproto"
        path.write_text(text)
        return path

    def index(self, folder, *args):
        self.check_run("penstock", "index", folder, *args)
        self.data = folder  # The servers' data root.
        self.manifest = folder / "manifest.pb"

    def digests(self, spec):
        """Returns the digest by record, which is the same in this process and from a server. `spec`
        is a textproto or the name of a built-in spec."""
        server = self.start_server()
        named = self.write_spec(spec) if "{" in spec else spec
        args = ("--spec", named, "--digest-by-record", "--split", "all", "--global-batch-size", 20)
        [digest] = {self.stream(servers, *args)["digest_by_record"]
                    for servers in ("local:", server.address)}
        return digest

    def test_images_are_the_same_in_a_folder_in_shards_and_in_tars(self):
        photos = self.write_photos()
        packed = self.root / "packed"
        self.check_run("penstock", "pack", photos, "-o", packed)
        self.index(packed)
        expected = self.digests(image_spec("image/encoded", "image/class/label"))
        self.index(photos, "--format", "image-folder")
        self.assertEqual(self.digests(image_spec("image/encoded", "image/class/label")), expected)
        self.index(self.write_tars())
        self.assertEqual(self.digests(image_spec("png", "cls")), expected)

    def test_a_built_in_spec_and_alternatives_read_tars_of_several_formats(self):
        packed = self.root / "packed"
        self.check_run("penstock", "pack", self.write_photos(), "-o", packed)
        self.index(packed)
        expected = self.digests("images-train:16")
        self.index(self.write_tars())
        self.assertEqual(self.digests("images-train:16"), expected)
        # The first bytes of an image decide its format, and its name does not.
        self.index(self.write_tars("mixed", ends=("png", "jpg", "jpeg")))
        self.assertEqual(self.digests("images-train:16"), expected)
        self.assertEqual(self.digests(image_spec("jpg|jpeg|png", "cls")), expected)
        made = self.check_run("penstock", "inspect", self.data, "--make-spec").stdout
        self.assertIn('feature: "jpeg|jpg|png"', made)
        self.assertIn("# Left out: it names the sample.", made)

    def test_planes_of_fixed_records_become_channels(self):
        fixed = self.root / "cifar"
        fixed.mkdir(parents=True)
        records = [bytes([i % 10]) + bytes((i * k * k + k) % 251 for k in range(3072))
                   for i in range(50)]
        (fixed / "batch.bin").write_bytes(b"".join(records))
        self.index(fixed, "--format", "fixed", "--record-bytes", 3073)
        spec = self.write_spec("""records: RAW
            tensor { name: "image" bytes { feature: "record" feature_bytes: 3073 first_byte: 1
                                           dims: [3, 32, 32] transpose: [1, 2, 0] } }
            tensor { name: "label" label { feature: "record" feature_bytes: 3073 byte: 0 } }""")
        self.check_run("penstock", "decode", self.manifest, "--spec", spec, "--split", "all", "-o",
                       self.folder / "rows.npz")
        rows = read_npz(self.folder / "rows.npz")
        self.assertEqual((rows["image"].dtype, rows["image"].shape), ("|u1", [50, 32, 32, 3]))
        self.assertEqual(list(rows["label"].values()), [record[0] for record in records])
        for i, record in enumerate(records):
            planes = (record[1 + 1024 * plane:1025 + 1024 * plane] for plane in range(3))
            channels = bytes(byte for pixel in zip(*planes) for byte in pixel)
            self.assertEqual(rows["image"].row(i), channels)
        other = self.write_spec("""records: RAW
            tensor { name: "y" label { feature: "record" feature_bytes: 3074 byte: 1 } }""")
        refused = run("penstock", "decode", self.manifest, "--spec", other, "-o",
                      self.folder / "y.npz")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("with 3074 bytes; the records have 3073", refused.stderr)

    def write_fixed(self):
        records = [bytes((i * k) % 256 for k in range(RECORD_BYTES)) for i in range(1000)]
        fixed = self.root / "fixed"
        fixed.mkdir(parents=True)
        (fixed / "a.bin").write_bytes(b"".join(records[:600]))
        (fixed / "b.bin").write_bytes(b"".join(records[600:]))
        return fixed, records

    def test_fixed_records_are_raw_records(self):
        spec = f'records: RAW tensor {{ name: "r" bytes {{ feature: "record" length: {RECORD_BYTES} }} }}'
        fixed, records = self.write_fixed()
        raw = self.root / "raw"
        raw.mkdir(parents=True)
        (raw / "a.tfrecord").write_bytes(b"".join(map(frame, records)))
        self.index(raw, "--format", "raw")
        expected = self.digests(spec)
        self.index(fixed, "--format", "fixed", "--record-bytes", RECORD_BYTES)
        self.assertEqual(self.digests(spec), expected)

    def test_bits_that_rot_are_found_and_replaced(self):
        fixed, _ = self.write_fixed()
        self.index(fixed, "--format", "fixed", "--record-bytes", RECORD_BYTES)
        content = bytearray((fixed / "b.bin").read_bytes())
        content[1000] ^= 4
        (fixed / "b.bin").write_bytes(content)
        args = self.stream_args("local:", "--global-batch-size", 20)
        failed = run("penstock", *args)
        self.assertNotEqual(failed.returncode, 0)
        self.assertIn("b.bin", failed.stderr)
        replaced = self.stream("local:", "--global-batch-size", 20, "--on-error", "replace")
        self.assertEqual(replaced["rows"], 2000)


if __name__ == "__main__":
    unittest.main(verbosity=2)
