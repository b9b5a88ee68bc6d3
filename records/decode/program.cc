#include "records/decode/program.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/load.h"
#include "base/prefetch.h"
#include "base/status.h"
#include "base/streaming_copy.h"
#include "records/decode/numbers.h"
#include "records/decode/program_plan.h"
#include "records/format/record_id.h"
#include "records/image/image_transform.h"

namespace penstock {
namespace {

// Rows that are decoded tensor by tensor before the next rows are touched. Their bytes stay in L1.
constexpr size_t kTile = kScoreBlock;
// Memory is prefetched this many rows ahead of the tile.
constexpr size_t kAhead = 16;
// Rows that are expanded between two prefetches.
constexpr size_t kGroup = 4;
constexpr size_t kCacheLine = 64;
// If a tile has fewer bytes of a tensor than this, they are written through the cache.
constexpr size_t kMinStreamed = 512;

// The rows of one tile. rows() are the tile's rows in a column.
struct Tile {
  const Program::Plan& plan;
  std::span<const FeatureColumn> columns;
  size_t first = 0;
  size_t size = 0;
  const DecodeOptions& options;
  // Rows to prefetch while these are written, one for one. Prefetching a whole tile at once would
  // make the processor wait. If null, they are already prefetched.
  const Tile* ahead = nullptr;

  const uint8_t* const* rows(size_t column) const { return columns[column] + first; }
};

// Prefetches row i of the tile, in all features.
void FetchRow(const Tile& tile, size_t i) {
  uintptr_t asked = 0;  // Adjacent features may share a line, which is asked for once.
  for (size_t c = 0; c < tile.columns.size(); ++c) {
    const auto row = reinterpret_cast<uintptr_t>(tile.rows(c)[i]);
    const uintptr_t end = row + tile.plan.fetch_bytes[c];
    for (uintptr_t line = row / kCacheLine * kCacheLine; line < end; line += kCacheLine) {
      if (line != asked) Prefetch(reinterpret_cast<const void*>(line));
      asked = line;
    }
  }
}

void Fetch(const Tile& tile) {
  for (size_t i = 0; i < tile.size; ++i) FetchRow(tile, i);
}

// Prefetches those of the rows ahead that correspond to rows [first, first + n) of the tile.
void FetchAhead(const Tile& tile, size_t first, size_t n) {
  if (tile.ahead == nullptr) return;
  for (const size_t end = std::min(first + n, tile.ahead->size); first < end; ++first) {
    FetchRow(*tile.ahead, first);
  }
}

// Prefetches the values that the tile's entries point at, all before the first step waits for any.
void FetchValues(const Tile& tile) {
  for (const size_t column : tile.plan.variable_columns) {
    for (size_t i = 0; i < tile.size; ++i) {
      const std::span<const uint8_t> bytes = LoadVariable(tile.rows(column)[i]).bytes;
      const size_t end = std::min(bytes.size(), kMaxFetchBytes);
      for (size_t at = 0; at < end; at += kCacheLine) Prefetch(bytes.data() + at);
    }
  }
}

template <typename T>
void Store(uint8_t* out, size_t i, T value) {
  std::memcpy(out + i * sizeof(T), &value, sizeof(T));
}

// Calls `write(first, n, to)` to write the tile's rows to `out`. With streaming stores, rows are
// written to a buffer and copied from there in whole cache lines.
template <typename Write>
void WriteRows(const Tile& tile, size_t row_bytes, uint8_t* out, const Write& write) {
  alignas(kCacheLine) uint8_t buffer[size_t{16} << 10];
  const bool cached = tile.options.stores == Stores::kCached || row_bytes > sizeof(buffer) ||
                      tile.size * row_bytes < kMinStreamed;
  if (cached) return write(0, tile.size, out);
  const size_t rows = sizeof(buffer) / row_bytes;
  for (size_t first = 0; first < tile.size; first += rows) {
    const size_t n = std::min(rows, tile.size - first);
    write(first, n, buffer);
    StreamingCopy({buffer, n * row_bytes}, {out + first * row_bytes, n * row_bytes});
  }
}

void Run(const BitsStep& step, const TensorInfo& tensor, const Tile& tile, uint8_t* out,
         DecodeOutcome&) {
  const uint8_t* const* rows = tile.rows(step.column);
  const auto expand = [&](Stores stores, size_t first, size_t n, uint8_t* to) {
    const size_t most = tile.ahead == nullptr ? n : kGroup;
    for (const size_t end = first + n; first < end; first += most) {
      const size_t group = std::min(most, end - first);
      FetchAhead(tile, first, group);
      ExpandBits(*step.table, tensor.dtype, tile.options.level, stores, rows + first, group, to);
      to += group * tensor.row_bytes;
    }
  };
  if (StreamsBits(tile.options.level, out, tensor.row_bytes)) {
    return expand(tile.options.stores, 0, tile.size, out);
  }
  WriteRows(tile, tensor.row_bytes, out,
            [&](size_t first, size_t n, uint8_t* to) { expand(Stores::kCached, first, n, to); });
}

void Run(const MateScoreStep& step, const TensorInfo& tensor, const Tile& tile, uint8_t* out,
         DecodeOutcome& outcome) {
  int64_t scores[kScoreBlock] = {};
  uint8_t mates[kScoreBlock] = {};
  double values[kScoreBlock];
  for (size_t i = 0; i < tile.size; ++i) {
    scores[i] = static_cast<int64_t>(Load64(tile.rows(step.column)[i]));
    const uint8_t byte = tile.rows(step.mate_column)[i][step.mate_bit / 8];
    mates[i] = byte >> (7 - step.mate_bit % 8) & 1;
    outcome.counters.mates_without_sign += mates[i] != 0 && scores[i] == 0;
  }
  MateScores(step.params, tile.options.level, scores, mates, values);
  for (size_t i = 0; i < tile.size; ++i) {
    if (tensor.dtype == Dtype::kF64) {
      Store(out, i, values[i]);
    } else {
      Store(out, i, static_cast<float>(values[i]));
    }
  }
}

void Run(const FloatsStep& step, const TensorInfo& tensor, const Tile& tile, uint8_t* out,
         DecodeOutcome&) {
  ConvertFloats(tensor.dtype, tile.options.level, tile.rows(step.column), tile.size, step.count,
                out);
}

// Keeps the failure of the lowest row of the tile.
void Fail(const Tile& tile, size_t column, DecodeFailure failure, DecodeOutcome& outcome) {
  if (outcome.failure && outcome.failure->row <= failure.row) return;
  failure.status = Annotate(failure.status,
                            absl::StrCat("feature '", ShownName(tile.plan.features[column]), "'"));
  outcome.failure = std::move(failure);
}

// Reports the first integer that the dtype cannot hold exactly. REQUIRES: there is one.
void FailInexact(const IntegersStep& step, Dtype dtype, const Tile& tile, DecodeOutcome& outcome) {
  for (size_t row = 0;; ++row) {
    for (size_t i = 0; i < step.count; ++i) {
      const uint8_t* from = tile.rows(step.column)[row] + i * sizeof(int64_t);
      const auto value = static_cast<int64_t>(Load64(from));
      if (HoldsExactly(dtype, value)) continue;
      return Fail(tile, step.column, {row, NotExact(value, dtype)}, outcome);
    }
  }
}

void Run(const IntegersStep& step, const TensorInfo& tensor, const Tile& tile, uint8_t* out,
         DecodeOutcome& outcome) {
  if (!ConvertIntegers(tensor.dtype, tile.options.level, tile.rows(step.column), tile.size,
                       step.count, out)) {
    FailInexact(step, tensor.dtype, tile, outcome);
  }
}

template <typename Step>
void RunVariable(const Step& step, const TensorInfo& tensor, const Tile& tile, uint8_t* out,
                 DecodeOutcome& outcome) {
  WriteRows(tile, tensor.row_bytes, out, [&](size_t first, size_t n, uint8_t* to) {
    StepFailure failure =
        FillRows(step, tensor, tile.options.level, {tile.rows(step.column) + first, n}, to);
    if (!failure) return;
    failure->row += first;
    Fail(tile, step.column, *std::move(failure), outcome);
  });
}

void Run(const VariableStep& any, const TensorInfo& tensor, const Tile& tile, uint8_t* out,
         DecodeOutcome& outcome) {
  std::visit([&](const auto& step) { RunVariable(step, tensor, tile, out, outcome); }, any);
}

// The record is intact as it was stored, so no other server could decode it either. kDataLoss would
// make clients ask another server, so it is replaced.
absl::Status FactAboutRecord(const absl::Status& why) {
  return absl::IsDataLoss(why) ? absl::InvalidArgumentError(why.message()) : why;
}

void Note(uint32_t row, const ImageNotes& notes, DecodeOutcome& outcome) {
  if (!notes.truncated && notes.warnings == 0) return;
  const ImageNote note{row, notes.truncated, static_cast<uint32_t>(notes.warnings)};
  outcome.counters.images.Add(note);
  outcome.image_notes.push_back(note);
}

void Run(const ImageStep& step, const TensorInfo& tensor, const Tile& tile, uint8_t* out,
         DecodeOutcome& outcome) {
  const ImageInputs& images = tile.options.images;
  for (size_t i = 0; i < tile.size; ++i, out += tensor.row_bytes) {
    // A record that replaces another one uses its own random numbers.
    const auto id = static_cast<uint64_t>(images.record_ids[tile.first + i]);
    const Uniforms uniforms(ImageKey(images.augmentation_key, OrdinalOf(id), step.view));
    const std::span<const uint8_t> bytes = LoadVariable(tile.rows(step.column)[i]).bytes;
    const absl::StatusOr<ImageNotes> notes =
        images.transform->Apply(bytes, *step.ops, uniforms, {out, tensor.row_bytes}, images.memory);
    if (!notes.ok()) return Fail(tile, step.column, {i, FactAboutRecord(notes.status())}, outcome);
    Note(static_cast<uint32_t>(tile.first + i), *notes, outcome);
  }
}

// Rows of one number are copied without a loop over their bytes.
bool IsOneNumber(size_t row_bytes) {
  return row_bytes == sizeof(uint64_t) || row_bytes == sizeof(uint32_t);
}

void Run(const CopyStep& step, const TensorInfo& tensor, const Tile& tile, uint8_t* out,
         DecodeOutcome&) {
  const uint8_t* const* rows = tile.rows(step.column);
  const size_t at = step.first;
  if (tensor.row_bytes == sizeof(uint64_t)) {
    for (size_t i = 0; i < tile.size; ++i) Store(out, i, Load64(rows[i] + at));
    return;
  }
  if (tensor.row_bytes == sizeof(uint32_t)) {
    for (size_t i = 0; i < tile.size; ++i) Store(out, i, Load32(rows[i] + at));
    return;
  }
  WriteRows(tile, tensor.row_bytes, out, [&](size_t first, size_t n, uint8_t* to) {
    for (size_t i = first; i < first + n; ++i, to += tensor.row_bytes) {
      FetchAhead(tile, i, 1);
      std::memcpy(to, rows[i] + at, tensor.row_bytes);
    }
  });
}

void Run(const TransposeStep& step, const TensorInfo& tensor, const Tile& tile, uint8_t* out,
         DecodeOutcome&) {
  const uint8_t* const* rows = tile.rows(step.column);
  WriteRows(tile, tensor.row_bytes, out, [&](size_t first, size_t n, uint8_t* to) {
    for (size_t i = first; i < first + n; ++i, to += tensor.row_bytes) {
      step.transpose.Run(rows[i] + step.first, to);
    }
  });
}

void Run(const ByteStep& step, const TensorInfo&, const Tile& tile, uint8_t* out, DecodeOutcome&) {
  const uint8_t* const* rows = tile.rows(step.column);
  for (size_t i = 0; i < tile.size; ++i) Store(out, i, step.add + rows[i][step.byte]);
}

// Whether Run() for this step calls FetchAhead() while it goes through a tile.
bool FetchesAhead(const DecodeStep& step, const TensorInfo& tensor) {
  const bool copies = std::holds_alternative<CopyStep>(step);
  return std::holds_alternative<BitsStep>(step) || (copies && !IsOneNumber(tensor.row_bytes));
}

void RunTile(Tile tile, std::span<uint8_t* const> outputs, DecodeOutcome& outcome) {
  const Program::Plan& plan = tile.plan;
  FetchValues(tile);
  for (size_t t = 0; t < plan.steps.size(); ++t, tile.ahead = nullptr) {
    const TensorInfo& tensor = plan.tensors[t];
    uint8_t* out = outputs[t] + tile.first * tensor.row_bytes;
    std::visit([&](const auto& step) { Run(step, tensor, tile, out, outcome); }, plan.steps[t]);
  }
}

}  // namespace

std::span<const FeatureUse> Program::features() const { return plan_->features; }
std::span<const TensorInfo> Program::tensors() const { return plan_->tensors; }
size_t Program::row_bytes() const { return plan_->row_bytes; }
uint64_t Program::fingerprint() const { return plan_->fingerprint; }
const ImageUse& Program::images() const { return plan_->images; }
bool Program::fallible() const { return plan_->fallible; }

DecodeOutcome Program::DecodeRows(std::span<const FeatureColumn> columns, size_t n,
                                  std::span<uint8_t* const> outputs,
                                  const DecodeOptions& options) const {
  DecodeOutcome outcome;
  const auto tile_at = [&](size_t first, size_t size) {
    return Tile{*plan_, columns, first, size, options};
  };
  const bool spread = !plan_->steps.empty() && FetchesAhead(plan_->steps[0], plan_->tensors[0]);
  const size_t end = n + options.rows_behind;
  if (!options.fetched) Fetch(tile_at(0, std::min(kAhead, end)));
  for (size_t first = 0; first < n; first += kTile) {
    Tile tile = tile_at(first, std::min(kTile, n - first));
    const size_t next = std::min(first + kAhead, end);
    const Tile ahead = tile_at(next, std::min(tile.size, end - next));
    spread ? void(tile.ahead = &ahead) : Fetch(ahead);
    const DecodeCounters before = outcome.counters;
    const size_t notes_before = outcome.image_notes.size();
    RunTile(tile, outputs, outcome);
    if (!outcome.failure) continue;
    // A step stops at its first failure, so the rows before the lowest failure are written again.
    DecodeFailure failure;
    do {
      failure = *std::exchange(outcome.failure, std::nullopt);
      outcome.counters = before;
      outcome.image_notes.resize(notes_before);
      RunTile(tile_at(first, failure.row), outputs, outcome);
    } while (outcome.failure);
    failure.row += first;
    outcome.failure = std::move(failure);
    break;
  }
  return outcome;
}

}  // namespace penstock
