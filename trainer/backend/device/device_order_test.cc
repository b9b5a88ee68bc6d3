// Tests that the emulated device and its checker expose work that relies on an order that nothing
// guarantees.
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/backend/device/device_backend.h"
#include "trainer/backend/device/forwarding_device.h"
#include "trainer/backend/device/testing/checking_device.h"
#include "trainer/backend/device/testing/emulated_device.h"
#include "trainer/backend/testing/boards.h"
#include "trainer/backend/testing/reference_model.h"

namespace penstock {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LateStreamsTest : public testing::Test {
 protected:
  LateStreams::Work Note(int number) {
    return [this, number] {
      done_.push_back(number);
      return absl::OkStatus();
    };
  }
  // The copy stream has 1, 2, an event and 4. The compute stream has 3, which waits for the event.
  void Queue(LateStreams& streams) {
    streams.Push(DeviceQueue::kCopy, Note(1));
    streams.Push(DeviceQueue::kCopy, Note(2));
    streams.Record(0, DeviceQueue::kCopy);
    streams.Push(DeviceQueue::kCopy, Note(4));
    streams.Wait(0, DeviceQueue::kCompute);
    streams.Push(DeviceQueue::kCompute, Note(3));
  }
  std::vector<int> done_;
};

TEST_F(LateStreamsTest, RunsNothingButWhatTheHostWaitsFor) {
  LateStreams streams(std::nullopt);
  Queue(streams);
  EXPECT_THAT(done_, IsEmpty());
  EXPECT_OK(streams.Synchronize(DeviceQueue::kCompute));
  EXPECT_THAT(done_, ElementsAre(1, 2, 3));
  EXPECT_OK(streams.Synchronize(DeviceQueue::kCopy));
  EXPECT_THAT(done_, ElementsAre(1, 2, 3, 4));
}

TEST_F(LateStreamsTest, WaitsForWhatWasRecordedLastAndForNothingIfNothingWas) {
  LateStreams streams(std::nullopt);
  streams.Wait(0, DeviceQueue::kCompute);
  streams.Push(DeviceQueue::kCompute, Note(1));
  streams.Push(DeviceQueue::kCopy, Note(2));
  streams.Record(0, DeviceQueue::kCopy);
  EXPECT_OK(streams.Synchronize(DeviceQueue::kCompute));
  EXPECT_THAT(done_, ElementsAre(1));
  EXPECT_OK(streams.Synchronize(DeviceEvent{0}));
  EXPECT_THAT(done_, ElementsAre(1, 2));
}

TEST_F(LateStreamsTest, SeedsGiveEveryOrderThatIsAllowedAndNoOther) {
  std::set<std::vector<int>> orders;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    done_.clear();
    LateStreams streams(seed);
    Queue(streams);
    EXPECT_OK(streams.Synchronize(DeviceQueue::kCompute));
    EXPECT_OK(streams.Synchronize(DeviceQueue::kCopy));
    orders.insert(done_);
  }
  EXPECT_THAT(orders, ElementsAre(ElementsAre(1, 2, 3, 4), ElementsAre(1, 2, 4, 3)));
}

TEST_F(LateStreamsTest, AnErrorEndsAllStreams) {
  LateStreams streams(std::nullopt);
  streams.Push(DeviceQueue::kCopy, [] { return absl::InternalError("broken"); });
  streams.Push(DeviceQueue::kCompute, Note(1));
  EXPECT_FALSE(streams.Synchronize(DeviceQueue::kCopy).ok());
  EXPECT_FALSE(streams.Synchronize(DeviceQueue::kCompute).ok());
  EXPECT_THAT(done_, IsEmpty());
}

// Tests the checks themselves.
class CheckingDeviceTest : public testing::Test {
 protected:
  CheckingDeviceTest() : device_(std::make_unique<EmulatedDevice>(), log_) {
    a_ = static_cast<float*>(*device_.Allocate(64));
    b_ = static_cast<float*>(*device_.Allocate(64));
  }
  DeviceOp Zero(void* at, size_t bytes = 64) {
    return {.kind = DeviceOpKind::kZero, .operands = {{at, bytes, Access::kWrite}}};
  }
  DeviceOp Copy(void* from, void* to) {
    return {.kind = DeviceOpKind::kCopy,
            .operands = {{from, 64, Access::kRead}, {to, 64, Access::kWrite}}};
  }

  DeviceLog log_;
  CheckingDevice device_;
  float *a_, *b_;
};

TEST_F(CheckingDeviceTest, FindsOperationsInNoOrder) {
  ASSERT_OK(device_.Run(Zero(a_), DeviceQueue::kCopy));
  ASSERT_OK(device_.Run(Copy(a_, b_), DeviceQueue::kCompute));
  EXPECT_THAT(log_.problems, ElementsAre(HasSubstr("are in no order")));
}

TEST_F(CheckingDeviceTest, EventsAndTheHostGiveOrder) {
  ASSERT_OK(device_.Run(Zero(a_), DeviceQueue::kCopy));
  ASSERT_OK(device_.Record(0, DeviceQueue::kCopy));
  ASSERT_OK(device_.Wait(0, DeviceQueue::kCompute));
  ASSERT_OK(device_.Run(Copy(a_, b_), DeviceQueue::kCompute));
  ASSERT_OK(device_.Synchronize(DeviceQueue::kCompute));
  ASSERT_OK(device_.Run(Zero(b_), DeviceQueue::kCopy));
  EXPECT_THAT(log_.problems, IsEmpty());
}

TEST_F(CheckingDeviceTest, FindsReadsOfNothingAndPlacesOutside) {
  ASSERT_OK(device_.Run(Copy(a_, b_), DeviceQueue::kCompute));
  EXPECT_THAT(log_.problems, ElementsAre(HasSubstr("never written")));
  log_.problems.clear();
  ASSERT_OK(device_.Run(Zero(a_ + 8, 32), DeviceQueue::kCompute));
  EXPECT_THAT(log_.problems, IsEmpty());
  float elsewhere[1];
  ASSERT_OK(device_.Run(Zero(elsewhere, 4), DeviceQueue::kCompute));
  EXPECT_THAT(log_.problems, ElementsAre(HasSubstr("no allocation")));
}

TEST_F(CheckingDeviceTest, FindsWritesThatAreNotTold) {
  DeviceOp copy = Copy(a_, b_);
  ASSERT_OK(device_.Run(Zero(a_), DeviceQueue::kCompute));
  copy.operands[1].access = Access::kRead;
  ASSERT_OK(device_.Run(Zero(b_), DeviceQueue::kCompute));
  ASSERT_OK(device_.Synchronize(DeviceQueue::kCompute));
  a_[0] = 5;  // Otherwise the copy would change nothing.
  log_.problems.clear();
  ASSERT_OK(device_.Run(copy, DeviceQueue::kCompute));
  ASSERT_OK(device_.Synchronize(DeviceQueue::kCompute));
  EXPECT_THAT(log_.problems, ElementsAre(HasSubstr("does not say so")));
}

TEST_F(CheckingDeviceTest, FindsAHostThatChangesWhatIsNotYetCopied) {
  std::vector<float> host(16, 1.0f);
  DeviceOp copy = Copy(host.data(), a_);
  copy.operands[0].host = true;
  ASSERT_OK(device_.Run(copy, DeviceQueue::kCopy));
  host[3] = 2;
  ASSERT_OK(device_.Synchronize(DeviceQueue::kCopy));
  EXPECT_THAT(log_.problems, ElementsAre(HasSubstr("the host's memory changed")));
}

// Skips one kind of the backend's waits.
class ForgetfulDevice final : public ForwardingDevice {
 public:
  enum class Forgets { kNothing, kStreamWaits, kHostWaits };
  ForgetfulDevice(std::unique_ptr<Device> device, const Forgets& forgets)
      : ForwardingDevice(std::move(device)), forgets_(forgets) {}
  absl::Status Wait(DeviceEvent event, DeviceQueue queue) override {
    if (forgets_ == Forgets::kStreamWaits) return absl::OkStatus();
    return device().Wait(event, queue);
  }
  absl::Status Synchronize(DeviceQueue queue) override {
    if (forgets_ == Forgets::kHostWaits) return absl::OkStatus();
    return device().Synchronize(queue);
  }
  absl::Status Await(DeviceEvent event) override {
    if (forgets_ == Forgets::kHostWaits) return absl::OkStatus();
    return device().Await(event);
  }

 private:
  const Forgets& forgets_;
};

struct OrderTraining {
  DeviceLog log;
  std::vector<double> losses;
  std::vector<float> parameters;
};

// Trains three steps, one of which reuses a slot. Waits are skipped only in the steps.
void TrainInOrder(ForgetfulDevice::Forgets leaves_out, std::optional<uint64_t> seed,
                  OrderTraining& run) {
  using Forgets = ForgetfulDevice::Forgets;
  Forgets forgets = Forgets::kNothing;
  auto device = std::make_unique<CheckingDevice>(
      std::make_unique<EmulatedDevice>(EmulatedDeviceOptions{.seed = seed}), run.log);
  const absl::StatusOr<std::unique_ptr<DeviceBackend>> backend =
      DeviceBackend::Create(SmallModel(), {.shards = 2, .global_rows = 2, .bf16 = true},
                            std::make_unique<ForgetfulDevice>(std::move(device), forgets));
  ASSERT_OK(backend.status());
  ASSERT_OK((*backend)->SetState(InitialState((*backend)->table())));
  forgets = leaves_out;
  for (size_t step = 0; step < 3; ++step) {
    const absl::StatusOr<StepResult> result = (*backend)->Step(RandomBoards(2, step).rows(), {});
    run.losses.push_back(result.ok() ? result->loss : -1);
  }
  forgets = Forgets::kNothing;
  run.parameters = (*backend)->ReadState().value().parameters;
}

class DeviceOrderTest : public testing::TestWithParam<int> {
 protected:
  // The parameter -1 means that everything runs as late as possible.
  static std::optional<uint64_t> Seed() {
    return GetParam() < 0 ? std::nullopt : std::optional<uint64_t>(GetParam());
  }
};

INSTANTIATE_TEST_SUITE_P(Seeds, DeviceOrderTest, testing::Range(-1, 6));

TEST_P(DeviceOrderTest, EveryAllowedOrderGivesTheSameBits) {
  OrderTraining late, run;
  TrainInOrder(ForgetfulDevice::Forgets::kNothing, std::nullopt, late);
  TrainInOrder(ForgetfulDevice::Forgets::kNothing, Seed(), run);
  EXPECT_THAT(run.log.problems, IsEmpty());
  EXPECT_EQ(run.losses, late.losses);
  EXPECT_EQ(run.parameters, late.parameters);
}

TEST_P(DeviceOrderTest, StepsThatDoNotWaitForTheirBatchAreFound) {
  OrderTraining run;
  TrainInOrder(ForgetfulDevice::Forgets::kStreamWaits, Seed(), run);
  EXPECT_THAT(run.log.problems, Contains(HasSubstr("are in no order")));
}

TEST(DeviceLatenessTest, StepsThatDoNotWaitForTheirBatchLearnSomethingElse) {
  OrderTraining right;
  TrainInOrder(ForgetfulDevice::Forgets::kNothing, std::nullopt, right);
  bool differs = false;
  for (uint64_t seed = 0; seed < 20 && !differs; ++seed) {
    OrderTraining wrong;
    TrainInOrder(ForgetfulDevice::Forgets::kStreamWaits, seed, wrong);
    differs = wrong.parameters != right.parameters;
  }
  EXPECT_TRUE(differs);
}

TEST(DeviceLatenessTest, AHostThatDoesNotWaitIsFound) {
  OrderTraining right, wrong;
  TrainInOrder(ForgetfulDevice::Forgets::kNothing, std::nullopt, right);
  TrainInOrder(ForgetfulDevice::Forgets::kHostWaits, std::nullopt, wrong);
  EXPECT_NE(wrong.losses, right.losses);
  EXPECT_THAT(wrong.log.problems, Contains(HasSubstr("the host's memory changed")));
}

}  // namespace
}  // namespace penstock
