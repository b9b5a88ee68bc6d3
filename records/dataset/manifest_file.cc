// Reads and writes the bytes of a manifest (docs/reference/manifest_format.md).
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/bytes_of.h"
#include "base/crc32c.h"
#include "base/io/atomic_file.h"
#include "base/io/file_source.h"
#include "base/status.h"
#include "proto/manifest.pb.h"
#include "records/dataset/manifest.h"
#include "records/dataset/manifest_header.h"

namespace penstock {
namespace {

// 0x1a and the line feed reveal a transfer that changed bytes, or a terminal that printed them.
constexpr std::array<char, 8> kMagic = {'P', 'N', 'S', 'T', 'K', 'M', '\x1a', '\n'};

struct Header {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t crc32c;  // CRC of the payload.
  uint64_t size;    // Bytes of the payload.
};
static_assert(sizeof(Header) == 24);

bool BeginsWithMagic(std::span<const uint8_t> bytes) {
  const size_t comparable = std::min(bytes.size(), kMagic.size());
  return comparable == 0 || std::memcmp(bytes.data(), kMagic.data(), comparable) == 0;
}

absl::Status NoManifest() {
  return absl::InvalidArgumentError("is not a Penstock manifest; `penstock index` makes one");
}

absl::Status TooLong(const Header& header) {
  return absl::DataLossError(absl::StrCat("the manifest is damaged: its header states ",
                                          header.size, " bytes, but a manifest has at most ",
                                          Manifest::kMaxPayloadBytes, "; index again"));
}

// Parses the header at the front of `bytes`, whatever follows it.
absl::StatusOr<Header> ParseHeader(std::span<const uint8_t> bytes) {
  Header header;
  if (bytes.empty() || !BeginsWithMagic(bytes)) return NoManifest();
  if (bytes.size() < sizeof(header)) {
    return absl::DataLossError(absl::StrCat("the manifest is truncated: ", bytes.size(),
                                            " of its header's 24 bytes are there; index again"));
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.version != Manifest::kVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the manifest has version ", header.version, ", this program reads version ",
                     Manifest::kVersion, ": use a newer program or index again"));
  }
  return header;
}

// Like ParseHeader(), but also checks that the file has the `file_size` that the header says.
absl::StatusOr<Header> OpenHeader(std::span<const uint8_t> bytes, uint64_t file_size) {
  PENSTOCK_ASSIGN_OR_RETURN(const Header header, ParseHeader(bytes));
  if (const uint64_t rest = file_size - sizeof(header); rest != header.size) {
    return absl::DataLossError(absl::StrCat(
        "the manifest is ", rest < header.size ? "truncated" : "damaged", ": its header states ",
        header.size, " bytes, but ", rest, " follow it; index again"));
  }
  if (header.size > Manifest::kMaxPayloadBytes) return TooLong(header);
  return header;
}

// Returns the payload after a valid header.
absl::StatusOr<std::span<const uint8_t>> OpenPayload(std::span<const uint8_t> bytes) {
  PENSTOCK_ASSIGN_OR_RETURN(const Header header, OpenHeader(bytes, bytes.size()));
  const std::span<const uint8_t> payload = bytes.subspan(sizeof(header));
  if (uint32_t crc = Crc32c(payload); crc != header.crc32c) {
    return absl::DataLossError(
        absl::StrFormat("the manifest is damaged: CRC computed 0x%08x, stored 0x%08x; index again",
                        crc, header.crc32c));
  }
  return payload;
}

void AddPixelSums(const PixelSums& sums, v1::Shard& shard) {
  v1::PixelSums* out = shard.add_pixel_sums();
  out->set_images(sums.images);
  out->mutable_mean()->Add(sums.mean.begin(), sums.mean.end());
  out->mutable_square()->Add(sums.square.begin(), sums.square.end());
}

// Writes the numbers of a feature or of its survey in a shard.
template <typename Numbers>
void WriteNumbers(const Numbers& from, v1::FeatureInfo& out) {
  out.set_records(from.records);
  out.set_min_values(from.values.min);
  out.set_max_values(from.values.max);
  out.set_min_step_values(from.step_values.min);
  out.set_max_step_values(from.step_values.max);
  out.set_image_records(from.images);
  out.set_grey16_records(from.grey16);
}

template <typename Numbers>
void ReadNumbers(const v1::FeatureInfo& from, Numbers& out) {
  out.records = from.records();
  out.values = {from.min_values(), from.max_values()};
  out.step_values = {from.min_step_values(), from.max_step_values()};
  out.images = from.image_records();
  out.grey16 = from.grey16_records();
}

void AddSurvey(const ShardSurvey& survey, v1::Shard& shard) {
  v1::ShardSurvey* out = shard.mutable_survey();
  out->set_records(survey.records);
  for (const SurveyedFeature& feature : survey.features) {
    v1::SurveyedFeature* added = out->add_feature();
    added->set_index(feature.index);
    WriteNumbers(feature, *added->mutable_info());
    added->mutable_info()->set_min_length(feature.bytes.min);
    added->mutable_info()->set_max_length(feature.bytes.max);
  }
}

v1::Shard* AddShard(const ShardInfo& shard, v1::ManifestProto& proto) {
  v1::Shard* out = proto.add_shard();
  out->set_path(shard.path);
  out->set_absolute(shard.absolute);
  out->set_size(shard.size);
  out->set_modified_ns(shard.modified_ns);
  out->set_container(static_cast<v1::Container>(shard.container));
  out->set_label(shard.label);
  out->set_excluded_records(shard.excluded_records);
  for (const PixelSums& sums : shard.pixel_sums) AddPixelSums(sums, *out);
  if (shard.survey.has_value()) AddSurvey(*shard.survey, *out);
  return out;
}

// Columns that would hold only default values stay empty.
void AddChunks(const Manifest& manifest, size_t shard, v1::Shard& out) {
  const auto [begin, end] = manifest.shard_chunks(shard);
  uint64_t offset = 0, records = 0;
  bool holdout = false, gap = false, numbered = false;
  for (size_t i = begin; i < end; ++i) {
    const ChunkInfo chunk = manifest.chunk(i);
    out.add_chunk_size(chunk.size);
    out.add_chunk_records(chunk.records);
    out.add_chunk_holdout(chunk.holdout);
    out.add_chunk_crc32c(chunk.crc32c);
    if (out.container() != v1::TFRECORD) out.add_chunk_raw_size(chunk.raw_size);
    out.add_chunk_gap(chunk.offset - offset);
    out.add_chunk_first_record(chunk.first_record);
    holdout |= chunk.holdout > 0;
    gap |= chunk.offset != offset;
    numbered |= chunk.first_record != records;
    offset = chunk.offset + chunk.size;
    records += chunk.records;
  }
  if (!holdout) out.clear_chunk_holdout();
  if (!gap) out.clear_chunk_gap();
  if (!numbered) out.clear_chunk_first_record();
}

absl::Status CheckColumns(const v1::Shard& shard) {
  const int count = shard.chunk_size_size();
  const bool frames = shard.container() == v1::TFRECORD;
  if (!v1::Container_IsValid(shard.container())) {
    return absl::FailedPreconditionError(
        absl::StrCat(shard.path(), ": container ", static_cast<int>(shard.container()),
                     " is from a newer version; use that version, or index again"));
  }
  struct Column {
    const char* name;
    int size;
    bool may_be_empty;
    bool must_be_empty;
  };
  for (const Column& column :
       {Column{"chunk_records", shard.chunk_records_size(), false, false},
        {"chunk_crc32c", shard.chunk_crc32c_size(), false, false},
        {"chunk_raw_size", shard.chunk_raw_size_size(), false, frames},
        {"chunk_holdout", shard.chunk_holdout_size(), true, false},
        {"chunk_gap", shard.chunk_gap_size(), true, false},
        {"chunk_first_record", shard.chunk_first_record_size(), true, false}}) {
    if (column.size == 0 && (column.may_be_empty || column.must_be_empty)) continue;
    if (column.size == count && !column.must_be_empty) continue;
    return absl::DataLossError(
        absl::StrCat(shard.path(), ": its chunk columns have different lengths: ", column.name,
                     " has ", column.size, " entries, chunk_size has ", count,
                     column.must_be_empty ? " and the shard holds frames" : ""));
  }
  if (shard.size() == 0 && count > 0) {
    return absl::DataLossError(absl::StrCat(shard.path(), ": has chunks but no bytes"));
  }
  return absl::OkStatus();
}

absl::Status ReadPixelSums(const v1::Shard& shard, ShardInfo& info) {
  for (const v1::PixelSums& read : shard.pixel_sums()) {
    PixelSums sums;
    if (read.mean_size() != kPixelChannels || read.square_size() != kPixelChannels) {
      return absl::DataLossError(absl::StrCat(shard.path(), ": its pixel_sums have ",
                                              read.mean_size(), " means and ", read.square_size(),
                                              " squares, not ", kPixelChannels, " of each"));
    }
    sums.images = read.images();
    std::copy(read.mean().begin(), read.mean().end(), sums.mean.begin());
    std::copy(read.square().begin(), read.square().end(), sums.square.begin());
    info.pixel_sums.push_back(sums);
  }
  return absl::OkStatus();
}

ShardSurvey ReadSurvey(const v1::ShardSurvey& survey) {
  ShardSurvey out{survey.records()};
  for (const v1::SurveyedFeature& read : survey.feature()) {
    SurveyedFeature feature;
    feature.index = read.index();
    ReadNumbers(read.info(), feature);
    feature.bytes = {read.info().min_length(), read.info().max_length()};
    out.features.push_back(feature);
  }
  return out;
}

absl::Status ReadShard(const v1::Shard& shard, ManifestBuilder& builder) {
  PENSTOCK_RETURN_IF_ERROR(CheckColumns(shard));
  ShardInfo info;
  info.path = shard.path();
  info.absolute = shard.absolute();
  info.size = shard.size();
  info.modified_ns = shard.modified_ns();
  info.container = static_cast<Container>(shard.container());
  info.label = shard.label();
  info.excluded_records = shard.excluded_records();
  PENSTOCK_RETURN_IF_ERROR(ReadPixelSums(shard, info));
  if (shard.has_survey()) info.survey = ReadSurvey(shard.survey());
  builder.AddShard(std::move(info));
  for (int i = 0; i < shard.chunk_size_size(); ++i) {
    ManifestBuilder::Chunk chunk;
    chunk.size = shard.chunk_size(i);
    chunk.records = shard.chunk_records(i);
    chunk.crc32c = shard.chunk_crc32c(i);
    if (shard.chunk_holdout_size() > 0) chunk.holdout = shard.chunk_holdout(i);
    if (shard.chunk_gap_size() > 0) chunk.gap = shard.chunk_gap(i);
    if (shard.chunk_raw_size_size() > 0) chunk.raw_size = shard.chunk_raw_size(i);
    if (shard.chunk_first_record_size() > 0) chunk.first_record = shard.chunk_first_record(i);
    builder.AddChunk(chunk);
  }
  return absl::OkStatus();
}

void AddFeature(const FeatureInfo& feature, v1::ManifestProto& proto) {
  v1::FeatureInfo* out = proto.add_feature();
  const ValueRange& length = feature.type == "bytes" ? feature.bytes : feature.values;
  out->set_name(feature.name);
  out->set_type(feature.type);
  out->set_min_length(length.min);
  out->set_max_length(length.max);
  out->set_feature_list(feature.feature_list);
  WriteNumbers(feature, *out);
}

FeatureInfo ReadFeature(const v1::FeatureInfo& feature) {
  FeatureInfo info;
  info.name = feature.name();
  info.type = feature.type();
  info.feature_list = feature.feature_list();
  ReadNumbers(feature, info);
  const ValueRange length{feature.min_length(), feature.max_length()};
  const bool bytes = feature.type() == "bytes";
  if (bytes) info.bytes = length;
  // In manifests that did not count values, most bytes features had one value.
  if (info.records == 0) info.values = bytes ? ValueRange{1, 1} : length;
  return info;
}

absl::StatusOr<RecordFormat> ReadFormat(const v1::ManifestProto& proto) {
  if (proto.format() == v1::ManifestProto::EXAMPLE) return RecordFormat::kExample;
  if (proto.format() == v1::ManifestProto::RAW) return RecordFormat::kRaw;
  return absl::FailedPreconditionError(
      absl::StrCat("record format ", static_cast<int>(proto.format()),
                   " is from a newer version; use that version, or index again"));
}

absl::StatusOr<Manifest> FromProto(const v1::ManifestProto& proto) {
  ManifestBuilder builder;
  for (const v1::Shard& shard : proto.shard()) PENSTOCK_RETURN_IF_ERROR(ReadShard(shard, builder));
  builder.SetHoldout({proto.holdout().feature(), proto.holdout().threshold()});
  PENSTOCK_ASSIGN_OR_RETURN(const RecordFormat format, ReadFormat(proto));
  builder.SetFormat(format);
  FeatureSummary features;
  features.records = proto.feature_records();
  for (const v1::FeatureInfo& f : proto.feature()) features.features.push_back(ReadFeature(f));
  builder.SetFeatures(std::move(features));
  builder.SetSpec(proto.spec());
  builder.SetClassNames({proto.class_name().begin(), proto.class_name().end()});
  builder.SetMeasuredFeatures({proto.measured_feature().begin(), proto.measured_feature().end()});
  builder.SetChunkTarget(proto.chunk_target());
  return builder.Build();
}

}  // namespace

absl::StatusOr<std::string> Manifest::Serialize(uint64_t max_bytes) const {
  v1::ManifestProto proto;
  for (size_t i = 0; i < shards_.size(); ++i) AddChunks(*this, i, *AddShard(shards_[i], proto));
  if (holdout_ != HoldoutInfo{}) {
    proto.mutable_holdout()->set_feature(holdout_.feature);
    proto.mutable_holdout()->set_threshold(holdout_.threshold);
  }
  proto.set_format(format_ == RecordFormat::kRaw ? v1::ManifestProto::RAW
                                                 : v1::ManifestProto::EXAMPLE);
  proto.set_feature_records(features_.records);
  for (const FeatureInfo& feature : features_.features) AddFeature(feature, proto);
  proto.set_spec(spec_);
  for (const std::string& name : class_names_) proto.add_class_name(name);
  for (const std::string& name : measured_features_) proto.add_measured_feature(name);
  proto.set_chunk_target(chunk_target_);

  std::string bytes(sizeof(Header), '\0');
  const uint64_t size = proto.ByteSizeLong();
  if (size > max_bytes || !proto.AppendToString(&bytes)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a manifest of ", num_chunks(), " chunks would have ", size, " bytes, at most ", max_bytes,
        " can be read: use larger chunks (--chunk-size)"));
  }
  Header header{kMagic, kVersion, Crc32c(BytesOf(bytes).subspan(sizeof(Header))),
                bytes.size() - sizeof(Header)};
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

absl::Status Manifest::Save(const std::string& path) const {
  absl::StatusOr<std::string> bytes = Serialize();
  if (!bytes.ok()) return Annotate(bytes.status(), path);
  return WriteFileAtomically(path, BytesOf(*bytes));
}

absl::StatusOr<Manifest> Manifest::Parse(std::span<const uint8_t> bytes) {
  PENSTOCK_ASSIGN_OR_RETURN(std::span<const uint8_t> payload, OpenPayload(bytes));
  v1::ManifestProto proto;
  if (!proto.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
    return absl::DataLossError(
        "the manifest is damaged although its CRC is right: its payload cannot be parsed; index "
        "again");
  }
  return FromProto(proto);
}

absl::StatusOr<bool> IsManifestFile(const ByteSource& source) {
  std::array<uint8_t, kMagic.size()> head;
  if (source.size() < head.size()) return false;
  PENSTOCK_RETURN_IF_ERROR(source.ReadAt(0, head));
  return std::memcmp(head.data(), kMagic.data(), head.size()) == 0;
}

absl::StatusOr<Manifest> Manifest::Read(const ByteSource& source) {
  // First reads only what is needed to report another kind of file, such as a shard, or a wrong
  // size.
  std::vector<uint8_t> bytes(std::min<uint64_t>(source.size(), sizeof(Header)));
  PENSTOCK_RETURN_IF_ERROR(source.ReadAt(0, bytes));
  PENSTOCK_RETURN_IF_ERROR(Annotate(OpenHeader(bytes, source.size()).status(), source.name()));
  bytes.resize(source.size());
  PENSTOCK_RETURN_IF_ERROR(source.ReadAt(0, bytes));
  absl::StatusOr<Manifest> manifest = Parse(bytes);
  if (!manifest.ok()) return Annotate(manifest.status(), source.name());
  return manifest;
}

absl::StatusOr<Manifest> Manifest::Load(const std::string& path) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<FileSource> source, FileSource::Open(path));
  absl::StatusOr<Manifest> manifest = Read(*source);
  if (!manifest.ok()) return manifest;
  const size_t slash = path.rfind('/');
  manifest->set_base_dir(slash == std::string::npos ? "."
                                                    : path.substr(0, std::max<size_t>(slash, 1)));
  return manifest;
}

absl::StatusOr<std::optional<uint64_t>> ManifestFileSize(std::span<const uint8_t> first) {
  if (!BeginsWithMagic(first)) return NoManifest();
  if (first.size() < sizeof(Header)) return std::nullopt;
  PENSTOCK_ASSIGN_OR_RETURN(const Header header, ParseHeader(first));
  if (header.size > Manifest::kMaxPayloadBytes) return TooLong(header);
  return sizeof(Header) + header.size;
}

}  // namespace penstock
