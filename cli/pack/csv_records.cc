#include "cli/pack/csv_records.h"

#include <algorithm>
#include <set>
#include <span>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "base/status.h"
#include "base/text.h"

namespace penstock {
namespace {

// Damage in the first bytes of a compressed file would make it pass for text.
absl::Status CheckCompression(absl::string_view file, Compression found) {
  for (const auto& [end, named] :
       {std::pair(".gz", Compression::kGzip), std::pair(".zst", Compression::kZstd)}) {
    if (!absl::EndsWith(file, end) || found == named) continue;
    return absl::DataLossError(
        absl::StrCat(file, ": does not begin like a ", CompressionName(named),
                     " file: it is damaged, or its name should not end in ", end));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<InputRecords>> CsvRecords::Open(std::unique_ptr<ByteSource> source,
                                                               TableColumns& table) {
  if (!table.known()) {
    CsvRecords sample(*source);
    PENSTOCK_RETURN_IF_ERROR(sample.ReadHeader());
    sample.Survey(table);
    table.SetKnown(source->name());
  }
  std::unique_ptr<CsvRecords> records(new CsvRecords(*source));
  records->owned_ = std::move(source);
  PENSTOCK_RETURN_IF_ERROR(records->ReadHeader());
  PENSTOCK_RETURN_IF_ERROR(records->Bind(table));
  return std::unique_ptr<InputRecords>(std::move(records));
}

absl::Status CsvRecords::ReadHeader() {
  const absl::StatusOr<bool> more = rows_.Next(names_);
  if (!more.ok()) return AtPlace(more.status(), source_.name(), Place());
  PENSTOCK_RETURN_IF_ERROR(CheckCompression(source_.name(), stream_.compression()));
  if (!*more) {
    return absl::InvalidArgumentError(
        absl::StrCat(source_.name(), ": is empty; the first line names the columns"));
  }
  return absl::OkStatus();
}

// Finds the types of columns. A column without a value in these rows becomes bytes, which hold
// anything.
void CsvRecords::Survey(TableColumns& table) {
  for (const std::string& name : names_) table.columns().FindOrAdd(name);
  std::vector<FeatureType> types(names_.size(), FeatureType::kNone);
  for (size_t row = 0; row < TableColumns::kSampleRows; ++row) {
    const absl::StatusOr<bool> more = rows_.Next(cells_);
    if (absl::IsInvalidArgument(more.status())) continue;
    if (!more.ok() || !*more) break;  // Packing reports the error.
    for (size_t i = 0; i < std::min(names_.size(), cells_.size()); ++i) {
      types[i] = CommonType(types[i], TypeOfCell(cells_[i]));
    }
  }
  for (size_t i = 0; i < names_.size(); ++i) {
    Column* column = table.columns().FindOrAdd(names_[i]);
    if (column == nullptr || column->type != FeatureType::kNone) continue;
    column->type = types[i] == FeatureType::kNone ? FeatureType::kBytes : types[i];
  }
}

absl::Status CsvRecords::Bind(const TableColumns& table) {
  std::set<std::string> seen;
  for (size_t i = 0; i < names_.size(); ++i) {
    const Column* column = table.columns().Find(names_[i]);
    columns_.push_back(column != nullptr ? std::optional<Column>(*column) : std::nullopt);
    if (column == nullptr && table.columns().chosen()) continue;
    const std::string place = absl::StrCat(Place(), ": column ", i + 1);
    if (names_[i].empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(place, " has no name: give it one, or choose other columns (--columns)"));
    }
    if (!seen.insert(names_[i]).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(place, " has the name of an earlier column, '", names_[i],
                       "'; rename one, or choose other columns with --columns"));
    }
    if (column == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(place, ", '", names_[i], "', is missing in ", table.first_file(),
                       "; all files need the same columns, or choose columns with --columns"));
    }
  }
  for (const Column& column : table.columns().all()) {
    if (seen.contains(column.name)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(Place(), ": there is no column '", column.name, "', which ",
                     table.columns().chosen() ? "--columns names" : table.first_file() + " has"));
  }
  return absl::OkStatus();
}

std::string CsvRecords::Place() const { return absl::StrCat(source_.name(), ":", rows_.line()); }

absl::StatusOr<bool> CsvRecords::Next(InputRecord& record) {
  if (ended_) return false;
  const absl::StatusOr<bool> more = rows_.Next(cells_);
  if (more.ok() && !*more) return false;
  record = {};
  record.invalid = more.status();
  if (more.ok()) record.invalid = MakeRecord();
  if (!more.ok() && !absl::IsInvalidArgument(more.status())) {
    if (!IsOfFile(more.status())) return more.status();
    ended_ = true;
    record.invalid = ReadNoFurther(more.status());
    record.all_invalid = stream_.compression() != Compression::kNone;
  }
  record.invalid = AtPlace(record.invalid, source_.name(), Place());
  if (record.invalid.ok()) record.payload = builder_.Serialize();
  return true;
}

absl::Status CsvRecords::MakeRecord() {
  if (cells_.size() != columns_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("has ", Counted(cells_.size(), "cell", "cells"),
                                                   ", the first line has ", columns_.size()));
  }
  builder_.Clear();
  for (size_t i = 0; i < cells_.size(); ++i) {
    if (!columns_[i] || cells_[i].empty()) continue;
    PENSTOCK_RETURN_IF_ERROR(AddCell(*columns_[i], cells_[i]));
  }
  return absl::OkStatus();
}

absl::Status CsvRecords::AddCell(const Column& column, const std::string& cell) {
  int64_t whole = 0;
  float number = 0;
  switch (column.type) {
    case FeatureType::kInt64:
      if (!ParseInt64(cell, whole)) break;
      builder_.AddInt64(column.name, std::span(&whole, 1));
      return absl::OkStatus();
    case FeatureType::kFloat:
      if (!ParseFloat(cell, number)) break;
      builder_.AddFloat(column.name, std::span(&number, 1));
      return absl::OkStatus();
    default:
      builder_.AddBytes(column.name, BytesOf(cell));
      return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("column '", column.name, "': '", Shortened(cell), "' cannot be stored as ",
                   FeatureTypeName(column.type), "; choose another type with --columns"));
}

}  // namespace penstock
