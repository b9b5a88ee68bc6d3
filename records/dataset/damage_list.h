// What could not be read when shards were indexed.
#ifndef PENSTOCK_RECORDS_DATASET_DAMAGE_LIST_H_
#define PENSTOCK_RECORDS_DATASET_DAMAGE_LIST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

// Bytes of a shard that hold no records that can be read.
struct DamagedRange {
  std::string file;
  uint64_t offset = 0;  // In the file.
  uint64_t bytes = 0;
  uint64_t record = 0;  // Number of the first in its file, where the framing before it was whole.
  // Lost in these bytes; where they could not be told apart (broken framing, a member that cannot
  // be decompressed) not all are counted.
  uint64_t records = 0;
  bool all_counted = false;
  bool to_end = false;  // The shard's last bytes: nothing behind the damage could be read.
  std::string reason;
};

// What damage takes away.
struct DamageLoss {
  uint64_t places = 0;  // Ranges, as in DamageList.
  uint64_t bytes = 0;
  uint64_t records = 0;
  bool all_counted = true;  // Else they are more, or at least may be.
};

// Counts all damaged ranges and lists the first of them: a wrong --holdout-feature damages every
// record. A range that begins where the last one ends, for the same reason, is a part of it.
// Thread-compatible.
class DamageList {
 public:
  explicit DamageList(size_t max_listed) : max_listed_(max_listed) {}

  // REQUIRES: of one file, in its order.
  void Add(DamagedRange range);
  // Another file's. Nothing may be added to this one's file any more.
  void Append(DamageList list);
  // Lists none; counts as before. The last call.
  void Forget() { listed_ = {}; }

  bool empty() const { return loss_.places == 0; }
  const std::vector<DamagedRange>& listed() const { return listed_; }
  // Also of those that are not listed.
  const DamageLoss& loss() const { return loss_; }

 private:
  void Count(const DamageLoss& loss);

  size_t max_listed_;
  std::vector<DamagedRange> listed_;
  DamageLoss loss_;
  // Of the last one added, listed or not.
  uint64_t last_end_ = 0;
  std::string last_reason_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_DAMAGE_LIST_H_
