#include "records/engine/testing/chess_data.h"

#include <cstdlib>
#include <fstream>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/counter_rng.h"
#include "base/crc32c.h"
#include "base/permutation.h"
#include "records/dataset/split.h"
#include "records/decode/spec.h"
#include "records/format/example_writer.h"
#include "records/format/tfrecord.h"

namespace penstock {
namespace {

ChessRecord RandomRecord(CounterRng& rng) {
  ChessRecord record;
  record.d.resize(194);
  for (uint8_t& byte : record.d) byte = static_cast<uint8_t>(rng.Next() & rng.Next());
  record.s = static_cast<int64_t>(rng.Below(2001)) - 1000;
  if (record.s == 0) record.s = 1;
  return record;
}

void AppendRecord(const ChessRecord& record, std::vector<uint8_t>& out) {
  ExampleBuilder example;
  example.AddBytes("d", record.d);
  example.AddInt64("s", {&record.s, 1});
  AppendFrame(example.Serialize(), out);
}

std::vector<uint8_t> Stored(const std::vector<uint8_t>& raw, Compression compression) {
  if (compression == Compression::kNone) return raw;
  std::vector<uint8_t> member;
  if (!CompressMember(compression, raw, member).ok()) std::abort();
  return member;
}

bool Selected(Split split, bool held_out) {
  if (split == Split::kAll) return true;
  return held_out == (split == Split::kHoldout);
}

}  // namespace

ChessData::ChessData(const std::string& folder, const ChessDataOptions& options)
    : options_(options), spec_(LoadSpec("chess").value()) {
  CounterRng rng(options.seed);
  for (size_t s = 0; s < options.shards; ++s) {
    ShardRef shard{absl::StrCat("shard-", s, ".tfrecord"), ContainerOf(options.compression), 0};
    std::ofstream file(folder + "/" + shard.path, std::ios::binary);
    for (size_t c = 0; c < options.chunks_per_shard; ++c) {
      ChunkRef chunk{.shard = static_cast<uint32_t>(s), .offset = shard.size};
      chunk.ordinal = records_.size();
      chunk.records = options.records_per_chunk;
      std::vector<uint8_t> raw;
      for (uint32_t r = 0; r < options.records_per_chunk; ++r) {
        records_.push_back(RandomRecord(rng));
        AppendRecord(records_.back(), raw);
        chunk.holdout += InHoldout(records_.size() - 1);
      }
      const std::vector<uint8_t> stored = Stored(raw, options.compression);
      chunk.raw_size = static_cast<uint32_t>(raw.size());
      chunk.size = static_cast<uint32_t>(stored.size());
      chunk.crc32c = Crc32c(stored);
      file.write(reinterpret_cast<const char*>(stored.data()),
                 static_cast<std::streamsize>(stored.size()));
      shard.size += stored.size();
      chunks_.push_back(chunk);
    }
    shards_.push_back(shard);
  }
}

uint64_t ChessData::file_bytes() const {
  uint64_t bytes = 0;
  for (const ShardRef& shard : shards_) bytes += shard.size;
  return bytes;
}

StreamOptions ChessData::Stream(bool record_ids) const {
  StreamOptions options;
  options.spec = spec_;
  options.record_ids = record_ids;
  options.holdout_threshold = options_.holdout_threshold;
  if (options_.holdout_threshold > 0) options.holdout_feature = "d";
  return options;
}

OpenWindow ChessData::Window(uint64_t number, const std::vector<size_t>& chunks, Split split,
                             bool shuffle, uint64_t key) const {
  OpenWindow window;
  window.window = number;
  window.shards = shards_;
  window.split = split;
  window.shuffle = shuffle;
  window.key = key;
  window.needed_at = number;
  for (size_t i : chunks) window.chunks.push_back(chunks_[i]);
  window.rows = static_cast<uint32_t>(Order(window).size());
  return window;
}

std::vector<uint64_t> ChessData::Order(const OpenWindow& window) const {
  std::vector<uint64_t> ordinals;
  for (const ChunkRef& chunk : window.chunks) {
    for (uint64_t o = chunk.ordinal; o < chunk.ordinal + chunk.records; ++o) {
      if (Selected(window.split, InHoldout(o))) ordinals.push_back(o);
    }
  }
  return Shuffled(window, ordinals);
}

bool ChessData::InHoldout(uint64_t ordinal) const {
  return penstock::InHoldout(records_[ordinal].d, options_.holdout_threshold);
}

std::vector<uint64_t> ChessData::Shuffled(const OpenWindow& window,
                                          const std::vector<uint64_t>& rows) const {
  std::vector<uint32_t> perm(rows.size());
  std::iota(perm.begin(), perm.end(), 0);
  if (window.shuffle) Shuffle(perm, window.key);
  std::vector<uint64_t> order;
  for (uint32_t row : perm) order.push_back(rows[row]);
  return order;
}

std::vector<std::string> ChessData::Decode(const std::vector<uint64_t>& ordinals, WireDtype dtype,
                                           bool record_ids) const {
  const Program program = Program::Compile(spec_, dtype).value();
  std::vector<std::string> rows;
  for (uint64_t ordinal : ordinals) {
    const ChessRecord& record = records_[ordinal & ~kReplacedRecord];
    const uint8_t* values[2] = {record.d.data(), reinterpret_cast<const uint8_t*>(&record.s)};
    if (program.features()[0].name == "s") std::swap(values[0], values[1]);
    const FeatureColumn columns[2] = {&values[0], &values[1]};
    std::string row(program.row_bytes(), '\0');
    std::vector<uint8_t*> outputs;
    auto* out = reinterpret_cast<uint8_t*>(row.data());
    for (const TensorInfo& tensor : program.tensors()) {
      outputs.push_back(out);
      out += tensor.row_bytes;
    }
    program.DecodeRows(columns, 1, outputs, {.level = SimdLevel::kScalar});
    if (record_ids) row.append(reinterpret_cast<const char*>(&ordinal), sizeof(ordinal));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::string> ChessData::Answer(const OpenWindow& window, const Fetch& fetch,
                                           bool record_ids) const {
  const std::vector<uint64_t> order = Order(window);
  std::vector<uint64_t> wanted;
  for (uint32_t i = 0; i < fetch.count; ++i) {
    for (uint32_t r = 0; r < fetch.rows; ++r) {
      wanted.push_back(order[fetch.first_row + i * fetch.stride + r]);
    }
  }
  return Decode(wanted, fetch.dtype, record_ids);
}

}  // namespace penstock
