// Reads the records of a TFRecord shard as input.
#ifndef PENSTOCK_CLI_PACK_SHARD_RECORDS_H_
#define PENSTOCK_CLI_PACK_SHARD_RECORDS_H_

#include <memory>
#include <string>
#include <utility>

#include "base/io/byte_source.h"
#include "cli/pack/input_records.h"
#include "records/format/tfrecord_reader.h"

namespace penstock {

// The shard may be compressed, in members of any size. A damaged record is invalid, and so is one
// that is longer than an index accepts. If the start of the next record is unknown, the rest of the
// file is part of the invalid record.
class ShardRecords : public InputRecords {
 public:
  explicit ShardRecords(std::unique_ptr<ByteSource> source);

  absl::StatusOr<bool> Next(InputRecord& record) override;
  std::string Place() const override;

 private:
  absl::StatusOr<bool> PassOver(const absl::Status& why, InputRecord& record);

  const std::unique_ptr<ByteSource> source_;
  TfRecordReader reader_;
  Record last_;
  bool ended_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_SHARD_RECORDS_H_
