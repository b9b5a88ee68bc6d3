#include "cli/pack/shard_records.h"

#include "absl/strings/str_cat.h"
#include "cli/pack/located_records.h"

namespace penstock {

ShardRecords::ShardRecords(std::unique_ptr<ByteSource> source)
    : source_(std::move(source)),
      reader_(*source_, {.max_record_bytes = LocatedRecords::kMaxPayloadBytes}) {}

absl::StatusOr<bool> ShardRecords::Next(InputRecord& record) {
  if (ended_) return false;
  const absl::StatusOr<bool> more = reader_.Next(last_);
  if (absl::IsDataLoss(more.status()) || absl::IsResourceExhausted(more.status())) {
    return PassOver(more.status(), record);
  }
  if (!more.ok() || !*more) return more;
  record = {.payload = last_.payload};
  if (reader_.compression() == Compression::kNone) record.frame_offset = last_.offset;
  return true;
}

absl::StatusOr<bool> ShardRecords::PassOver(const absl::Status& why, InputRecord& record) {
  const absl::StatusOr<bool> passed = reader_.PassOver();
  if (!passed.ok() && !absl::IsDataLoss(passed.status())) return passed.status();
  ended_ = !passed.ok() || !*passed;
  record = {};
  record.invalid = ended_ ? ReadNoFurther(why) : why;
  return true;
}

std::string ShardRecords::Place() const {
  return absl::StrCat(source_->name(), ": record ", last_.number, " at offset ", last_.offset);
}

}  // namespace penstock
