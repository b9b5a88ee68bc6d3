"""Makes batches of random resized crops of 224 pixels, randomly flipped, by other frameworks.

    python3 image_feeds.py CONTENDER DATA --batch-size N --waits FILE [--service ADDRESS]
    python3 image_feeds.py service --address-file FILE

Reads DATA/shards/*.tfrecord or DATA/pictures/*/*.jpg without end (feeds.py). image_loaders.py runs
these programs.
"""

import random
import sys

from feeds import CORES, distribute, run, tensorflow

SIDE, AREA, RATIO = 224, (0.08, 1.0), (3 / 4, 4 / 3)


def tf_image(tf, record, integers, exact):
    """Returns one crop; only the crop is decoded. With `exact`, the DCT is exact and the resize has
    antialiasing. TensorFlow's defaults are a faster DCT and no antialiasing."""
    encoded = tf.io.parse_single_example(record, {
        "image/encoded": tf.io.FixedLenFeature([], tf.string),
        "image/class/label": tf.io.FixedLenFeature([], tf.int64)})["image/encoded"]
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.io.extract_jpeg_shape(encoded), tf.zeros([1, 0, 4]), min_object_covered=0.0,
        aspect_ratio_range=RATIO, area_range=AREA, use_image_if_no_bounding_boxes=True)
    image = tf.image.decode_and_crop_jpeg(
        encoded, tf.concat([begin[:2], size[:2]], 0), channels=3,
        dct_method="INTEGER_ACCURATE" if exact else "")
    image = tf.image.resize(image, [SIDE, SIDE], antialias=exact)
    image = tf.cast(tf.round(image), tf.uint8) if integers else image
    return tf.image.random_flip_left_right(image)


def tf_dataset(tf, args, integers, exact=False):
    options = tf.data.Options()
    options.deterministic = False
    files = [str(path) for path in sorted((args.data / "shards").glob("*.tfrecord"))]
    rows = tf.data.TFRecordDataset(files, num_parallel_reads=tf.data.AUTOTUNE).repeat()
    rows = rows.map(lambda record: tf_image(tf, record, integers, exact), tf.data.AUTOTUNE)
    return rows.batch(args.batch_size, drop_remainder=True).with_options(options)


def tf_feed(integers, exact=False, served=False):
    def batches(args):
        tf = tensorflow()
        rows = tf_dataset(tf, args, integers, exact)
        if served:
            rows = distribute(tf, rows, args.service)
        return iter(rows.prefetch(tf.data.AUTOTUNE))
    return batches


def pictures(args):
    return sorted(map(str, (args.data / "pictures").glob("*/*.jpg")))


class Pictures:
    """A dataset of PyTorch."""

    def __init__(self, paths):
        from torchvision import transforms
        self.paths = paths
        self.transform = transforms.Compose([
            transforms.RandomResizedCrop(SIDE, AREA, RATIO), transforms.RandomHorizontalFlip(),
            transforms.PILToTensor()])

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, number):
        from PIL import Image
        return self.transform(Image.open(self.paths[number]).convert("RGB"))


def torch_feed(args):
    from torch.utils.data import DataLoader, RandomSampler
    dataset = Pictures(pictures(args))
    endless = RandomSampler(dataset, replacement=True, num_samples=10**9)
    return iter(DataLoader(dataset, args.batch_size, sampler=endless, num_workers=CORES))


def dali_feed(args):
    from nvidia.dali import fn, pipeline_def, types

    @pipeline_def(batch_size=args.batch_size, num_threads=CORES, device_id=None)
    def train():
        shards = sorted((args.data / "shards").glob("*.tfrecord"))
        indexes = [args.data / "offsets" / shard.name for shard in shards]
        encoded = fn.readers.tfrecord(
            path=list(map(str, shards)), index_path=list(map(str, indexes)), random_shuffle=True,
            features={"image/encoded": tfrecord.FixedLenFeature((), tfrecord.string, "")})
        images = fn.decoders.image_random_crop(
            encoded["image/encoded"], device="cpu", random_area=AREA, random_aspect_ratio=RATIO)
        images = fn.resize(images, size=(SIDE, SIDE), interp_type=types.INTERP_LINEAR)
        return fn.flip(images, horizontal=fn.random.coin_flip())

    from nvidia.dali import tfrecord
    pipeline = train()
    pipeline.build()
    while True:
        yield pipeline.run()[0].as_array()


def spdl_crop():
    """A chain of FFmpeg's filters with one random crop, which torchvision draws."""
    import torch
    from torchvision.transforms import RandomResizedCrop
    top, left, height, width = RandomResizedCrop.get_params(torch.empty(3, 480, 640), AREA, RATIO)
    flip = ["hflip"] if random.random() < 0.5 else []
    return ",".join([f"crop={width}:{height}:{left}:{top}", f"scale={SIDE}:{SIDE}:flags=bilinear",
                     *flip, "format=rgb24"])


def spdl_feed(args):
    from spdl import io
    from spdl.pipeline import PipelineBuilder

    def endless():
        paths = pictures(args)
        while True:
            yield random.choice(paths)

    try:
        one_thread = io.decode_config(decoder_options={"threads": "1"})
    except RuntimeError as error:  # SPDL loads FFmpeg's libraries at its first use.
        raise ImportError("SPDL needs FFmpeg's libraries") from error

    def decode(path):
        return io.decode_packets(io.demux_image(path), decode_config=one_thread,
                                 filter_desc=spdl_crop())

    def stack(frames):
        return io.to_numpy(io.convert_frames(frames))

    pipeline = (PipelineBuilder().add_source(endless()).pipe(decode, concurrency=CORES)
                .aggregate(args.batch_size).pipe(stack).add_sink(2)
                .build(num_threads=CORES))
    with pipeline.auto_stop():
        yield from pipeline


FEEDS = {
    "tf.data-float32": tf_feed(False),
    "tf.data-uint8": tf_feed(True),
    "tf.data-exact": tf_feed(True, exact=True),
    "tf.service-float32": tf_feed(False, served=True),
    "tf.service-uint8": tf_feed(True, served=True),
    "torchvision": torch_feed,
    "dali": dali_feed,
    "spdl": spdl_feed,
}


def check(batch, args):
    planes = (args.batch_size, 3, SIDE, SIDE), (args.batch_size, SIDE, SIDE, 3)
    if tuple(batch.shape) not in planes:
        sys.exit(f"a batch of shape {tuple(batch.shape)}")


if __name__ == "__main__":
    run(__doc__, FEEDS, check)
