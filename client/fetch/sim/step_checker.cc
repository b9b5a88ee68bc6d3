#include "client/fetch/sim/step_checker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/fetch/sim/messages.h"

namespace penstock::sim {

StepChecker::StepChecker(const Plan& plan, const Steps& steps, uint32_t slots, StandIn stand_in)
    : plan_(plan), steps_(steps), stand_in_(std::move(stand_in)), slots_(slots) {
  for (Slot& slot : slots_) slot.rows.resize(steps.max_rank_rows() + 1);
}

std::string StepChecker::Copy(const RowCopy& copy, const std::vector<uint64_t>& content) {
  if (copy.slot >= slots_.size()) return absl::StrCat("slot ", copy.slot, " does not exist");
  Slot& slot = slots_[copy.slot];
  if (slot.delivered) return absl::StrCat("slot ", copy.slot, " written while it is consumed");
  if (uint64_t{copy.part_row} + copy.rows > content.size() ||
      uint64_t{copy.slot_row} + copy.rows > slot.rows.size()) {
    return absl::StrCat("a copy of ", copy.rows, " rows leaves its part or its slot");
  }
  for (uint32_t i = 0; i < copy.rows; ++i) {
    uint64_t& row = slot.rows[copy.slot_row + i];
    if (row != 0) {
      return absl::StrCat("row ", copy.slot_row + i, " of slot ", copy.slot, " filled twice");
    }
    row = content[copy.part_row + i];
  }
  return "";
}

std::string StepChecker::Deliver(const ReadyStep& ready) {
  if (ready.index != next_step_) {
    return absl::StrCat("step ", ready.index, " delivered where step ", next_step_, " was due");
  }
  const Step expected = steps_.At(next_step_++);
  Slot& slot = slots_[ready.slot];
  if (slot.delivered) return absl::StrCat("slot ", ready.slot, " delivered twice");
  slot.delivered = true;
  if (ready.step.rank_rows != expected.rank_rows || !(ready.step.end == expected.end)) {
    return absl::StrCat("step ", ready.index, " is another step than the plan has there");
  }
  uint64_t at = 0;
  for (const RowRange& range : expected.ranges()) {
    std::string wrong = CheckRange(range, slot, at);
    if (!wrong.empty()) return absl::StrCat("step ", ready.index, ": ", wrong);
  }
  if (at != expected.rank_rows) return absl::StrCat("step ", ready.index, " has ", at, " rows");
  return slot.rows[at] == 0 ? "" : absl::StrCat("step ", ready.index, " has rows past its end");
}

std::string StepChecker::CheckRange(const RowRange& range, const Slot& slot, uint64_t& at) {
  if (order_ == nullptr || order_->epoch() != range.epoch) {
    order_ = std::make_unique<const EpochOrder>(plan_.Epoch(range.epoch));
    walker_.emplace(*order_, range.position);
  }
  walker_->Skip(range.position - walker_->position());
  WindowRun run;
  for (uint64_t left = range.rows; left > 0 && walker_->Next(left, run); left -= run.rows) {
    const std::optional<uint32_t> chunk =
        stand_in_ != nullptr ? stand_in_(*order_, run.window) : std::nullopt;
    for (uint32_t i = 0; i < run.rows; ++i, ++at) {
      const uint32_t row = run.first_row + i;
      const uint64_t expected =
          chunk ? StandInContent(run.window, row, *chunk) : RowContent(run.window, row);
      if (slot.rows[at] == expected) continue;
      return absl::StrCat("row ", at, " is ", slot.rows[at] == 0 ? "empty" : "another row",
                          ", not ", ToString(run.window), " row ", row);
    }
  }
  return "";
}

void StepChecker::Release(uint32_t slot) {
  slots_[slot].delivered = false;
  std::fill(slots_[slot].rows.begin(), slots_[slot].rows.end(), 0);
}

}  // namespace penstock::sim
