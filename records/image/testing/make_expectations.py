#!/usr/bin/env python3
"""Makes expectations.json and ../self_test_images.cc again, with Pillow and torchvision as judges.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install 'pillow<13' torchvision
    /tmp/venv/bin/python records/image/testing/make_expectations.py

Pillow 13 filters columns before rows for some sizes, which changes values by one level there.

Run by hand; needs cjpeg and jpegtran (libjpeg-turbo-progs). All pictures are drawn here. With
PENSTOCK_TEST_DATA set, the digests over its photographs are made again too, else they are kept.

With --compare nothing is written: Pillow and torchvision decode and resize the stored files, and
the answers are compared with the stored ones. `./check --peers` does that.
"""

import base64
import hashlib
import io
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import zlib

import numpy as np
import torch
import torchvision
import torchvision.transforms as transforms
from PIL import Image, ImageOps, features
from PIL import __version__ as pillow_version

HERE = pathlib.Path(__file__).parent
ORIENTATION = 0x0112


def picture(width, height, channels=3, seed=1):
    """Gradients, waves, sharp edges and noise, [height][width][channels]."""
    y, x = np.mgrid[0:height, 0:width]
    noise = np.random.default_rng(seed).integers(-20, 21, (height, width, channels))
    planes = []
    for c in range(channels):
        wave = 60 * np.sin(x / (3.0 + c) + seed) * np.cos(y / (4.0 + 2 * c))
        edge = 70 * (((x // 7 + y // 5 + c) % 3) == 0)
        planes.append(40 + 120 * x / width + 40 * y / height + wave + edge)
    return np.clip(np.stack(planes, 2) + noise, 0, 255).astype(np.uint8)


def pillow_jpeg(image, **options):
    out = io.BytesIO()
    image.save(out, "JPEG", **options)
    return out.getvalue()


def cjpeg(pixels, *options):
    mode = "P6" if pixels.shape[2] == 3 else "P5"
    header = f"{mode}\n{pixels.shape[1]} {pixels.shape[0]}\n255\n".encode()
    return subprocess.run(["cjpeg", *options], input=header + pixels.tobytes(),
                          stdout=subprocess.PIPE, check=True).stdout


def with_exif(jpeg, orientation, big_endian=False, kind=3):
    order, magic = (">", b"MM\0*") if big_endian else ("<", b"II*\0")
    value = struct.pack(order + "HH", orientation, 0) if kind == 3 else struct.pack(order + "I", orientation)
    tiff = magic + struct.pack(order + "IH", 8, 2)
    tiff += struct.pack(order + "HHI", 0x0100, 3, 1) + struct.pack(order + "HH", 5, 0)
    tiff += struct.pack(order + "HHI", ORIENTATION, kind, 1) + value + b"\0" * 4
    body = b"Exif\0\0" + tiff
    return jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body + jpeg[2:], tiff


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def packed_rows(samples, depth):
    """Rows of samples, [height][width][components], as PNG stores them, each behind filter 0."""
    rows = b""
    for row in samples:
        flat = row.reshape(-1)
        if depth == 16:
            data = flat.astype(">u2").tobytes()
        elif depth == 8:
            data = flat.astype(np.uint8).tobytes()
        else:
            bits = np.unpackbits(flat.astype(np.uint8)[:, None], axis=1)[:, 8 - depth:]
            data = np.packbits(bits.reshape(-1)).tobytes()
        rows += b"\0" + data
    return rows


ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def png(samples, depth, color_type, interlaced=False, before=(), after=()):
    height, width, _ = samples.shape
    if interlaced:
        parts = [samples[y::dy, x::dx] for x, y, dx, dy in ADAM7]
        rows = b"".join(packed_rows(part, depth) for part in parts if part.size)
    else:
        rows = packed_rows(samples, depth)
    ihdr = struct.pack(">IIBBBBB", width, height, depth, color_type, 0, 0, interlaced)
    middle = b"".join(chunk(*c) for c in before) + chunk(b"IDAT", zlib.compress(rows))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", ihdr) + middle +
            b"".join(chunk(*c) for c in after) + chunk(b"IEND", b""))


def jpegs():
    files = {}
    rgb = picture(37, 29)
    for name, sampling in [("444", "1x1"), ("422", "2x1"), ("420", "2x2"), ("440", "1x2"), ("411", "4x1")]:
        files[f"jpeg_{name}"] = cjpeg(rgb, "-quality", "90", "-sample", sampling)
        files[f"jpeg_{name}_progressive"] = cjpeg(rgb, "-quality", "80", "-sample", sampling, "-progressive")
    files["jpeg_q100"] = cjpeg(rgb, "-quality", "100")
    files["jpeg_q5"] = cjpeg(rgb, "-quality", "5")
    files["jpeg_optimized"] = cjpeg(rgb, "-optimize")
    files["jpeg_restart"] = cjpeg(rgb, "-restart", "1B")
    files["jpeg_rgb"] = cjpeg(rgb, "-rgb", "-quality", "85")
    files["jpeg_grey"] = cjpeg(picture(31, 23, 1))
    files["jpeg_grey_progressive"] = cjpeg(picture(31, 23, 1), "-progressive")
    files["jpeg_grey_of_color"] = cjpeg(rgb, "-grayscale")
    scans = HERE / "scans.tmp"
    scans.write_text("0;\n1;\n2;\n")
    files["jpeg_non_interleaved"] = cjpeg(rgb, "-quality", "75", "-scans", str(scans))
    scans.unlink()
    cmyk = pillow_jpeg(Image.fromarray(picture(26, 19, 4), "CMYK"), quality=90)
    at = cmyk.index(b"Adobe")
    files["jpeg_cmyk_adobe"] = cmyk
    files["jpeg_ycck_adobe"] = cmyk[:at + 11] + b"\2" + cmyk[at + 12:]
    files["jpeg_cmyk"] = cmyk[:at - 4] + cmyk[at + 12:]
    for width, height in [(1, 1), (1, 40), (40, 1), (8, 8), (16, 16), (17, 33), (2, 3)]:
        files[f"jpeg_{width}x{height}"] = cjpeg(picture(width, height), "-quality", "92")
    for orientation in range(1, 9):
        files[f"jpeg_orientation_{orientation}"], _ = with_exif(files["jpeg_420"], orientation, orientation % 2 == 0)
    files["jpeg_orientation_long"], _ = with_exif(files["jpeg_grey"], 6, kind=4)
    files["jpeg_orientation_9"], _ = with_exif(files["jpeg_grey"], 9)
    files["jpeg_with_more"] = files["jpeg_420"] + b"more data behind the end marker\xff\xd8\xff"
    files["photo"] = cjpeg(picture(97, 61, 3, 7), "-quality", "90", "-sample", "2x2")
    return files


def pngs():
    files = {}
    palette = bytes(np.random.default_rng(3).integers(0, 256, 768, dtype=np.uint8))
    for color_type, components, depths in [(0, 1, (1, 2, 4, 8, 16)), (2, 3, (8, 16)), (3, 1, (1, 2, 4, 8)),
                                           (4, 2, (8, 16)), (6, 4, (8, 16))]:
        for depth in depths:
            for interlaced in (False, True):
                samples = picture(13, 11, components, 5).astype(np.uint32)
                samples = samples * 257 >> (16 - depth)
                if depth == 16:
                    samples[:, ::2] >>= 8  # 16-bit grey is clipped at 255.
                before = [(b"PLTE", palette[:3 << depth])] if color_type == 3 else []
                name = f"png_{color_type}_{depth}" + ("_interlaced" if interlaced else "")
                files[name] = png(samples, depth, color_type, interlaced, before)
    small = picture(9, 7, 1).astype(np.uint32) % 7
    files["png_short_palette"] = png(small, 8, 3, before=[(b"PLTE", palette[:12])])
    files["png_palette_alpha"] = png(small % 4, 8, 3, before=[(b"PLTE", palette[:12]), (b"tRNS", b"\0\x80")])
    files["png_grey_transparent"] = png(small, 8, 0, before=[(b"tRNS", b"\0\3")])
    files["png_rgb_transparent"] = png(picture(9, 7).astype(np.uint32), 8, 2, before=[(b"tRNS", b"\0\3\0\3\0\3")])
    files["png_gamma"] = png(small, 8, 0, before=[(b"gAMA", struct.pack(">I", 45455))])
    for width, height in [(1, 1), (1, 19), (19, 1), (3, 2)]:
        samples = picture(width, height).astype(np.uint32)
        files[f"png_{width}x{height}"] = png(samples, 8, 2)
        files[f"png_{width}x{height}_interlaced"] = png(samples, 8, 2, True)
    _, tiff = with_exif(b"\xff\xd8", 8)
    files["png_exif"] = png(small, 8, 0, before=[(b"eXIf", tiff)])
    files["png_exif_late"] = png(small, 8, 0, after=[(b"eXIf", tiff)])
    return files


def sha(image):
    """Half of a digest, which keeps the file small."""
    return hashlib.sha256(image.tobytes()).hexdigest()[:32]


def shrunk(data, shrink):
    """A JPEG decoded to 1 / shrink of its size, as draft() does where it chooses this scale."""
    image = Image.open(io.BytesIO(data))
    image._size = tuple(-(-side // shrink) for side in image.size)
    (decoder, _, offset, arguments), = image.tile
    image.tile = [(decoder, (0, 0, *image.size), offset, arguments)]
    image.decoderconfig = (shrink, 0)
    return image.convert("RGB")


def decoded(data):
    image = Image.open(io.BytesIO(data))
    turned = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    orientation = Image.open(io.BytesIO(data)).getexif().get(ORIENTATION, 1)
    result = {"width": image.width, "height": image.height, "orientation": 1,
              "rgb": sha(image.convert("RGB")), "grey": sha(image.convert("L"))}
    if image.format == "JPEG":
        result |= {"half": sha(shrunk(data, 2)), "quarter": sha(shrunk(data, 4))}
    if 2 <= orientation <= 8:
        result |= {"orientation": orientation, "turned_rgb": sha(turned.convert("RGB")),
                   "turned_grey": sha(turned.convert("L"))}
    else:
        assert turned.tobytes() == image.tobytes()
    return result


def resizes(files):
    """Crop first, so that the filter stops at the least box of whole pixels; the rest is a box."""
    boxes = {"photo": [(0, 0, 97, 61), (10, 5, 60, 50), (0, 0, 1, 1), (96, 60, 97, 61), (3, 0, 4, 61),
                       (0, 9, 97, 10), (7.25, 3.5, 80.75, 55.125), (0.4, 0.6, 96.9, 60.2)],
             "jpeg_1x1": [(0, 0, 1, 1), (0.25, 0.5, 0.75, 1)], "jpeg_40x1": [(0, 0, 40, 1)],
             "jpeg_1x40": [(0, 0, 1, 40), (0, 3, 1, 39)]}
    sizes = [(224, 224), (97, 61), (48, 30), (1, 1), (3, 200), (200, 2), (33, 47), (98, 60), (64, 64), (7, 5)]
    cases = []
    for name, list_of_boxes in boxes.items():
        for box in list_of_boxes:
            for size in sizes:
                for filter_name, chosen in [("bilinear", Image.BILINEAR), ("nearest", Image.NEAREST)]:
                    mode = "RGB" if (len(cases) // 2) % 2 == 0 else "L"
                    flip = (len(cases) // 4) % 2 == 1
                    image = Image.open(io.BytesIO(files[name])).convert(mode)
                    left, top = math.floor(box[0]), math.floor(box[1])
                    crop = image.crop((left, top, math.ceil(box[2]), math.ceil(box[3])))
                    rest = (box[0] - left, box[1] - top, box[2] - left, box[3] - top)
                    resized = crop.resize(size, chosen, box=rest)
                    if flip:
                        resized = ImageOps.mirror(resized)
                    cases.append({"file": name, "box": box, "size": size, "filter": filter_name,
                                  "channels": len(mode), "flip": flip, "digest": sha(resized)})
    return cases


MASK = (1 << 64) - 1


def mix64(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def uniforms(key, count=41):
    """base/counter_rng.h"""
    gamma = 0x9E3779B97F4A7C15
    return [(mix64(key + (i + 1) * gamma & MASK) >> 11) * 2.0**-53 for i in range(count)]


class Draws:
    """Gives torchvision the uniform numbers that Penstock draws, each by its index."""

    def __init__(self, key):
        self.numbers = uniforms(key)
        self.next = 1  # Number 0 decides the flip.

    def take(self):
        self.next += 1
        return self.numbers[self.next - 1]

    def __enter__(self):
        self.saved = torch.empty, torch.randint, torch.rand
        draws = self

        class Number:
            def uniform_(self, low, high):
                if draws.next % 4 == 3:  # The previous try was refused before it drew top and left.
                    draws.next += 2
                low, high = float(low), float(high)
                return torch.tensor(low + (high - low) * draws.take(), dtype=torch.float64)

        torch.empty = lambda *_: Number()
        torch.randint = lambda low, high, size: torch.tensor(low + int((high - low) * draws.take()))
        torch.rand = lambda *_: torch.tensor(draws.numbers[0], dtype=torch.float64)
        return self

    def __exit__(self, *_):
        torch.empty, torch.randint, torch.rand = self.saved


def crops():
    ranges = [(0.08, 1.0, 3 / 4, 4 / 3), (0.5, 1.0, 1.0, 1.0), (0.9, 1.0, 0.1, 10.0), (1.0, 1.0, 2.0, 3.0),
              (0.01, 0.02, 0.5, 2.0)]
    sizes = [(640, 480), (100, 100), (1, 1), (2, 3), (1, 500), (500, 1), (3024, 4032), (37, 29), (65500, 17)]
    cases, key = [], 0
    for width, height in sizes:
        for area_min, area_max, ratio_min, ratio_max in ranges:
            for _ in range(4):
                key += 1
                with Draws(key):
                    top, left, high, wide = transforms.RandomResizedCrop.get_params(
                        torch.zeros(1).expand(3, height, width), [area_min, area_max], [ratio_min, ratio_max])
                if wide and high:  # torchvision falls back to empty crops for thin pictures.
                    cases.append({"size": [width, height],
                                  "ranges": [area_min, area_max, ratio_min, ratio_max],
                                  "key": key, "crop": [left, top, wide, high]})
    return cases


def pipelines(files):
    ops = [("random_resized_crop", {"height": 24, "width": 32},
            transforms.RandomResizedCrop((24, 32), (0.08, 1.0), (3 / 4, 4 / 3))),
           ("resize", {"height": 20, "width": 50}, transforms.Resize((20, 50))),
           ("resize_shorter", {"side": 40, "height": 31, "width": 36},
            transforms.Compose([transforms.Resize(40), transforms.CenterCrop((31, 36))])),
           ("resize_shorter", {"side": 17, "height": 17, "width": 16},
            transforms.Compose([transforms.Resize(17), transforms.CenterCrop((17, 16))])),
           ("random_crop", {"height": 16, "width": 20, "padding": 8}, transforms.RandomCrop((16, 20), 8)),
           ("random_crop", {"height": 16, "width": 20, "padding": 11, "reflect": True},
            transforms.RandomCrop((16, 20), 11, padding_mode="reflect"))]
    nearest_crop = transforms.RandomResizedCrop((24, 32), interpolation=transforms.InterpolationMode.NEAREST)
    cases = []
    for name in ["photo", "jpeg_420", "jpeg_grey", "jpeg_1x40", "jpeg_40x1", "png_6_8", "jpeg_orientation_6",
                 "png_0_16", "jpeg_17x33", "jpeg_cmyk_adobe"]:
        for op, parameters, transform in ops:
            for channels in (1, 3):
                if op == "random_crop" and min(Image.open(io.BytesIO(files[name])).size) + \
                        2 * parameters["padding"] < 20:
                    continue
                key = 1000 + len(cases)
                image = Image.open(io.BytesIO(files[name]))
                orient = len(cases) % 2 == 1
                if orient:
                    image = ImageOps.exif_transpose(image)
                image = image.convert("L" if channels == 1 else "RGB")
                nearest = op == "random_resized_crop" and channels == 1
                chosen = nearest_crop if nearest else transform
                with Draws(key):
                    result = transforms.RandomHorizontalFlip(0.5)(chosen(image))
                cases.append({"file": name, "op": op, **parameters, "channels": channels, "orient": orient,
                              "nearest": nearest,
                              "key": key, "digest": sha(result)})
    return cases


def photographs():
    """One digest over all photographs as stored, one over `images-train:72` of them; keys count from 0."""
    root = os.environ.get("PENSTOCK_TEST_DATA")
    if not root:
        return json.loads((HERE / "expectations.json").read_text())["photographs"]
    whole, train, count = hashlib.sha256(), hashlib.sha256(), 0
    transform = transforms.RandomResizedCrop(72)
    flip = transforms.RandomHorizontalFlip(0.5)
    for path in sorted((pathlib.Path(root) / "data" / "images").glob("*/*.JPG"), key=str):
        image = Image.open(path).convert("RGB")
        whole.update(image.tobytes())
        with Draws(count):
            train.update(flip(transform(image)).tobytes())
        count += 1
    return {"count": count, "rgb": whole.hexdigest(), "train": train.hexdigest()}


def self_test_images():
    rgb = picture(40, 32, 3, 9)
    return {"420": cjpeg(rgb, "-quality", "80", "-sample", "2x2"),
            "422": cjpeg(rgb, "-quality", "85", "-sample", "2x1"),
            "444": cjpeg(rgb, "-quality", "75", "-sample", "1x1"),
            "grey": cjpeg(picture(35, 27, 1, 9), "-quality", "85"),
            "progressive": cjpeg(rgb, "-quality", "70", "-sample", "2x2", "-progressive")}


def write_self_test(images):
    lines = ["// Written by testing/make_expectations.py, which draws the pictures.",
             '#include "records/image/self_test_images.h"', "", "namespace penstock {", "namespace {", ""]
    for name, data in images.items():
        lines.append(f"constexpr uint8_t kJpeg_{name}[] = {{")
        lines += ["    " + ", ".join(f"{b}" for b in data[i:i + 20]) + "," for i in range(0, len(data), 20)]
        lines += ["};", ""]
    names = ", ".join(f"kJpeg_{name}" for name in images)
    lines += [f"constexpr std::span<const uint8_t> kImages[] = {{{names}}};", "", "}  // namespace", "",
              "std::span<const std::span<const uint8_t>> SelfTestImages() { return kImages; }", "",
              "}  // namespace penstock"]
    path = HERE.parent / "self_test_images.cc"
    path.write_text("\n".join(lines) + "\n")
    subprocess.run(["clang-format", "-i", str(path)], check=True)


def self_test_digest(images):
    digest = hashlib.sha256()
    transform = transforms.RandomResizedCrop(24)
    for i, data in enumerate(images.values()):
        image = Image.open(io.BytesIO(data)).convert("RGB")
        digest.update(image.tobytes())
        for shrink in (2, 4):
            digest.update(shrunk(data, shrink).tobytes())
        with Draws(i):
            digest.update(transforms.RandomHorizontalFlip(0.5)(transform(image)).tobytes())
    return digest.hexdigest()


def judge(files):
    """What Pillow and torchvision make of the files."""
    return {"decoded": {name: decoded(data) for name, data in files.items()},
            "resizes": resizes(files), "crops": crops(), "pipelines": pipelines(files),
            "photographs": photographs()}


def made_with():
    return (f"Pillow {pillow_version}, libjpeg-turbo {features.version('libjpeg_turbo')}, "
            f"torchvision {torchvision.__version__.split('+')[0]}")


def compare():
    stored = json.loads((HERE / "expectations.json").read_text())
    files = {name: base64.b64decode(data) for name, data in stored["files"].items()}
    for part, judged in json.loads(json.dumps(judge(files))).items():
        if judged != stored[part]:
            sys.exit(f"images: {part} are not as {made_with()} makes them")
        print(f"images: {part}, {len(judged)} entries, equal")
    print(f"images: judged by {made_with()}; stored by {stored['made_with']}")


def make():
    files = jpegs() | pngs()
    images = self_test_images()
    write_self_test(images)
    refused = {"arithmetic": cjpeg(picture(9, 9), "-arithmetic")}
    encode = lambda named: {name: base64.b64encode(data).decode() for name, data in named.items()}
    result = {
        "made_with": made_with(), "files": encode(files), "refused": encode(refused),
        **judge(files), "self_test": self_test_digest(images)}
    lines = []
    for key, value in result.items():
        if isinstance(value, dict):
            rows = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in value.items())
            lines.append(f"{json.dumps(key)}: {{\n{rows}}}")
        elif isinstance(value, list):
            lines.append(f"{json.dumps(key)}: [\n" + ",\n".join(json.dumps(v) for v in value) + "]")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value)}")
    (HERE / "expectations.json").write_text("{" + ",\n".join(lines) + "}\n")
    print(result["made_with"], sum(len(d) for d in images.values()), "bytes of self-test images")


if __name__ == "__main__":
    assert int(pillow_version.split(".")[0]) < 13, "Pillow 13 has another order of passes"
    torch.set_default_dtype(torch.float64)
    compare() if sys.argv[1:] == ["--compare"] else make()
