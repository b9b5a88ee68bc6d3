// Lists what could not be read while shards were indexed.
#ifndef PENSTOCK_RECORDS_DATASET_DAMAGE_LIST_H_
#define PENSTOCK_RECORDS_DATASET_DAMAGE_LIST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

// A range of bytes in a shard that was lost to damage.
struct DamagedRange {
  std::string file;
  uint64_t offset = 0;  // Offset in the file.
  uint64_t bytes = 0;
  // Number in the file of the first lost record, if all framing before it was intact.
  uint64_t record = 0;
  // Number of records lost in these bytes. If the records could not be told apart (broken framing,
  // or a member that cannot be decompressed), not all are counted.
  uint64_t records = 0;
  bool all_counted = false;
  bool to_end = false;  // True if the range ends the shard: nothing after the damage could be read.
  std::string reason;
};

// The number of bytes and records that were lost to damage.
struct DamageLoss {
  uint64_t places = 0;  // Number of ranges, as in DamageList.
  uint64_t bytes = 0;
  uint64_t records = 0;
  bool all_counted = true;  // False if more records are, or may be, lost.
};

// Counts all damaged ranges, but lists only the first ones: a wrong --holdout-feature damages every
// record. A range that begins where the last one ends, for the same reason, is merged with it.
// Thread-compatible.
class DamageList {
 public:
  explicit DamageList(size_t max_listed) : max_listed_(max_listed) {}

  // REQUIRES: all ranges are in one file, and are added in file order.
  void Add(DamagedRange range);
  // Appends the list of another file. Afterwards nothing may be added for the current file.
  void Append(DamageList list);
  // Drops the listed ranges but keeps the counts. No other call that changes the list may follow.
  void Forget() { listed_ = {}; }

  bool empty() const { return loss_.places == 0; }
  const std::vector<DamagedRange>& listed() const { return listed_; }
  // Includes the ranges that are not listed.
  const DamageLoss& loss() const { return loss_; }

 private:
  void Count(const DamageLoss& loss);

  size_t max_listed_;
  std::vector<DamagedRange> listed_;
  DamageLoss loss_;
  // End and reason of the last range added, whether it is listed or not.
  uint64_t last_end_ = 0;
  std::string last_reason_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_DAMAGE_LIST_H_
