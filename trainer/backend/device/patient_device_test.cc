#include "trainer/backend/device/patient_device.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/backend/device/device_backend.h"
#include "trainer/backend/device/testing/emulated_device.h"
#include "trainer/backend/device/testing/paced_device.h"
#include "trainer/backend/testing/boards.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr size_t kPatientRows = 8;
const ModelConfig kPatientModel = SmallModel();

// Counts calls that would not return while a GPU hangs. While `stalls` returns true, no queued work
// runs.
struct Hang {
  std::function<bool()> stalls = [] { return false; };
  int waits = 0;
};
class HangingDevice final : public ForwardingDevice {
 public:
  explicit HangingDevice(Hang& hang)
      : ForwardingDevice(std::make_unique<StallingDevice>(std::make_unique<EmulatedDevice>(),
                                                          [&hang] { return hang.stalls(); })),
        hang_(hang) {}
  ~HangingDevice() override { ++hang_.waits; }
  absl::Status Synchronize(DeviceQueue queue) override {
    ++hang_.waits;
    return device().Synchronize(queue);
  }
  absl::Status Await(DeviceEvent event) override {
    ++hang_.waits;
    return device().Await(event);
  }
  void FreeHost(void* memory) override {
    ++hang_.waits;
    device().FreeHost(memory);
  }
  void EndGraphs() override {
    ++hang_.waits;
    device().EndGraphs();
  }

 private:
  Hang& hang_;
};

class PatientDeviceTest : public testing::Test {
 protected:
  // A hung GPU's memory stays until the process ends; the test must free this one's.
  ~PatientDeviceTest() override {
    pinned_.reset();
    backend_.reset();
    EXPECT_EQ(hang_.waits > 0, ends_.empty());
    EXPECT_LE(ends_.size(), 1u);
    if (!ends_.empty()) delete device_;
  }

  void Start(const WaitOptions& waits) {
    auto device = std::make_unique<HangingDevice>(hang_);
    device_ = device.get();
    ASSERT_OK_AND_ASSIGN(
        backend_, DeviceBackend::Create(
                      kPatientModel, {.shards = 2, .global_rows = kPatientRows, .bf16 = true},
                      std::make_unique<PatientDevice>(
                          std::move(device), waits,
                          [this](const absl::Status& why) { ends_.push_back(why); })));
    ASSERT_OK(backend_->SetState(TrainState(backend_->table().arena_size())));
    ASSERT_OK(backend_->Step(boards_.rows(), {}).status());
    SlotAllocator& slots = *backend_->slot_allocator();
    pinned_ = {slots.Allocate(64).value(), [&slots](uint8_t* bytes) { slots.Free(bytes, 64); }};
    hang_.waits = 0;
  }

  Hang hang_;
  std::vector<absl::Status> ends_;  // Errors that on_stuck was called with.
  int looks_ = 0;
  HangingDevice* device_ = nullptr;
  std::unique_ptr<DeviceBackend> backend_;
  std::shared_ptr<uint8_t> pinned_;
  const RandomBoards boards_{kPatientRows};
};

TEST_F(PatientDeviceTest, ALongWaitIsToldOfOnce) {
  std::vector<std::string> lines;
  WaitOptions waits;
  waits.late_after = absl::Milliseconds(50);
  waits.report = [&](absl::string_view line) {
    lines.emplace_back(line);
    hang_.stalls = [] { return false; };
  };
  Start(waits);
  lines.clear();
  hang_.stalls = [] { return true; };
  EXPECT_OK(backend_->Step(boards_.rows(), {}).status());
  EXPECT_THAT(lines, ElementsAre(AllOf(HasSubstr("the GPU has not finished its work (stream \"co"),
                                       HasSubstr("for 50ms or longer"))));
  EXPECT_TRUE(ends_.empty());
}

TEST_F(PatientDeviceTest, AStepThatHangsEndsWithAnErrorAndSoDoesAllThatFollows) {
  WaitOptions waits;
  waits.timeout = absl::Milliseconds(500);
  Start(waits);
  hang_.stalls = [] { return true; };
  const auto hangs =
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("within 500ms; look for a line with Xid"));
  EXPECT_THAT(backend_->Step(boards_.rows(), {}), hangs);
  EXPECT_THAT(ends_, ElementsAre(hangs));
  std::vector<float> predictions(kPatientRows);
  EXPECT_THAT(backend_->Predict(boards_.rows(), predictions, kPatientRows), hangs);
  EXPECT_THAT(backend_->State(), hangs);
}

TEST_F(PatientDeviceTest, APredictionThatHangsEndsToo) {
  WaitOptions waits;
  waits.timeout = absl::Milliseconds(500);
  Start(waits);
  hang_.stalls = [] { return true; };
  std::vector<float> predictions(kPatientRows);
  EXPECT_THAT(backend_->Predict(boards_.rows(), predictions, kPatientRows),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("(stream \"compute\") within")));
}

TEST_F(PatientDeviceTest, ReadingTheStateThatHangsEndsToo) {
  WaitOptions waits;
  waits.timeout = absl::Milliseconds(500);
  Start(waits);
  hang_.stalls = [] { return true; };
  EXPECT_THAT(backend_->State(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the GPU hangs")));
}

TEST_F(PatientDeviceTest, WithoutALimitItIsWaitedFor) {
  WaitOptions waits;
  waits.timeout = waits.late_after = absl::InfiniteDuration();
  waits.report = [](absl::string_view line) { ADD_FAILURE() << line; };
  Start(waits);
  hang_.stalls = [this] { return ++looks_ < 5; };
  EXPECT_OK(backend_->Step(boards_.rows(), {}).status());
  EXPECT_GE(looks_, 5);
}

}  // namespace
}  // namespace penstock
