#include "records/dataset/manifest.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "base/status.h"
#include "records/dataset/class_names.h"
#include "records/format/tfrecord.h"

namespace penstock {
namespace {

template <typename T>
std::span<const uint8_t> AsBytes(const T* data, size_t count) {
  return {reinterpret_cast<const uint8_t*>(data), count * sizeof(T)};
}

// Returns kInvalidArgument if the path does not say where the shard is.
absl::Status CheckShardPath(const ShardInfo& shard) {
  const std::string& path = shard.path;
  if (path.empty() || path.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("a shard's path is empty or has a NUL");
  }
  if (shard.absolute != (path[0] == '/')) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is ",
                     shard.absolute ? "marked as absolute, but is relative"
                                    : "absolute, but is not marked as absolute"));
  }
  return absl::OkStatus();
}

// A file has at most as many bytes as an offset of the kernel can address. Each excluded record of
// a plain shard had at least one byte.
absl::Status CheckShardNumbers(const ShardInfo& shard) {
  constexpr uint64_t kMostBytes = std::numeric_limits<int64_t>::max();
  constexpr uint64_t kMostRecords = uint64_t{1} << 40;
  if (shard.size > kMostBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(shard.path, ": size ", shard.size, " is more than ", kMostBytes));
  }
  const bool plain = shard.container == Container::kTfRecord && shard.size > 0;
  if (const uint64_t most = plain ? shard.size : kMostRecords; shard.excluded_records > most) {
    return absl::InvalidArgumentError(absl::StrCat(shard.path, ": excluded_records ",
                                                   shard.excluded_records, " is more than ", most));
  }
  return absl::OkStatus();
}

absl::Status CheckPixelSums(const ShardInfo& shard) {
  auto invalid = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(shard.path, ": pixel_sums: ", what));
  };
  for (const PixelSums& sums : shard.pixel_sums) {
    if (sums.images > PixelSums::kMostImages) {
      return invalid(absl::StrCat(sums.images, " images are more than ", PixelSums::kMostImages));
    }
    for (size_t c = 0; c < kPixelChannels; ++c) {
      if (sums.mean[c] <= sums.images * PixelSums::kMostMean &&
          sums.square[c] <= sums.images * PixelSums::kMostSquare) {
        continue;
      }
      return invalid(absl::StrCat("a mean of ", sums.mean[c], " and a square of ", sums.square[c],
                                  " are impossible for ", sums.images, " images"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckFeature(const FeatureInfo& feature, uint64_t records) {
  auto invalid = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("feature ", feature.name, ": ", what));
  };
  const bool known = feature.type == "bytes" || feature.type == "int64" ||
                     feature.type == "float" || feature.type == "none";
  if (!known)
    return invalid(absl::StrCat("type '", feature.type, "' is not bytes, int64 or float"));
  for (const ValueRange& range : {feature.values, feature.bytes, feature.step_values}) {
    if (range.min <= range.max) continue;
    return invalid(
        absl::StrCat("a least length of ", range.min, " is more than the greatest, ", range.max));
  }
  if (const uint64_t most = std::max(feature.images, feature.grey16); most > feature.records) {
    return invalid(absl::StrCat("has images in ", most, " of ", feature.records, " records"));
  }
  if (feature.records <= records) return absl::OkStatus();
  return invalid(absl::StrCat("is in ", feature.records, " of ", records, " records"));
}

// The feature of `all` with the numbers of a shard's survey.
FeatureInfo InShard(const SurveyedFeature& feature, const FeatureSummary& all) {
  FeatureInfo info = all.features[feature.index];
  info.records = feature.records;
  info.values = feature.values;
  info.bytes = feature.bytes;
  info.step_values = feature.step_values;
  info.images = feature.images;
  info.grey16 = feature.grey16;
  return info;
}

absl::Status CheckSurvey(const ShardSurvey& survey, const FeatureSummary& all) {
  for (const SurveyedFeature& feature : survey.features) {
    if (feature.index >= all.features.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("index ", feature.index, " of ", all.features.size(), " features"));
    }
    PENSTOCK_RETURN_IF_ERROR(CheckFeature(InShard(feature, all), survey.records));
  }
  return absl::OkStatus();
}

}  // namespace

ShardSurvey SurveyOf(const FeatureSummary& shard, const FeatureIndex& index) {
  ShardSurvey survey{shard.records};
  for (const FeatureInfo& info : shard.features) {
    const std::optional<size_t> i = index.Find(info);
    if (!i.has_value()) continue;
    survey.features.push_back({static_cast<uint32_t>(*i), info.records, info.values, info.bytes,
                               info.step_values, info.images, info.grey16});
  }
  return survey;
}

std::string HoldoutInfo::Decider() const {
  return feature.empty() ? "the whole record" : absl::StrCat("'", feature, "'");
}

void Manifest::MoveInto(absl::string_view folder) {
  for (ShardInfo& shard : shards_) {
    if (!shard.absolute) shard.path.insert(0, folder.data(), folder.size());
  }
}

std::string Manifest::ShardPath(size_t shard) const {
  const ShardInfo& info = shards_[shard];
  if (info.absolute || base_dir_.empty()) return info.path;
  return absl::StrCat(base_dir_, base_dir_.back() == '/' ? "" : "/", info.path);
}

bool Manifest::surveyed() const {
  return !shards_.empty() &&
         std::all_of(shards_.begin(), shards_.end(),
                     [](const ShardInfo& shard) { return shard.survey.has_value(); });
}

std::optional<FeatureSummary> Manifest::ShardFeatures(size_t shard) const {
  const std::optional<ShardSurvey>& survey = shards_[shard].survey;
  if (!survey.has_value()) return std::nullopt;
  FeatureSummary summary{survey->records, {}};
  for (const SurveyedFeature& feature : survey->features) {
    summary.features.push_back(InShard(feature, features_));
  }
  return summary;
}

ChunkInfo Manifest::chunk(size_t i) const {
  ChunkInfo info;
  info.shard = shard_[i];
  info.offset = offset_[i];
  info.size = size_[i];
  info.raw_size = raw_size_.empty() ? size_[i] : raw_size_[i];
  info.records = records_[i];
  info.holdout = holdout_rows_.empty() ? 0 : holdout_rows_[i];
  info.crc32c = crc32c_[i];
  info.ordinal = ordinal_[i];
  info.first_record =
      first_record_.empty() ? ordinal_[i] - shard_first_ordinal_[info.shard] : first_record_[i];
  return info;
}

uint32_t Manifest::chunk_rows(size_t i, Split split) const {
  if (split == Split::kAll) return records_[i];
  const uint32_t held = holdout_rows_.empty() ? 0 : holdout_rows_[i];
  return split == Split::kHoldout ? held : records_[i] - held;
}

uint64_t Manifest::num_records(Split split) const {
  if (split == Split::kAll) return ordinal_.back();
  return split == Split::kHoldout ? holdout_total_ : ordinal_.back() - holdout_total_;
}

std::pair<size_t, uint32_t> Manifest::Locate(uint64_t ordinal) const {
  auto after = std::upper_bound(ordinal_.begin(), ordinal_.end(), ordinal);
  const size_t i = static_cast<size_t>(after - ordinal_.begin()) - 1;
  return {i, static_cast<uint32_t>(ordinal - ordinal_[i])};
}

RecordPlace Manifest::PlaceOf(uint64_t ordinal) const {
  const auto [i, index] = Locate(ordinal);
  const ChunkInfo located = chunk(i);
  return {shards_[located.shard], located, located.first_record + index};
}

void Manifest::ComputeFingerprint() {
  Sha256 hash;
  std::vector<std::array<uint32_t, 5>> rows;
  constexpr size_t kBatch = 4096;
  for (size_t begin = 0; begin < num_chunks(); begin += kBatch) {
    rows.clear();
    for (size_t i = begin; i < std::min(begin + kBatch, num_chunks()); ++i) {
      rows.push_back({crc32c_[i], size_[i], raw_size_.empty() ? size_[i] : raw_size_[i],
                      records_[i], holdout_rows_.empty() ? 0 : holdout_rows_[i]});
    }
    hash.Update(AsBytes(rows.data(), rows.size()));
  }
  const uint64_t counts[] = {num_chunks(), holdout_.threshold, holdout_.feature.size()};
  hash.Update(AsBytes(counts, 3));
  hash.Update(AsBytes(holdout_.feature.data(), holdout_.feature.size()));
  for (size_t i = 0; i < shards_.size(); ++i) {
    // For files without frames, this also determines the records.
    if (HoldsFrames(shards_[i].container)) continue;
    const uint64_t kind[] = {i, static_cast<uint64_t>(shards_[i].container), shards_[i].label};
    hash.Update(AsBytes(kind, 3));
  }
  const Sha256::Digest digest = hash.Finish();
  std::memcpy(&fingerprint_, digest.data(), sizeof(fingerprint_));
}

void ManifestBuilder::AddShard(ShardInfo shard) {
  Manifest& m = manifest_;
  if (status_.ok()) status_ = CheckShardPath(shard);
  if (status_.ok()) status_ = CheckShardNumbers(shard);
  if (status_.ok()) status_ = CheckPixelSums(shard);
  grows_.push_back(shard.size == 0);
  m.shards_.push_back(std::move(shard));
  m.shard_begin_.push_back(m.size_.size());
  m.shard_first_ordinal_.push_back(m.ordinal_.empty() ? 0 : m.ordinal_.back());
  offset_ = 0;
  next_record_ = 0;
}

absl::Status ManifestBuilder::CheckChunk(const Chunk& chunk) const {
  if (manifest_.shards_.empty()) return absl::InvalidArgumentError("a chunk comes before a shard");
  const ShardInfo& shard = manifest_.shards_.back();
  auto invalid = [&](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat(shard.path, ": chunk at offset ", offset_, ": ", what));
  };
  const uint64_t raw = chunk.raw_size == 0 ? chunk.size : chunk.raw_size;
  if (chunk.records == 0) return invalid("has no records");
  if (chunk.size == 0) return invalid("has no bytes");
  if (shard.container == Container::kTfRecord && raw != chunk.size) {
    return invalid(
        "has a raw size that differs from its size, although its shard holds plain frames");
  }
  if (raw / kFrameOverhead < chunk.records) {
    return invalid(absl::StrCat(chunk.records, " records do not fit in ", raw, " bytes"));
  }
  if (chunk.holdout > chunk.records) {
    return invalid(absl::StrCat(chunk.holdout, " of ", chunk.records, " records are in holdout"));
  }
  if (chunk.gap > std::numeric_limits<uint64_t>::max() - offset_ - chunk.size ||
      (!grows_.back() && offset_ + chunk.gap + chunk.size > shard.size)) {
    return invalid(absl::StrCat(chunk.size, " bytes after a gap of ", chunk.gap,
                                " pass the file's ", shard.size, " bytes"));
  }
  if (absl::Status first = CheckFirstRecord(chunk); !first.ok()) return invalid(first.message());
  return absl::OkStatus();
}

// Record numbers that are in no chunk are those of excluded records.
absl::Status ManifestBuilder::CheckFirstRecord(const Chunk& chunk) const {
  const uint64_t first = chunk.first_record.value_or(next_record_);
  if (first < next_record_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "begins with record ", first, " (first_record), but ", next_record_, " come before it"));
  }
  const uint64_t listed = manifest_.ordinal_.empty()
                              ? 0
                              : manifest_.ordinal_.back() - manifest_.shard_first_ordinal_.back();
  const uint64_t excluded = manifest_.shards_.back().excluded_records;
  if (first - listed <= excluded) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("begins with record ", first, " (first_record), but only ", listed,
                   " listed and ", excluded, " excluded records come before it"));
}

void ManifestBuilder::SetFeatures(FeatureSummary features) {
  for (const FeatureInfo& feature : features.features) {
    if (status_.ok()) status_ = CheckFeature(feature, features.records);
  }
  manifest_.features_ = std::move(features);
}

void ManifestBuilder::SetClassNames(std::vector<std::string> names) {
  if (status_.ok()) status_ = CheckClassNames(names);
  manifest_.class_names_ = std::move(names);
}

void ManifestBuilder::SetChunkTarget(uint32_t bytes) {
  manifest_.chunk_target_ = bytes;
  if (!status_.ok() || bytes <= kMostChunkTarget) return;
  status_ = absl::InvalidArgumentError(
      absl::StrCat("chunk_target ", bytes, " is more than ", kMostChunkTarget));
}

void ManifestBuilder::AddChunk(const Chunk& chunk) {
  if (status_.ok()) status_ = CheckChunk(chunk);
  if (!status_.ok()) return;
  Manifest& m = manifest_;
  const size_t i = m.size_.size();
  if (m.ordinal_.empty()) m.ordinal_.push_back(0);
  const uint64_t ordinal = m.ordinal_.back();
  const uint64_t running = ordinal - m.shard_first_ordinal_.back();
  const uint64_t first_record = chunk.first_record.value_or(next_record_);
  const uint32_t raw = chunk.raw_size == 0 ? chunk.size : chunk.raw_size;
  offset_ += chunk.gap;

  if (chunk.holdout > 0 && m.holdout_rows_.empty()) m.holdout_rows_.resize(i);
  if (raw != chunk.size && m.raw_size_.empty()) m.raw_size_ = m.size_;
  if (first_record != running && m.first_record_.empty()) {
    for (size_t k = 0; k < i; ++k) {
      m.first_record_.push_back(m.ordinal_[k] - m.shard_first_ordinal_[m.shard_[k]]);
    }
  }
  if (chunk.holdout > 0 || !m.holdout_rows_.empty()) m.holdout_rows_.push_back(chunk.holdout);
  if (raw != chunk.size || !m.raw_size_.empty()) m.raw_size_.push_back(raw);
  if (first_record != running || !m.first_record_.empty()) m.first_record_.push_back(first_record);

  m.shard_.push_back(static_cast<uint32_t>(m.shards_.size() - 1));
  m.size_.push_back(chunk.size);
  m.records_.push_back(chunk.records);
  m.crc32c_.push_back(chunk.crc32c);
  m.offset_.push_back(offset_);
  m.ordinal_.push_back(ordinal + chunk.records);
  m.holdout_total_ += chunk.holdout;
  m.num_bytes_ += chunk.size;
  offset_ += chunk.size;
  next_record_ = first_record + chunk.records;
  if (grows_.back()) m.shards_.back().size = offset_;
}

absl::Status ManifestBuilder::CheckMeasured() const {
  const size_t features = manifest_.measured_features_.size();
  for (const ShardInfo& shard : manifest_.shards_) {
    if (shard.pixel_sums.size() == features) continue;
    return absl::InvalidArgumentError(absl::StrCat(shard.path, ": has ", shard.pixel_sums.size(),
                                                   " pixel_sums, for ", features,
                                                   " entries of measured_feature"));
  }
  return absl::OkStatus();
}

absl::Status ManifestBuilder::CheckSurveys() const {
  for (const ShardInfo& shard : manifest_.shards_) {
    if (!shard.survey.has_value()) continue;
    const absl::Status status = CheckSurvey(*shard.survey, manifest_.features_);
    if (!status.ok()) return Annotate(status, absl::StrCat(shard.path, ": survey"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Manifest> ManifestBuilder::Build() {
  PENSTOCK_RETURN_IF_ERROR(status_);
  PENSTOCK_RETURN_IF_ERROR(CheckMeasured());
  PENSTOCK_RETURN_IF_ERROR(CheckSurveys());
  Manifest& m = manifest_;
  if (m.num_chunks() > std::numeric_limits<uint32_t>::max() - 1) {
    return absl::ResourceExhaustedError(
        absl::StrCat(m.num_chunks(), " chunks are more than 2^32 - 2: use larger ones"));
  }
  if (m.holdout_total_ > 0 && m.holdout_.threshold == 0) {
    return absl::InvalidArgumentError("records are held out, but the holdout's share is 0");
  }
  if (m.ordinal_.empty()) m.ordinal_.push_back(0);
  m.shard_begin_.push_back(m.num_chunks());
  m.ComputeFingerprint();
  return std::move(manifest_);
}

}  // namespace penstock
