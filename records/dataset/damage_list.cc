#include "records/dataset/damage_list.h"

#include <utility>

namespace penstock {

void DamageList::Add(DamagedRange range) {
  const bool goes_on = !empty() && range.offset == last_end_ && range.reason == last_reason_;
  const bool last_is_listed = loss_.places == listed_.size();
  Count({goes_on ? 0u : 1u, range.bytes, range.records, range.all_counted});
  last_end_ = range.offset + range.bytes;
  if (!goes_on) last_reason_ = range.reason;
  if (!goes_on && listed_.size() < max_listed_) {
    listed_.push_back(std::move(range));
  } else if (goes_on && last_is_listed) {
    DamagedRange& last = listed_.back();
    last.bytes += range.bytes;
    last.records += range.records;
    last.all_counted = last.all_counted && range.all_counted;
    last.to_end = range.to_end;
  }
}

void DamageList::Append(DamageList list) {
  Count(list.loss_);
  for (DamagedRange& range : list.listed_) {
    if (listed_.size() == max_listed_) break;
    listed_.push_back(std::move(range));
  }
}

void DamageList::Count(const DamageLoss& loss) {
  loss_.places += loss.places;
  loss_.bytes += loss.bytes;
  loss_.records += loss.records;
  loss_.all_counted = loss_.all_counted && loss.all_counted;
}

}  // namespace penstock
