// Measures the work for one image of 640x480 pixels on one core, beside libjpeg-turbo alone in the
// same run.
//
//   Probe          reads the header alone.
//   Plain/KIND     libjpeg-turbo called as its manual says, with one decompressor for all images.
//                  This is the ceiling of Decode.
//   Decode/KIND    ImageDecoder on the same file. `of_plain` is its rate divided by that of the
//                  plain call, measured just before.
//   Walk           the walk over the markers before a region is decoded.
//   Region/KIND    decodes the part that a random resized crop needs, with a new crop each time.
//                  `of_whole` is its time divided by that of decoding the whole picture, by turns.
//   Resize/CASE/LEVEL    crop: 400x300 pixels of the picture to 224x224, bilinear, antialiased.
//                        whole: the whole picture to 341x256, but only the central 224x224.
//                        The box alternates between two, so weights are computed each time.
//   PART/CASE/LEVEL      parts of Resize: Weights, and the Horizontal and Vertical passes with
//                        weights that are ready.
//   Train/KIND     random resized crop to 224 and flip, with a new crop each time.
//   Photo/SCALE    the same for a photo of 3024x2016 pixels, 4:2:0, at full scale and with
//                  scaled_decoding.
//   Batch/KIND/real_time/threads:N    Train and a copy of its pixels to a batch, on N cores.
//                  items_per_second is the ceiling of loaders.
//
// KIND is 420, 444 or progressive, all of quality 90. Times are microseconds an image. Batch also
// takes JPEG files in turn, as the KIND `files`: image_bench [OPTIONS] FILE...
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>  // Needed by jpeglib.h.
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <jpeglib.h>

#include "absl/strings/str_cat.h"
#include "base/simd_level.h"
#include "benchmark/benchmark.h"
#include "records/image/image_transform.h"
#include "records/image/jpeg_scan.h"
#include "records/image/testing/large_images.h"

namespace penstock {
namespace {

constexpr uint32_t kWidth = 640, kHeight = 480;
using Bytes = std::vector<uint8_t>;
using resample_internal::kRowsAtOnce;
using resample_internal::RowsAtOnce;

struct Kind {
  const char* name;
  JpegKind jpeg;
};
constexpr Kind kKinds[] = {
    {"420", {}}, {"444", {.horizontal = 1, .vertical = 1}}, {"progressive", {.progressive = true}}};

const Bytes& Pixels() {
  static const Bytes pixels = DrawPicture(kWidth, kHeight);
  return pixels;
}

double ThreadSeconds() {
  timespec now;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class PlainDecoder {
 public:
  PlainDecoder() {
    decompress_.err = jpeg_std_error(&errors_);
    jpeg_create_decompress(&decompress_);
  }
  ~PlainDecoder() { jpeg_destroy_decompress(&decompress_); }
  PlainDecoder(const PlainDecoder&) = delete;
  PlainDecoder& operator=(const PlainDecoder&) = delete;

  void Decode(const Bytes& file, Bytes& out) {
    jpeg_mem_src(&decompress_, file.data(), file.size());
    jpeg_read_header(&decompress_, TRUE);
    jpeg_start_decompress(&decompress_);
    while (decompress_.output_scanline < decompress_.output_height) {
      JSAMPROW row = out.data() + size_t{decompress_.output_scanline} * kWidth * 3;
      jpeg_read_scanlines(&decompress_, &row, 1);
    }
    jpeg_finish_decompress(&decompress_);
  }

 private:
  jpeg_decompress_struct decompress_;
  jpeg_error_mgr errors_;
};

void RunProbe(benchmark::State& state) {
  const Bytes file = EncodeJpeg(Pixels(), kWidth, kHeight, {});
  for (auto _ : state) benchmark::DoNotOptimize(ProbeImage(file));
}

void RunPlain(benchmark::State& state, const JpegKind& kind) {
  const Bytes file = EncodeJpeg(Pixels(), kWidth, kHeight, kind);
  Bytes out(Pixels().size());
  PlainDecoder plain;
  for (auto _ : state) plain.Decode(file, out);
  state.counters["file_bytes"] = static_cast<double>(file.size());
}

double SecondsOf(const std::function<void()>& decode) {
  constexpr int kTimes = 20;
  const double begin = ThreadSeconds();
  for (int i = 0; i < kTimes; ++i) decode();
  return (ThreadSeconds() - begin) / kTimes;
}

void RunDecode(benchmark::State& state, const JpegKind& kind) {
  const Bytes file = EncodeJpeg(Pixels(), kWidth, kHeight, kind);
  Bytes out(Pixels().size());
  PlainDecoder plain;
  ImageDecoder decoder;
  const double plain_seconds = SecondsOf([&] { plain.Decode(file, out); });
  const double begin = ThreadSeconds();
  for (auto _ : state) {
    if (!decoder.Decode(file, {}).ok()) std::abort();
  }
  state.counters["of_plain"] =
      plain_seconds * static_cast<double>(state.iterations()) / (ThreadSeconds() - begin);
}

// Walks from the first byte of the scan's data.
void RunWalk(benchmark::State& state) {
  const Bytes file = EncodeJpeg(Pixels(), kWidth, kHeight, {});
  const Bytes scan_header = {0xff, 0xda};
  const auto at = std::search(file.begin(), file.end(), scan_header.begin(), scan_header.end());
  const size_t header_bytes = size_t{at[2]} * 256 + at[3];
  const std::span<const uint8_t> data(at + 2 + static_cast<ptrdiff_t>(header_bytes), file.end());
  for (auto _ : state) {
    if (!HoldsOneWholeScan(data)) std::abort();
  }
}

void RunRegion(benchmark::State& state, const JpegKind& kind) {
  const Bytes file = EncodeJpeg(Pixels(), kWidth, kHeight, kind);
  const ImageInfo info = ProbeImage(file).value();
  ImageDecoder decoder;
  double region_seconds = 0, whole_seconds = 0;
  uint64_t ordinal = 0;
  for (auto _ : state) {
    const Uniforms uniforms(ImageKey(1, ordinal++, 0));
    const CropRect region = RandomResizedCrop({kWidth, kHeight}, {}, uniforms);
    const double begin = ThreadSeconds();
    if (!decoder.DecodeRegion(file, info, {}, region).ok()) std::abort();
    const double between = ThreadSeconds();
    if (!decoder.Decode(file, info, {}).ok()) std::abort();
    region_seconds += between - begin;
    whole_seconds += ThreadSeconds() - between;
    state.SetIterationTime(between - begin);
  }
  state.counters["of_whole"] = region_seconds / whole_seconds;
}

struct ResizeCase {
  const char* name;
  ResizeRequest request;
};
const ResizeCase kResizeCases[] = {
    {"crop",
     {.box = {100, 50, 500, 350},
      .width = 224,
      .height = 224,
      .window_width = 224,
      .window_height = 224}},
    {"whole",
     {.box = {0, 0, kWidth, kHeight},
      .width = 341,
      .height = 256,
      .window_left = 58,
      .window_top = 16,
      .window_width = 224,
      .window_height = 224}},
};

PixelView Picture() { return {Pixels().data(), kWidth, kHeight, 3}; }

// Alternates between two boxes.
void Alternate(ResizeRequest& request) {
  const double by = request.box.left == std::floor(request.box.left) ? 0.0625 : -0.0625;
  request.box.left += by;
  request.box.top += by;
}

void RunResize(benchmark::State& state, const ResizeCase& of, SimdLevel level) {
  ResizeRequest request = of.request;
  Bytes out(size_t{request.window_width} * request.window_height * 3);
  Resampler resampler(level);
  for (auto _ : state) {
    Alternate(request);
    resampler.Resize({Picture()}, request, out.data());
  }
}

void RunWeights(benchmark::State& state, const ResizeCase& of, SimdLevel level) {
  ResizeRequest request = of.request;
  HorizontalPass horizontal(level);
  VerticalPass vertical(level);
  for (auto _ : state) {
    Alternate(request);
    horizontal.Prepare(Picture(), HorizontalAxis(request), false);
    vertical.Prepare(VerticalAxis(request));
  }
}

void RunHorizontal(benchmark::State& state, const ResizeCase& of, SimdLevel level) {
  HorizontalPass pass(level);
  pass.Prepare(Picture(), HorizontalAxis(of.request), false);
  RowRing ring;
  ring.Start(8, of.request.window_width * 3);
  const CropRect read = PartRead(of.request);
  const size_t top = static_cast<size_t>(read.top), bottom = top + read.height;
  for (auto _ : state) {
    for (size_t y = top; y < bottom; y += kRowsAtOnce) {
      RowsAtOnce rows;
      for (size_t i = 0; i < kRowsAtOnce; ++i) {
        rows.in[i] = Picture().row(std::min(y + i, bottom - 1));
        rows.out[i] = ring.row(y + i);
      }
      pass.Filter(rows);
    }
  }
}

void RunVertical(benchmark::State& state, const ResizeCase& of, SimdLevel level) {
  VerticalPass pass(level);
  pass.Prepare(VerticalAxis(of.request));
  const size_t row_bytes = of.request.window_width * 3;
  RowRing ring;
  ring.Start(6, row_bytes);
  std::fill_n(ring.row(0), ring.row(5) + row_bytes - ring.row(0), uint8_t{123});
  Bytes out(row_bytes * of.request.window_height);
  for (auto _ : state) {
    for (size_t y = 0; y < of.request.window_height; ++y) {
      pass.Blend(y, ring, row_bytes, out.data() + y * row_bytes);
    }
  }
}

ImageOps TrainOps() {
  ImageOps ops;
  ops.crop = RandomResizedCropOp{{224, 224}, {}};
  ops.flip_probability = 0.5;
  return ops;
}

void RunTrain(benchmark::State& state, const Bytes& file, bool scaled) {
  ImageOps ops = TrainOps();
  ops.scaled_decoding = scaled;
  Bytes out(ops.output_bytes());
  ImageTransform transform;
  uint64_t ordinal = 0;
  for (auto _ : state) {
    if (!transform.Apply(file, ops, Uniforms(ImageKey(1, ordinal++, 0)), out).ok()) std::abort();
  }
}

Bytes ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Measures batches on several threads. Each thread has its own batch, decoder and crops.
void RunBatch(benchmark::State& state, const std::vector<Bytes>& files) {
  constexpr size_t kRows = 64;
  const ImageOps ops = TrainOps();
  Bytes row(ops.output_bytes()), batch(kRows * row.size());
  ImageTransform transform;
  const uint64_t key = static_cast<uint64_t>(state.thread_index());
  uint64_t ordinal = 0;
  for (auto _ : state) {
    const Bytes& file = files[ordinal % files.size()];
    if (!transform.Apply(file, ops, Uniforms(ImageKey(key, ordinal, 0)), row).ok()) std::abort();
    std::copy(row.begin(), row.end(),
              batch.begin() + static_cast<ptrdiff_t>(ordinal % kRows * row.size()));
    benchmark::ClobberMemory();
    ++ordinal;
  }
  state.SetItemsProcessed(static_cast<int64_t>(ordinal));
}

void RegisterBatch(const std::string& kind, const std::vector<Bytes>& files) {
  auto* bench = benchmark::RegisterBenchmark(absl::StrCat("Batch/", kind).c_str(),
                                             [files](benchmark::State& s) { RunBatch(s, files); });
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  bench->Unit(benchmark::kMicrosecond)->UseRealTime()->Threads(1);
  if (cores > 1) bench->Threads(cores);
}

void Register() {
  const auto add = [](const std::string& name, const std::function<void(benchmark::State&)>& run) {
    return benchmark::RegisterBenchmark(name.c_str(), run)->Unit(benchmark::kMicrosecond);
  };
  add("Probe", RunProbe);
  for (const Kind& kind : kKinds) {
    const JpegKind jpeg = kind.jpeg;
    add(absl::StrCat("Plain/", kind.name), [jpeg](benchmark::State& s) { RunPlain(s, jpeg); });
    add(absl::StrCat("Decode/", kind.name), [jpeg](benchmark::State& s) { RunDecode(s, jpeg); });
    add(absl::StrCat("Region/", kind.name), [jpeg](benchmark::State& s) {
      RunRegion(s, jpeg);
    })->UseManualTime();
    add(absl::StrCat("Train/", kind.name), [jpeg](benchmark::State& s) {
      RunTrain(s, EncodeJpeg(Pixels(), kWidth, kHeight, jpeg), false);
    });
    RegisterBatch(kind.name, {EncodeJpeg(Pixels(), kWidth, kHeight, jpeg)});
  }
  for (const bool scaled : {false, true}) {
    add(absl::StrCat("Photo/", scaled ? "scaled" : "full"), [scaled](benchmark::State& s) {
      RunTrain(s, EncodeJpeg(DrawPicture(3024, 2016), 3024, 2016, {}), scaled);
    });
  }
  add("Walk", RunWalk);
  using RunCase = void (*)(benchmark::State&, const ResizeCase&, SimdLevel);
  const std::pair<const char*, RunCase> parts[] = {{"Resize", RunResize},
                                                   {"Weights", RunWeights},
                                                   {"Horizontal", RunHorizontal},
                                                   {"Vertical", RunVertical}};
  for (const ResizeCase& of : kResizeCases) {
    for (const SimdLevel level : {SimdLevel::kScalar, BestSimdLevel()}) {
      for (const auto& part : parts) {
        const RunCase run = part.second;
        add(absl::StrCat(part.first, "/", of.name, "/", SimdLevelName(level)),
            [run, &of, level](benchmark::State& s) { run(s, of, level); });
      }
    }
  }
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  std::vector<std::vector<uint8_t>> files;
  for (; argc > 1 && argv[argc - 1][0] != '-'; --argc) {
    files.push_back(penstock::ReadFile(argv[argc - 1]));
  }
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  penstock::Register();
  if (!files.empty()) penstock::RegisterBatch("files", files);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
