// Reads the lines of a file as records; each line is a JSON object.
#ifndef PENSTOCK_CLI_PACK_JSON_RECORDS_H_
#define PENSTOCK_CLI_PACK_JSON_RECORDS_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/io/byte_source.h"
#include "cli/pack/input_records.h"
#include "cli/pack/json_features.h"
#include "cli/pack/table_columns.h"
#include "cli/pack/text_lines.h"
#include "records/format/unpacked_stream.h"

namespace penstock {

// Each key is a feature. Lines that have only spaces are skipped. A record is invalid if its line
// is not a JSON object, or has a value that the type of the key cannot hold.
class JsonRecords : public InputRecords {
 public:
  // The first file decides the types of the keys in its first TableColumns::kSampleRows lines. The
  // first value decides the type of any other key. Gzip and zstd are decompressed. `table` must
  // outlive the records.
  static absl::StatusOr<std::unique_ptr<InputRecords>> Open(std::unique_ptr<ByteSource> source,
                                                            TableColumns& table);

  absl::StatusOr<bool> Next(InputRecord& record) override;
  std::string Place() const override;

 private:
  JsonRecords(const ByteSource& source, TableColumns& table)
      : source_(source), stream_(source), lines_(stream_), features_(table.columns()) {}
  // Reads the next line that is not blank.
  absl::StatusOr<bool> NextLine(absl::string_view& line);
  void Survey(TableColumns& table);

  std::unique_ptr<ByteSource> owned_;  // Null if the source is borrowed.
  const ByteSource& source_;
  UnpackedStream stream_;
  TextLines lines_;
  JsonFeatures features_;
  bool ended_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_JSON_RECORDS_H_
