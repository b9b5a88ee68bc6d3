// A plan, its steps and a fleet in virtual time, for tests of the scheduler.
#ifndef PENSTOCK_CLIENT_FETCH_TESTING_SCHEDULER_FIXTURE_H_
#define PENSTOCK_CLIENT_FETCH_TESTING_SCHEDULER_FIXTURE_H_

#include <memory>
#include <utility>
#include <vector>

#include "client/fetch/scheduler.h"
#include "client/fetch/testing/fake_fleet.h"
#include "gtest/gtest.h"

namespace penstock {

inline ChunkTable Chunks(uint32_t chunks, uint32_t rows) {
  return {std::vector<uint32_t>(chunks, rows), std::vector<uint32_t>(chunks, rows * 200), 1};
}

// Advances whenever it is asked to, as a client does that is never stopped, and then.
inline void AdvanceTo(FetchScheduler& scheduler, absl::Time then) {
  for (absl::Time next; (next = scheduler.NextAdvance()) < then;) scheduler.Advance(next);
  scheduler.Advance(then);
}

// A plan, its steps and a fleet; run once.
class SchedulerTest : public ::testing::Test {
 protected:
  void MakePlan(ChunkTable table, PlanOptions options = {}) {
    plan_ = std::make_unique<Plan>(*Plan::Create(std::move(table), options));
  }
  FakeFleet& MakeFleet(FleetOptions fleet = {}, StepOptions steps = {.global_batch_size = 128}) {
    if (plan_ == nullptr) MakePlan(Chunks(400, 40), {.lanes = 16, .window_chunks = 8});
    absl::StatusOr<Steps> made = Steps::Create(plan_->rows(), steps);
    scheduler_.row_bytes = 200;
    fleet_ = std::make_unique<FakeFleet>(*plan_, *made, scheduler_, fleet);
    return *fleet_;
  }

  std::unique_ptr<Plan> plan_;
  SchedulerOptions scheduler_{.num_slots = 16, .fetch_bytes = 8000};
  std::unique_ptr<FakeFleet> fleet_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_TESTING_SCHEDULER_FIXTURE_H_
