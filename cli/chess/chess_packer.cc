#include "cli/chess/chess_packer.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <numeric>
#include <span>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/byte_size.h"
#include "base/permutation.h"
#include "base/status.h"
#include "cli/chess/line_reader.h"
#include "cli/terminal/interrupt.h"
#include "records/dataset/chunk_size.h"
#include "records/format/example_writer.h"
#include "records/format/shard_writer.h"
#include "records/format/tfrecord.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using chess::PackedPosition;

constexpr char kSuffix[] = ".tfrecord";
constexpr uint64_t kMaxShardRecords = uint64_t{1} << 20;
constexpr uint64_t kMinShardRecords = 64;
constexpr uint64_t kUsualShards = 4;

absl::Status ReadFile(const std::string& path, bool skip_invalid,
                      const std::function<void(uint64_t)>& on_bytes, ReadPositionsResult& result) {
  PENSTOCK_ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path));
  absl::string_view line;
  uint64_t reported = 0;
  while (true) {
    PENSTOCK_ASSIGN_OR_RETURN(const bool more, reader.Next(line));
    if (!more || reader.line_number() % 1024 == 0) {
      PENSTOCK_RETURN_IF_ERROR(InterruptGuard::Check());
      on_bytes(reader.bytes_read() - reported);
      reported = reader.bytes_read();
    }
    if (!more) return absl::OkStatus();
    const absl::StatusOr<PackedPosition> position = chess::ParseTsvLine(line);
    if (position.ok()) {
      result.positions.Add(*position);
      continue;
    }
    const std::string place = absl::StrCat(path, ":", reader.line_number());
    if (!skip_invalid) return Annotate(position.status(), place);
    if (result.num_skipped++ == 0) {
      result.first_skipped = absl::StrCat(place, ": ", position.status().message());
    }
  }
}

std::string ShardPath(const ShardOptions& options, uint64_t shard, uint64_t num_shards) {
  return absl::StrFormat("%s/%s-%05d-of-%05d%s", options.folder, options.name, shard, num_shards,
                         kSuffix);
}

// Whether `file` is NAME-DDDDD-of-DDDDD.tfrecord, digits of any number.
bool IsShardOf(absl::string_view name, absl::string_view file) {
  const auto skip_digits = [&file] {
    const size_t before = file.size();
    while (!file.empty() && std::isdigit(static_cast<unsigned char>(file[0]))) {
      file.remove_prefix(1);
    }
    return file.size() < before;
  };
  return absl::ConsumePrefix(&file, name) && absl::ConsumePrefix(&file, "-") && skip_digits() &&
         absl::ConsumePrefix(&file, "-of-") && skip_digits() && file == kSuffix;
}

absl::StatusOr<std::vector<std::string>> ExistingShards(const ShardOptions& options) {
  std::error_code error;
  fs::create_directories(options.folder, error);
  if (error) return ErrnoToStatus(error.value(), options.folder);
  std::vector<std::string> found;
  for (fs::directory_iterator it(options.folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string file = it->path().filename();
    if (IsShardOf(options.name, file)) found.push_back(absl::StrCat(options.folder, "/", file));
  }
  if (error) return ErrnoToStatus(error.value(), options.folder);
  std::sort(found.begin(), found.end());
  if (!found.empty() && !options.force) {
    return absl::AlreadyExistsError(absl::StrCat(
        found[0], " exists; --force replaces the shards of this name, --name chooses another"));
  }
  return found;
}

// The position of each record in the output order.
std::vector<uint32_t> Order(uint64_t size, const std::optional<uint64_t>& seed) {
  std::vector<uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  if (seed.has_value()) Shuffle(order, *seed);
  return order;
}

std::span<const uint8_t> BuildExample(const PackedPosition& position, ExampleBuilder& builder) {
  builder.Clear();
  builder.AddBytes("d", position.d);
  builder.AddInt64("s", std::span(&position.s, 1));
  return builder.Serialize();
}

// An upper bound: a negative score takes ten bytes, no score takes more.
uint64_t FramedBytes(uint64_t num_records) {
  ExampleBuilder builder;
  return num_records * (kFrameOverhead + BuildExample({chess::PlaneBytes{}, -1}, builder).size());
}

absl::StatusOr<ShardWriter> WriteShard(const std::string& path, const ShardWriterOptions& options,
                                       const PositionStore& positions,
                                       std::span<const uint32_t> order,
                                       const std::function<void(uint64_t)>& on_records) {
  constexpr size_t kStride = 1024;
  PENSTOCK_ASSIGN_OR_RETURN(ShardWriter writer, ShardWriter::Create(path, options));
  ExampleBuilder builder;
  for (; !order.empty(); order = order.subspan(std::min(kStride, order.size()))) {
    PENSTOCK_RETURN_IF_ERROR(InterruptGuard::Check());
    const std::span<const uint32_t> stride = order.first(std::min(kStride, order.size()));
    for (uint32_t index : stride) {
      PENSTOCK_RETURN_IF_ERROR(writer.Write(BuildExample(positions[index], builder)));
    }
    on_records(stride.size());
  }
  PENSTOCK_RETURN_IF_ERROR(writer.Close());  // There may be more shards than descriptors.
  return writer;
}

absl::Status NameAll(std::vector<ShardWriter>& writers) {
  for (ShardWriter& writer : writers) PENSTOCK_RETURN_IF_ERROR(writer.Finish());
  return absl::OkStatus();
}

absl::Status RemoveStale(const std::vector<std::string>& existing,
                         const std::vector<std::string>& written) {
  for (const std::string& path : existing) {
    if (std::find(written.begin(), written.end(), path) != written.end()) continue;
    std::error_code error;
    fs::remove(path, error);
    if (error) return ErrnoToStatus(error.value(), path);
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> SizeOf(const std::vector<std::string>& paths) {
  uint64_t bytes = 0;
  for (const std::string& path : paths) {
    std::error_code error;
    bytes += fs::file_size(path, error);
    if (error) return ErrnoToStatus(error.value(), path);
  }
  return bytes;
}

absl::Status Advise(const absl::Status& status, const ShardOptions& options, uint64_t bytes) {
  if (status.code() != absl::StatusCode::kResourceExhausted) return status;
  return Annotate(status,
                  absl::StrCat("no shard was written; at most ", FormatByteSize(bytes),
                               " are needed in ", options.folder, ", then run the command again"));
}

}  // namespace

void PositionStore::Add(const PackedPosition& position) {
  if (size_ % kBlock == 0) blocks_.emplace_back().reserve(kBlock);
  blocks_.back().push_back(position);
  ++size_;
}

absl::StatusOr<ReadPositionsResult> ReadPositions(const std::vector<std::string>& inputs,
                                                  bool skip_invalid,
                                                  const std::function<void(uint64_t)>& on_bytes) {
  ReadPositionsResult result;
  for (const std::string& path : inputs) {
    PENSTOCK_RETURN_IF_ERROR(ReadFile(path, skip_invalid, on_bytes, result));
  }
  return result;
}

uint64_t NumShards(uint64_t records, uint64_t records_per_shard) {
  if (records_per_shard > 0) {
    return records / records_per_shard + (records % records_per_shard != 0);
  }
  const uint64_t by_size = (records + kMaxShardRecords - 1) / kMaxShardRecords;
  return std::max({by_size, std::min(kUsualShards, records / kMinShardRecords), uint64_t{1}});
}

absl::Status CheckOutput(const ShardOptions& options) { return ExistingShards(options).status(); }

absl::StatusOr<WrittenShards> WriteShards(const PositionStore& positions,
                                          const ShardOptions& options,
                                          const std::function<void(uint64_t)>& on_records) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> existing, ExistingShards(options));
  const uint64_t total_bytes = FramedBytes(positions.size());
  const ShardWriterOptions writer_options = {options.compression, ChunkTarget(total_bytes)};
  const uint64_t num_shards = NumShards(positions.size(), options.records_per_shard);
  const std::vector<uint32_t> order = Order(positions.size(), options.seed);

  WrittenShards written;
  std::vector<ShardWriter> writers;
  for (uint64_t shard = 0; shard < num_shards; ++shard) {
    const auto bound = [&](uint64_t s) {
      return options.records_per_shard > 0
                 ? std::min(positions.size(), s * options.records_per_shard)
                 : s * positions.size() / num_shards;
    };
    const std::span<const uint32_t> part =
        std::span(order).subspan(bound(shard), bound(shard + 1) - bound(shard));
    written.paths.push_back(ShardPath(options, shard, num_shards));
    absl::StatusOr<ShardWriter> writer =
        WriteShard(written.paths.back(), writer_options, positions, part, on_records);
    if (!writer.ok()) return Advise(writer.status(), options, total_bytes);
    writers.push_back(*std::move(writer));
  }
  PENSTOCK_RETURN_IF_ERROR(NameAll(writers));
  PENSTOCK_RETURN_IF_ERROR(RemoveStale(existing, written.paths));
  PENSTOCK_ASSIGN_OR_RETURN(written.bytes, SizeOf(written.paths));
  if (options.compression != Compression::kNone) written.chunk_bytes = writer_options.chunk_bytes;
  return written;
}

}  // namespace penstock
