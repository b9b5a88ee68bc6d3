// Reads the rows of a CSV file as records.
#ifndef PENSTOCK_CLI_PACK_CSV_RECORDS_H_
#define PENSTOCK_CLI_PACK_CSV_RECORDS_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/io/byte_source.h"
#include "cli/pack/csv_rows.h"
#include "cli/pack/input_records.h"
#include "cli/pack/table_columns.h"
#include "records/format/example_writer.h"
#include "records/format/unpacked_stream.h"

namespace penstock {

// The first row names the columns. Each cell of a later row is a feature with one value; an empty
// cell is no feature. A row is invalid if it has another number of cells, or a cell that the type
// of its column cannot hold.
class CsvRecords : public InputRecords {
 public:
  // The first file decides the types of columns that have none: the common type of their cells in
  // the first TableColumns::kSampleRows rows. Gzip and zstd are decompressed. kInvalidArgument: the
  // first row has a name that is empty or repeated, or other names than the files before; or a
  // chosen column is missing.
  static absl::StatusOr<std::unique_ptr<InputRecords>> Open(std::unique_ptr<ByteSource> source,
                                                            TableColumns& table);

  absl::StatusOr<bool> Next(InputRecord& record) override;
  std::string Place() const override;

 private:
  explicit CsvRecords(const ByteSource& source)
      : source_(source), stream_(source), rows_(stream_) {}
  // Reads the names in the first row.
  absl::Status ReadHeader();
  void Survey(TableColumns& table);
  absl::Status Bind(const TableColumns& table);
  absl::Status MakeRecord();
  absl::Status AddCell(const Column& column, const std::string& cell);

  std::unique_ptr<ByteSource> owned_;  // Null if the source is borrowed.
  const ByteSource& source_;
  UnpackedStream stream_;
  CsvRows rows_;
  std::vector<std::string> names_;
  // The column of each cell; absent if it is not wanted.
  std::vector<std::optional<Column>> columns_;
  std::vector<std::string> cells_;
  ExampleBuilder builder_;
  bool ended_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_CSV_RECORDS_H_
