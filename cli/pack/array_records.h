// Reads the rows of NumPy arrays as records.
#ifndef PENSTOCK_CLI_PACK_ARRAY_RECORDS_H_
#define PENSTOCK_CLI_PACK_ARRAY_RECORDS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/io/byte_source.h"
#include "cli/pack/columns.h"
#include "cli/pack/input_records.h"
#include "records/decode/npy_reader.h"
#include "records/format/example_writer.h"

namespace penstock {

// Row i of each array is a feature of record i: bool and integers become int64, floats become
// float, and a row of uint8 with at least one axis becomes bytes. Columns choose the arrays, their
// order and other types. A number becomes int64 or float only if it stays equal, but float64 is
// rounded to float. Only arrays with 8-bit items become bytes. A record is invalid if its type does
// not hold a number.
class ArrayRecords : public InputRecords {
 public:
  // Opens .npy files; each is an array. The feature has the name of the file, without folder and
  // extension. Gzip and zstd are decompressed.
  static absl::StatusOr<std::unique_ptr<InputRecords>> OpenNpy(
      std::vector<std::unique_ptr<ByteSource>> sources, const Columns& columns);
  // Opens an archive; each member is an array. Only the chosen arrays are read.
  static absl::StatusOr<std::unique_ptr<InputRecords>> OpenNpz(std::unique_ptr<ByteSource> source,
                                                               const Columns& columns);

  absl::StatusOr<bool> Next(InputRecord& record) override;
  std::string Place() const override;

 private:
  struct Array {
    std::string feature;
    std::string place;  // "FILE", or "FILE: member NAME".
    NpyReader reader;
    FeatureType type = FeatureType::kNone;
  };

  explicit ArrayRecords(std::vector<std::unique_ptr<ByteSource>> sources)
      : sources_(std::move(sources)) {}
  absl::Status AddArray(std::string feature, std::string place, std::unique_ptr<ByteStream> bytes);
  // Keeps only the chosen arrays, in their order, and sets the types of all.
  absl::Status Choose(const Columns& columns);
  absl::Status MakeRecord();
  absl::Status AddRow(const Array& array, std::span<const uint8_t> row);
  absl::Status Finish();

  const std::vector<std::unique_ptr<ByteSource>> sources_;
  std::vector<Array> arrays_;
  uint64_t row_ = 0;  // Number of the next row.
  bool ended_ = false;
  bool has_checksum_ = false;  // Whether a checksum covers all values of an array.
  ExampleBuilder builder_;
  std::vector<int64_t> ints_;
  std::vector<float> floats_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_ARRAY_RECORDS_H_
