#include "cli/pack/array_records.h"

#include <algorithm>
#include <span>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/io/zip_reader.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/pack/number_rows.h"
#include "records/format/unpacked_stream.h"

namespace penstock {
namespace {

constexpr absl::string_view kNpy = ".npy";
// Each array that is being read takes up to half a MiB.
constexpr size_t kMaxArrays = 1000;

// Returns "x" for /data/x.npy and for x.npy.gz.
std::string FeatureOfFile(absl::string_view path) {
  const absl::string_view file = path.substr(path.rfind('/') + 1);
  const size_t end = file.rfind(kNpy);
  return std::string(file.substr(0, end == 0 ? file.npos : end));
}

FeatureType DefaultTypeOf(const NpyHeader& header) {
  const bool has_axes = header.shape.size() > 1;
  if (header.kind == NpyKind::kUint && header.item_bytes == 1 && has_axes) {
    return FeatureType::kBytes;
  }
  return header.kind == NpyKind::kFloat ? FeatureType::kFloat : FeatureType::kInt64;
}

bool IsWanted(const Columns& columns, absl::string_view feature) {
  return !columns.chosen() || columns.Find(feature) != nullptr;
}

}  // namespace

absl::StatusOr<std::unique_ptr<InputRecords>> ArrayRecords::OpenNpy(
    std::vector<std::unique_ptr<ByteSource>> sources, const Columns& columns) {
  std::unique_ptr<ArrayRecords> records(new ArrayRecords(std::move(sources)));
  for (const auto& source : records->sources_) {
    const std::string feature = FeatureOfFile(source->name());
    if (!IsWanted(columns, feature)) continue;
    auto stream = std::make_unique<UnpackedStream>(*source);
    const UnpackedStream& opened = *stream;
    PENSTOCK_RETURN_IF_ERROR(
        records->AddArray(feature, std::string(source->name()), std::move(stream)));
    records->has_checksum_ |= opened.compression() != Compression::kNone;
  }
  PENSTOCK_RETURN_IF_ERROR(records->Choose(columns));
  return std::unique_ptr<InputRecords>(std::move(records));
}

absl::StatusOr<std::unique_ptr<InputRecords>> ArrayRecords::OpenNpz(
    std::unique_ptr<ByteSource> source, const Columns& columns) {
  std::vector<std::unique_ptr<ByteSource>> sources;
  sources.push_back(std::move(source));
  std::unique_ptr<ArrayRecords> records(new ArrayRecords(std::move(sources)));
  records->has_checksum_ = true;
  const ByteSource& archive = *records->sources_[0];
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<ZipMember> members, ListZip(archive));
  if (members.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(archive.name(), ": has no arrays"));
  }
  for (const ZipMember& member : members) {
    const absl::string_view feature = absl::StripSuffix(member.name, kNpy);
    if (!IsWanted(columns, feature)) continue;
    const std::string place = absl::StrCat(archive.name(), ": member ", member.name);
    if (!absl::EndsWith(member.name, kNpy)) {
      return absl::InvalidArgumentError(
          absl::StrCat(place, ": not an array (*.npy); remove it from the archive"));
    }
    PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> bytes, OpenZipMember(archive, member));
    PENSTOCK_RETURN_IF_ERROR(records->AddArray(std::string(feature), place, std::move(bytes)));
  }
  PENSTOCK_RETURN_IF_ERROR(Annotate(records->Choose(columns), archive.name()));
  return std::unique_ptr<InputRecords>(std::move(records));
}

absl::Status ArrayRecords::AddArray(std::string feature, std::string place,
                                    std::unique_ptr<ByteStream> bytes) {
  if (feature.empty()) return absl::InvalidArgumentError(absl::StrCat(place, ": has no name"));
  PENSTOCK_ASSIGN_OR_RETURN(NpyReader reader, NpyReader::Open(std::move(bytes), place));
  if (arrays_.size() == kMaxArrays) {
    return absl::InvalidArgumentError(
        absl::StrCat(place, ": is one more than the ", Grouped(kMaxArrays),
                     " arrays that can be read at once; choose some with --columns"));
  }
  for (const Array& other : arrays_) {
    if (other.feature == feature) {
      return absl::InvalidArgumentError(absl::StrCat(other.place, " and ", place,
                                                     " would both be the feature '", feature,
                                                     "'; rename one of them"));
    }
    if (other.reader.rows() != reader.rows()) {
      return absl::InvalidArgumentError(
          absl::StrCat(place, ": has ", Counted(reader.rows(), "row", "rows"), ", ", other.place,
                       " has ", Grouped(other.reader.rows())));
    }
  }
  const FeatureType type = DefaultTypeOf(reader.header());
  arrays_.push_back({std::move(feature), std::move(place), std::move(reader), type});
  return absl::OkStatus();
}

absl::Status ArrayRecords::Choose(const Columns& columns) {
  if (!columns.chosen()) return absl::OkStatus();
  std::vector<Array> chosen;
  for (const Column& column : columns.all()) {
    const auto array = std::ranges::find(arrays_, column.name, &Array::feature);
    if (array == arrays_.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no array '", column.name, "', which --columns names"));
    }
    const NpyHeader& header = array->reader.header();
    if (column.type == FeatureType::kBytes && header.item_bytes > 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--columns: the array '", column.name, "' of ", DtypeText(header),
          " cannot be stored as bytes; only arrays of 8 bits an item (uint8, int8, bool) can"));
    }
    if (column.type != FeatureType::kNone) array->type = column.type;
    chosen.push_back(std::move(*array));
  }
  arrays_ = std::move(chosen);
  return absl::OkStatus();
}

absl::StatusOr<bool> ArrayRecords::Next(InputRecord& record) {
  if (ended_) return false;
  const bool last = row_ == arrays_[0].reader.rows();
  ended_ = last;
  const absl::Status status = last ? Finish() : MakeRecord();
  if (last && status.ok()) return false;
  record = {};
  record.invalid = status;
  if (absl::IsDataLoss(status)) {
    ended_ = true;
    record.invalid = ReadNoFurther(status);
    record.all_invalid = has_checksum_;
  } else if (!status.ok() && !IsOfFile(status)) {
    return status;
  }
  if (status.ok()) record.payload = builder_.Serialize();
  return true;
}

std::string ArrayRecords::Place() const {
  return absl::StrCat(arrays_[0].place, ": row ", row_ - 1);
}

absl::Status ArrayRecords::MakeRecord() {
  ++row_;
  builder_.Clear();
  absl::Status invalid;
  for (Array& array : arrays_) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::span<const uint8_t> row, array.reader.Next());
    // After an invalid value, the other arrays still advance to their next row.
    invalid.Update(Annotate(AddRow(array, row), absl::StrCat(array.place, ": row ", row_ - 1)));
  }
  return invalid;
}

absl::Status ArrayRecords::AddRow(const Array& array, std::span<const uint8_t> row) {
  const NpyHeader& header = array.reader.header();
  const bool floats = header.kind == NpyKind::kFloat;
  if (array.type == FeatureType::kBytes) {
    builder_.AddBytes(array.feature, row);
    return absl::OkStatus();
  }
  if (array.type == FeatureType::kFloat) {
    PENSTOCK_RETURN_IF_ERROR(floats ? ReadFloats(row, header.item_bytes, floats_)
                                    : ReadIntsAsFloats(row, header, floats_));
    builder_.AddFloat(array.feature, floats_);
    return absl::OkStatus();
  }
  PENSTOCK_RETURN_IF_ERROR(floats ? ReadFloatsAsInts(row, header, ints_)
                                  : ReadInts(row, header, ints_));
  builder_.AddInt64(array.feature, ints_);
  return absl::OkStatus();
}

absl::Status ArrayRecords::Finish() {
  for (Array& array : arrays_) PENSTOCK_RETURN_IF_ERROR(array.reader.Finish());
  return absl::OkStatus();
}

}  // namespace penstock
