#include "client/loader/testing/chess_dataset.h"
#include "base/bytes_of.h"

#include <utility>

#include "base/sha256.h"
#include "client/plan/step_rows.h"

namespace penstock {
namespace {

std::shared_ptr<const Manifest> MakeManifest(const ChessData& data, const std::string& folder,
                                             uint32_t holdout_threshold) {
  ManifestBuilder builder;
  if (holdout_threshold > 0) builder.SetHoldout({"d", holdout_threshold});
  for (size_t s = 0; s < data.shards().size(); ++s) {
    const ShardRef& shard = data.shards()[s];
    builder.AddShard({.path = shard.path, .size = shard.size, .container = shard.container});
    for (const ChunkRef& chunk : data.chunks()) {
      if (chunk.shard != s) continue;
      builder.AddChunk({.size = chunk.size,
                        .records = chunk.records,
                        .holdout = chunk.holdout,
                        .crc32c = chunk.crc32c,
                        .raw_size = chunk.raw_size});
    }
  }
  Manifest manifest = std::move(builder).Build().value();
  manifest.set_base_dir(folder);
  return std::make_shared<const Manifest>(std::move(manifest));
}

// Returns the numbers of those records of a chunk that are in the split.
std::vector<uint64_t> ChunkRecords(const ChessData& data, const ChunkRef& chunk, Split split,
                                   uint32_t holdout_threshold) {
  std::vector<uint64_t> records;
  for (uint64_t r = chunk.ordinal; r < chunk.ordinal + chunk.records; ++r) {
    const bool held_out = InHoldout(data.record(r).d, holdout_threshold);
    if (split == Split::kAll || held_out == (split == Split::kHoldout)) records.push_back(r);
  }
  return records;
}

}  // namespace

ChessDataset::ChessDataset(const ChessDataOptions& options)
    : data_(folder_.path(), options),
      manifest_(MakeManifest(data_, folder_.path(), options.holdout_threshold)) {}

LoaderOptions ChessDataset::Options() const {
  LoaderOptions options;
  options.manifest = manifest_;
  options.spec = data_.Stream().spec;
  options.plan = {.split = Split::kAll, .seed = 7, .lanes = 8, .window_chunks = 3};
  options.global_batch_size = 64;
  options.remainder = Remainder::kShort;
  options.look_ahead_bytes = 1 << 20;
  options.local_threads = 2;
  options.local_memory_budget = uint64_t{64} << 20;
  return options;
}

std::vector<uint64_t> ChessDataset::Order(const PlanOptions& options, uint64_t epochs) const {
  const Plan plan = Plan::Create(MakeChunkTable(*manifest_, options.split), options).value();
  std::vector<uint64_t> records;
  for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
    const EpochOrder order = plan.Epoch(epoch);
    for (uint64_t position = 0; position < order.rows(); ++position) {
      const Location at = order.Locate(position);
      const RowRef row = WindowOrder(plan, order, at.window)[at.row];
      records.push_back(ChunkRecords(data_, data_.chunks()[row.chunk], options.split,
                                     manifest_->holdout().threshold)[row.row]);
    }
  }
  return records;
}

std::string ChessDataset::Digest(const std::vector<uint64_t>& records, WireDtype dtype) const {
  Sha256 hash;
  for (const std::string& row : data_.Decode(records, dtype)) {
    hash.Update(BytesOf(row));
  }
  return hash.Hex();
}

}  // namespace penstock
