// Measures the decoding of chess positions on one core, beside the ceilings of the same run.
//
//   Unpack/...   bits to planes alone. `cache` writes the same 1 MiB again and again; `memory`
//                walks over 1 GiB. `of_write` is the rate of writing divided by that of memset or
//                non-temporal stores, whichever is faster over the same memory, measured just
//                before.
//   Decode/...   whole rows (planes, flags, score) from 64 MiB of 194-byte rows, in parts of about
//                1 MiB as an engine serves them. Rows are permuted or in order.
//   Score/...    scores alone.
//   Numbers/...  one tensor of N numbers a row, from memory in cache. One item is a number.
//   Planes/...   rows of CIFAR-10 to float32, as stored or transposed. One item is a row.
//   Table/...    rows of 40 tensors of one number each, in order, from 64 MiB. One item is a row.
//   Write, Copy  the ceilings themselves.
//
// In all others one item is a position. `write_B/s` counts the bytes of the planes.
#include <immintrin.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "records/decode/bits.h"
#include "records/decode/program.h"
#include "records/decode/score.h"
#include "records/decode/spec.h"

namespace penstock {
namespace {

constexpr size_t kCacheBytes = size_t{1} << 20;
constexpr size_t kMemoryBytes = size_t{1} << 30;
constexpr size_t kRowBytes = 194;
constexpr size_t kPlanes = 1536;

// Memory in huge pages if the system has them. The constructor writes it once, so that its pages
// exist.
class Buffer {
 public:
  explicit Buffer(size_t size) : size_(size) {
    void* memory =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    ::madvise(memory, size, MADV_HUGEPAGE);
    data_ = static_cast<uint8_t*>(memory);
    std::memset(data_, 1, size);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { ::munmap(data_, size_); }

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  size_t size_;
  uint8_t* data_;
};

__attribute__((target("avx512f"))) void StreamZeros(uint8_t* out, size_t size) {
  for (size_t i = 0; i < size; i += 64)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(out + i), __m512i{});
  _mm_sfence();
}

// Returns the CPU time of this thread. The benchmarks' own rates use it too, so other work on the
// machine affects neither side of a ratio.
double CpuSeconds() {
  timespec now;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <typename Write>
double BytesPerSecond(size_t size, int repeats, const Write& write) {
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    const double start = CpuSeconds();
    for (int r = 0; r < repeats; ++r) write();
    best = std::max(best, static_cast<double>(size) * repeats / (CpuSeconds() - start));
  }
  return best;
}

// Returns the rate of the fastest known way to write the buffer. Decoding cannot be faster.
double WriteCeiling(const Buffer& buffer) {
  const int repeats = buffer.size() >= kMemoryBytes ? 1 : 1000;
  const double set = BytesPerSecond(buffer.size(), repeats, [&] {
    std::memset(buffer.data(), 0, buffer.size());
    benchmark::ClobberMemory();
  });
  if (BestSimdLevel() < SimdLevel::kAvx512) return set;
  return std::max(set, BytesPerSecond(buffer.size(), repeats, [&] {
                    StreamZeros(buffer.data(), buffer.size());
                    benchmark::ClobberMemory();
                  }));
}

// Random positions side by side in huge pages, and pointers to them in order or permuted.
struct Rows {
  explicit Rows(size_t n, bool permuted = false) : memory(n * kRowBytes), scores(n) {
    const std::span<uint8_t> bytes(memory.data(), memory.size());
    std::mt19937_64 random(1);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    for (int64_t& score : scores) score = static_cast<int64_t>(random() % 2001) - 1000;
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), size_t{0});
    if (permuted) std::shuffle(order.begin(), order.end(), random);
    for (const size_t i : order) {
      d.push_back(&bytes[i * kRowBytes]);
      s.push_back(reinterpret_cast<const uint8_t*>(&scores[i]));
    }
  }
  Buffer memory;
  std::vector<int64_t> scores;
  std::vector<const uint8_t*> d;
  std::vector<const uint8_t*> s;
};

BitTable PlanesTable() {
  std::vector<BitSource> elements;
  for (uint32_t i = 0; i < 64 * 24; ++i) {
    const uint32_t square = i / 24, k = i % 24 / 6, t = i % 6;
    elements.push_back({24 * square + 4 * t + k, k % 2 == 1});
  }
  return BuildBitTable(elements, kRowBytes);
}

void Unpack(benchmark::State& state, SimdLevel level, Dtype dtype, Stores stores,
            size_t out_bytes) {
  const BitTable table = PlanesTable();
  const Buffer out(out_bytes);
  const size_t row_out = kPlanes * DtypeSize(dtype);
  const size_t rows_out = out_bytes / row_out;
  // This many input rows stay in L1 and L2 beside the output.
  const size_t kIn = 256;
  const Rows rows(kIn);
  const double ceiling = WriteCeiling(out);
  size_t at = 0;
  for (auto _ : state) {
    const size_t n = std::min(kIn, rows_out - at);
    ExpandBits(table, dtype, level, stores, rows.d.data(), n, out.data() + at * row_out);
    benchmark::ClobberMemory();
    at = at + n == rows_out ? 0 : at + n;
    state.SetItemsProcessed(state.items_processed() + static_cast<int64_t>(n));
  }
  const auto written = static_cast<double>(state.items_processed()) * static_cast<double>(row_out);
  state.counters["write_B/s"] = benchmark::Counter(written, benchmark::Counter::kIsRate);
  state.counters["of_write"] = benchmark::Counter(written / ceiling, benchmark::Counter::kIsRate);
}

void Decode(benchmark::State& state, SimdLevel level, WireDtype dtype, bool permuted) {
  const Program program = *Program::Compile(*LoadSpec("chess"), dtype);
  const Rows rows((size_t{64} << 20) / kRowBytes, permuted);
  const size_t part = kCacheBytes / program.row_bytes();
  std::vector<std::vector<uint8_t>> tensors;
  std::vector<uint8_t*> outputs;
  for (const TensorInfo& tensor : program.tensors()) {
    tensors.emplace_back(part * tensor.row_bytes + 64);
    outputs.push_back(tensors.back().data() + 64 -
                      reinterpret_cast<uintptr_t>(tensors.back().data()) % 64);
  }
  size_t at = 0;
  for (auto _ : state) {
    if (at + part > rows.d.size()) at = 0;
    const FeatureColumn columns[] = {rows.d.data() + at, rows.s.data() + at};
    benchmark::DoNotOptimize(program.DecodeRows(columns, part, outputs, {.level = level}));
    at += part;
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(part));
  state.SetBytesProcessed(state.items_processed() * static_cast<int64_t>(program.row_bytes()));
}

void Score(benchmark::State& state, SimdLevel level) {
  int64_t scores[kScoreBlock];
  uint8_t mates[kScoreBlock] = {0, 1};
  double out[kScoreBlock];
  for (size_t i = 0; i < kScoreBlock; ++i) scores[i] = static_cast<int64_t>(i * i * 40) - 600;
  for (auto _ : state) {
    benchmark::DoNotOptimize(scores);
    MateScores({}, level, scores, mates, out);
    benchmark::DoNotOptimize(out);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kScoreBlock));
}

// Decodes numbers whose type `fields` states. The values are small integers, which every type
// holds.
void Numbers(benchmark::State& state, SimdLevel level, WireDtype dtype, const char* fields,
             size_t count) {
  const Program program = *Program::Compile(
      *ParseSpec(
          absl::StrCat("tensor { name: 'n' number { feature: 'n' count: ", count, fields, " } }"),
          "bench"),
      dtype);
  const size_t rows = (size_t{1} << 14) / count;
  const size_t row_bytes = program.features()[0].row_bytes();
  const Buffer in(rows * row_bytes), out(rows * program.row_bytes());
  std::memset(in.data(), 0, in.size());
  for (size_t i = 0; i < in.size(); i += sizeof(int64_t)) in.data()[i] = i / 8 % 200;
  std::vector<const uint8_t*> starts;
  for (size_t row = 0; row < rows; ++row) starts.push_back(in.data() + row * row_bytes);
  const FeatureColumn columns[] = {starts.data()};
  uint8_t* const outputs[] = {out.data()};
  for (auto _ : state) {
    benchmark::DoNotOptimize(program.DecodeRows(columns, rows, outputs, {.level = level}));
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(rows * count));
}

// Decodes rows of CIFAR-10 without their label: as stored (planes), or transposed to interleaved
// channels.
void Planes(benchmark::State& state, const char* transpose) {
  const Program program = *Program::Compile(
      *ParseSpec(absl::StrCat("records: RAW tensor { name: 'x' bytes { feature: 'record' "
                              "feature_bytes: 3073 first_byte: 1 dims: [3, 32, 32] ",
                              transpose, " } }"),
                 "bench"),
      WireDtype::kF32);
  constexpr size_t kRows = 128, kBytes = 3073;
  const Buffer in(kRows * kBytes), out(kRows * program.row_bytes());
  std::memset(in.data(), 1, in.size());
  std::vector<const uint8_t*> starts;
  for (size_t row = 0; row < kRows; ++row) starts.push_back(in.data() + row * kBytes);
  const FeatureColumn columns[] = {starts.data()};
  uint8_t* const outputs[] = {out.data()};
  for (auto _ : state) {
    benchmark::DoNotOptimize(program.DecodeRows(columns, kRows, outputs));
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kRows));
}

// Decodes rows of a table: 13 floats, 26 integers and a label. Each is one feature and one tensor.
void Table(benchmark::State& state, WireDtype dtype) {
  std::string spec = "tensor { name: 'y' label { feature: 'y' } }";
  for (int i = 0; i < 39; ++i) {
    absl::StrAppend(&spec, "tensor { name: 'x", i, "' number { feature: 'x", i, "' count: 1 ",
                    i < 13 ? "type: FLOAT" : "", " } }");
  }
  const Program program = *Program::Compile(*ParseSpec(spec, "bench"), dtype);
  const size_t num_features = program.features().size();
  size_t stride = 0;
  for (const FeatureUse& feature : program.features()) stride += feature.row_bytes();
  const size_t rows = (size_t{64} << 20) / stride;
  const size_t part = kCacheBytes / program.row_bytes();
  const Buffer in(rows * stride), out(part * program.row_bytes());
  std::vector<std::vector<const uint8_t*>> starts(num_features);
  std::vector<uint8_t*> outputs;
  for (size_t f = 0, offset = 0; f < num_features; ++f) {
    for (size_t row = 0; row < rows; ++row) starts[f].push_back(in.data() + row * stride + offset);
    offset += program.features()[f].row_bytes();
  }
  uint8_t* next = out.data();
  for (const TensorInfo& tensor : program.tensors()) {
    outputs.push_back(next);
    next += part * tensor.row_bytes;
  }
  std::vector<FeatureColumn> columns(num_features);
  size_t at = 0;
  for (auto _ : state) {
    if (at + part > rows) at = 0;
    for (size_t f = 0; f < num_features; ++f) columns[f] = starts[f].data() + at;
    benchmark::DoNotOptimize(program.DecodeRows(columns, part, outputs));
    benchmark::ClobberMemory();
    at += part;
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(part));
}

void Write(benchmark::State& state, size_t size, bool streaming) {
  const Buffer out(size);
  for (auto _ : state) {
    streaming ? StreamZeros(out.data(), size) : void(std::memset(out.data(), 0, size));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(size));
}

void Copy(benchmark::State& state, size_t size) {
  const Buffer buffer(size);
  for (auto _ : state) {
    std::memcpy(buffer.data(), buffer.data() + size / 2, size / 2);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(size / 2));
}

void RegisterCeilings() {
  for (const size_t size : {kCacheBytes, kMemoryBytes}) {
    const std::string place = size == kCacheBytes ? "cache" : "memory";
    benchmark::RegisterBenchmark(("Write/memset/" + place).c_str(), Write, size, false);
    if (BestSimdLevel() == SimdLevel::kAvx512) {
      benchmark::RegisterBenchmark(("Write/streaming/" + place).c_str(), Write, size, true);
    }
    benchmark::RegisterBenchmark(("Copy/memcpy/" + place).c_str(), Copy, size);
  }
}

void RegisterUnpack(SimdLevel level, Dtype dtype) {
  const std::string name = absl::StrCat("Unpack/", SimdLevelName(level), "/", DtypeName(dtype));
  benchmark::RegisterBenchmark((name + "/cache").c_str(), Unpack, level, dtype, Stores::kCached,
                               kCacheBytes);
  benchmark::RegisterBenchmark((name + "/memory").c_str(), Unpack, level, dtype, Stores::kCached,
                               kMemoryBytes);
  if (level != SimdLevel::kAvx512) return;
  benchmark::RegisterBenchmark((name + "/memory/streaming").c_str(), Unpack, level, dtype,
                               Stores::kStreaming, kMemoryBytes);
}

void RegisterNumbers(SimdLevel level) {
  const auto add = [level](const char* name, WireDtype dtype, const char* fields) {
    for (const size_t count : {1, 256}) {
      benchmark::RegisterBenchmark(
          absl::StrCat("Numbers/", SimdLevelName(level), "/", name, "/", count).c_str(), Numbers,
          level, dtype, fields, count);
    }
  };
  add("FLOAT/bf16", WireDtype::kBf16, " type: FLOAT");
  add("FLOAT/f32", WireDtype::kF32, " type: FLOAT");
  add("FLOAT/f64", WireDtype::kF64, " type: FLOAT");
  add("INT64/i64", WireDtype::kF32, "");
  add("INT64/i32", WireDtype::kF32, " as: I32");
  add("INT64/bf16", WireDtype::kF32, " as: BF16");
  add("INT64/f32", WireDtype::kF32, " as: F32");
}

void RegisterAll() {
  RegisterCeilings();
  benchmark::RegisterBenchmark("Planes/as_stored", Planes, "");
  benchmark::RegisterBenchmark("Planes/transposed", Planes, "transpose: [1, 2, 0]");
  benchmark::RegisterBenchmark("Table/f32", Table, WireDtype::kF32);
  benchmark::RegisterBenchmark("Table/packed", Table, WireDtype::kPacked);
  for (const SimdLevel level : AvailableSimdLevels()) {
    for (const Dtype dtype : {Dtype::kI8, Dtype::kBf16, Dtype::kF32}) RegisterUnpack(level, dtype);
    for (const WireDtype dtype :
         {WireDtype::kPacked, WireDtype::kI8, WireDtype::kBf16, WireDtype::kF32}) {
      const std::string name =
          absl::StrCat("Decode/", SimdLevelName(level), "/", WireDtypeName(dtype));
      benchmark::RegisterBenchmark((name + "/permuted").c_str(), Decode, level, dtype, true);
      benchmark::RegisterBenchmark((name + "/in_order").c_str(), Decode, level, dtype, false);
    }
    RegisterNumbers(level);
    benchmark::RegisterBenchmark(absl::StrCat("Score/", SimdLevelName(level)).c_str(), Score,
                                 level);
  }
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  penstock::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
