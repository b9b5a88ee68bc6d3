// A plan, its steps and a fleet in virtual time, for tests of the controller.
#ifndef PENSTOCK_CLIENT_FETCH_TESTING_FETCH_CONTROLLER_FIXTURE_H_
#define PENSTOCK_CLIENT_FETCH_TESTING_FETCH_CONTROLLER_FIXTURE_H_

#include <memory>
#include <utility>
#include <vector>

#include "client/fetch/fetch_controller.h"
#include "client/fetch/testing/fake_fleet.h"
#include "gtest/gtest.h"

namespace penstock {

inline ChunkTable Chunks(uint32_t chunks, uint32_t rows) {
  return {std::vector<uint32_t>(chunks, rows), std::vector<uint32_t>(chunks, rows * 200), 1};
}

// Advances to `then`, and on the way whenever the controller asks for it, like a client that is
// never stopped.
inline void AdvanceTo(FetchController& controller, absl::Time then) {
  for (absl::Time next; (next = controller.NextAdvance()) < then;) controller.Advance(next);
  controller.Advance(then);
}

// A plan, its steps and a fleet, which runs once.
class FetchControllerTest : public ::testing::Test {
 protected:
  void MakePlan(ChunkTable table, PlanOptions options = {}) {
    plan_ = std::make_unique<Plan>(*Plan::Create(std::move(table), options));
  }
  FakeFleet& MakeFleet(FleetOptions fleet = {}, StepOptions steps = {.global_batch_size = 128}) {
    if (plan_ == nullptr) MakePlan(Chunks(400, 40), {.lanes = 16, .window_chunks = 8});
    absl::StatusOr<Steps> made = Steps::Create(plan_->rows(), steps);
    controller_.row_bytes = 200;
    fleet_ = std::make_unique<FakeFleet>(*plan_, *made, controller_, fleet);
    return *fleet_;
  }

  std::unique_ptr<Plan> plan_;
  FetchOptions controller_{.num_slots = 16, .fetch_bytes = 8000};
  std::unique_ptr<FakeFleet> fleet_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_TESTING_FETCH_CONTROLLER_FIXTURE_H_
