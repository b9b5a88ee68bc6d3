#include "trainer/cuda/cupti_recorder.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/cuda/cuda_libraries.h"
#include "trainer/cuda/open_cupti.h"
#include "trainer/cuda/testing/fake_cupti.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// Long enough for any machine; the wait ends as soon as the buffers are back.
constexpr CuptiOptions kPatient{.patience = std::chrono::minutes(2)};

class CuptiRecorderTest : public testing::Test {
 protected:
  CuptiRecorderTest() { fake_.Reset(); }

  absl::StatusOr<std::unique_ptr<CuptiRecorder>> Open(const CuptiOptions& options = kPatient) {
    return OpenCuptiFrom(CuptiSpec(), {PENSTOCK_FAKE_CUPTI}, options);
  }
  void Start(const CuptiOptions& options = kPatient) {
    ASSERT_OK_AND_ASSIGN(recorder_, Open(options));
    recorder_->NameStreams({{reinterpret_cast<void*>(7), "compute"}});
    ASSERT_OK(recorder_->Start());
  }
  // Queues a kernel of launch `launch`; times are microseconds from now.
  void Kernel(size_t launch, uint32_t stream, const char* name, int begin = 0, int end = 1) {
    ASSERT_OK(recorder_->Begin(launch, 0, "what"));
    const uint64_t now = fake_.Now();
    fake_.Kernel(fake_.Call(), stream, name, now + 1000 * begin, now + 1000 * end, /*node=*/1);
    ASSERT_OK(recorder_->End());
  }
  static std::vector<std::string> NamesOf(const DeviceRecords& records) {
    std::vector<std::string> names;
    for (const DeviceWork& work : records.work) names.push_back(records.names[work.name]);
    return names;
  }

  FakeCupti& fake_ = FakeCupti::At(PENSTOCK_FAKE_CUPTI "/libcupti.so.13");
  std::unique_ptr<CuptiRecorder> recorder_;
};

TEST_F(CuptiRecorderTest, TellsWhatStreamsDid) {
  Start();
  const Tracer::Clock::time_point before = Tracer::Clock::now();
  Kernel(3, 7, "_ZN8penstock4cuda4GeluIfEEvPKT_PS2_", 5, 9);
  const uint64_t now = fake_.Now();
  fake_.Copy(fake_.Call(), 8, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 4096, now, now + 2000);
  fake_.Fill(fake_.Call(), 7, 64, now, now + 1000);
  fake_.Overhead(1000, 3500);
  ASSERT_OK_AND_ASSIGN(const DeviceRecords records, recorder_->Stop());
  const Tracer::Clock::time_point after = Tracer::Clock::now();
  EXPECT_EQ(records.source, "CUPTI API 130001");
  EXPECT_TRUE(records.every_kernel);
  EXPECT_THAT(NamesOf(records), ElementsAre("Gelu<float>", "copy host to device", "fill"));
  EXPECT_THAT(records.streams, ElementsAre("compute", "stream 8"));
  const DeviceWork& gelu = records.work[0];
  EXPECT_EQ(gelu.launch, 3u);
  EXPECT_TRUE(gelu.in_graph);
  EXPECT_NEAR(static_cast<double>((gelu.end - gelu.begin).count()), 4000, 100);
  // The error of the pairing of the clocks is less than this.
  constexpr std::chrono::milliseconds kClose(1);
  EXPECT_GE(gelu.begin, before - kClose);
  EXPECT_LE(gelu.begin, after + kClose);
  EXPECT_EQ(records.work[1].launch, kNoLaunch);
  EXPECT_EQ(records.work[1].bytes, 4096u);
  EXPECT_EQ(records.overhead, std::chrono::nanoseconds(2500));
  ASSERT_THAT(records.calls, SizeIs(3));
  EXPECT_EQ(records.names[records.calls[0].name], "cudaLaunchKernel");
  EXPECT_EQ(records.calls[0].correlation, gelu.correlation);
  EXPECT_THAT(records.notes, IsEmpty());
  EXPECT_EQ(records.dropped + records.untimed, 0u);
}

TEST_F(CuptiRecorderTest, RecordsFromStartToStopAlone) {
  ASSERT_OK_AND_ASSIGN(recorder_, Open());
  EXPECT_TRUE(fake_.subscribed());
  EXPECT_FALSE(fake_.recording());
  fake_.Kernel(fake_.Call(), 7, "before", 1, 2);
  ASSERT_OK(recorder_->Start());
  EXPECT_TRUE(fake_.recording());
  Kernel(0, 7, "in between");
  ASSERT_OK_AND_ASSIGN(const DeviceRecords records, recorder_->Stop());
  EXPECT_FALSE(fake_.recording());
  EXPECT_THAT(NamesOf(records), ElementsAre("in between"));
  recorder_.reset();
  EXPECT_FALSE(fake_.subscribed());
}

TEST_F(CuptiRecorderTest, BuffersMayComeBackLateOnAnotherThread) {
  Start({.buffer_bytes = 1024, .patience = std::chrono::minutes(2)});
  fake_.set_completion(FakeCupti::Completion::kAfterFlush);
  for (int i = 0; i < 100; ++i) Kernel(0, 7, "k");
  ASSERT_OK_AND_ASSIGN(const DeviceRecords records, recorder_->Stop());
  EXPECT_THAT(records.work, SizeIs(100));
  EXPECT_THAT(records.notes, IsEmpty());
}

TEST_F(CuptiRecorderTest, BuffersThatDoNotComeBackAreMissedAndForgotten) {
  Start({.patience = std::chrono::milliseconds(1)});
  fake_.set_completion(FakeCupti::Completion::kNever);
  Kernel(0, 7, "lost");
  ASSERT_OK_AND_ASSIGN(const DeviceRecords records, recorder_->Stop());
  EXPECT_THAT(records.work, IsEmpty());
  EXPECT_THAT(records.notes, ElementsAre(HasSubstr("CUPTI did not return 1 buffers of records")));
  recorder_.reset();
  // The buffer comes back during a later recording, and is not part of it.
  Start();
  Kernel(0, 7, "seen");
  fake_.ReturnHeld();
  fake_.set_completion(FakeCupti::Completion::kAtFlush);
  ASSERT_OK_AND_ASSIGN(const DeviceRecords later, recorder_->Stop());
  EXPECT_THAT(NamesOf(later), ElementsAre("seen"));
}

TEST_F(CuptiRecorderTest, SkipsKindsThatItDoesNotKnow) {
  Start();
  fake_.Unknown();
  Kernel(0, 7, "k");
  fake_.Unknown();
  ASSERT_OK_AND_ASSIGN(const DeviceRecords records, recorder_->Stop());
  EXPECT_THAT(NamesOf(records), ElementsAre("k"));
}

TEST_F(CuptiRecorderTest, ARecordThatCannotBeReadEndsItsBufferAlone) {
  Start({.buffer_bytes = 512, .patience = std::chrono::minutes(2)});
  Kernel(0, 7, "kept");
  fake_.Broken();
  for (int i = 0; i < 4; ++i) Kernel(0, 7, "of another buffer");
  ASSERT_OK_AND_ASSIGN(const DeviceRecords records, recorder_->Stop());
  EXPECT_THAT(NamesOf(records), testing::Contains("of another buffer"));
  EXPECT_THAT(records.notes,
              ElementsAre(HasSubstr("1 buffers of CUPTI's records contain an unreadable record")));
}

TEST_F(CuptiRecorderTest, TakesRecordsInAnyOrder) {
  Start();
  const uint64_t now = fake_.Now();
  fake_.Kernel(fake_.Call(), 7, "late", now + 1'000'000, now + 2'000'000);
  fake_.Kernel(fake_.Call(), 7, "early", now, now + 500'000);
  ASSERT_OK_AND_ASSIGN(const DeviceRecords records, recorder_->Stop());
  EXPECT_LT(records.work[1].begin, records.work[0].begin);
}

TEST_F(CuptiRecorderTest, CountsWhatFoundNoRoomAndWhatHasNoTimes) {
  Start({.buffer_bytes = 512, .most_buffers = 2, .patience = std::chrono::minutes(2)});
  for (int i = 0; i < 10; ++i) fake_.Kernel(fake_.Call(), 7, "k", 0, 0);
  ASSERT_OK_AND_ASSIGN(const DeviceRecords records, recorder_->Stop());
  EXPECT_GT(records.dropped, 0u);
  EXPECT_GT(records.untimed, 0u);
  EXPECT_EQ(records.dropped + records.untimed + records.calls.size(), 20u);
}

TEST_F(CuptiRecorderTest, NamesTheStreamOfNccl) {
  Start();
  Kernel(0, 12, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)");
  Kernel(0, 12, "other");
  Kernel(0, 7, "ncclDevKernel_AllReduce");
  ASSERT_OK_AND_ASSIGN(const DeviceRecords records, recorder_->Stop());
  EXPECT_THAT(records.streams, UnorderedElementsAre("communication, stream 12", "compute"));
  EXPECT_TRUE(records.work[0].communicates);
  EXPECT_FALSE(records.work[1].communicates);
}

TEST_F(CuptiRecorderTest, SaysThatTheClockWasSet) {
  Start();
  Kernel(0, 7, "k");
  fake_.SetClock(60'000'000'000);
  ASSERT_OK_AND_ASSIGN(const DeviceRecords records, recorder_->Stop());
  EXPECT_THAT(records.notes, ElementsAre(HasSubstr("clock was changed")));
}

TEST_F(CuptiRecorderTest, AnotherProfilerKeepsItOut) {
  ASSERT_OK_AND_ASSIGN(recorder_, Open());
  EXPECT_THAT(Open(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("CUPTI API 130001: cuptiSubscribe: "
                                       "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39)"),
                             HasSubstr("run without it"))));
}

TEST_F(CuptiRecorderTest, WithoutThePrivilegeItSaysWhoGivesIt) {
  fake_.Fail("cuptiActivityEnable", CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
  ASSERT_OK_AND_ASSIGN(recorder_, Open());
  EXPECT_THAT(recorder_->Start(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                           AllOf(HasSubstr("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"),
                                                 HasSubstr("CAP_SYS_ADMIN"))));
  EXPECT_FALSE(fake_.recording());
}

TEST_F(CuptiRecorderTest, AKindThatIsRefusedLeavesNoneEnabled) {
  fake_.Fail("cuptiActivityEnable", CUPTI_ERROR_NOT_COMPATIBLE,
             CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  ASSERT_OK_AND_ASSIGN(recorder_, Open());
  EXPECT_THAT(recorder_->Start(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("cuptiActivityEnable")));
  EXPECT_FALSE(fake_.recording());
}

TEST_F(CuptiRecorderTest, DoesWithoutWhatIsOnlyGoodToHave) {
  fake_.Fail("cuptiActivityEnable", CUPTI_ERROR_INVALID_KIND, CUPTI_ACTIVITY_KIND_OVERHEAD);
  Start();
  Kernel(0, 7, "k");
  ASSERT_OK_AND_ASSIGN(const DeviceRecords records, recorder_->Stop());
  EXPECT_THAT(records.work, SizeIs(1));
}

TEST_F(CuptiRecorderTest, ErrorsAreTold) {
  for (const char* function : {"cuptiSubscribe", "cuptiActivityRegisterCallbacks"}) {
    fake_.Fail(function, CUPTI_ERROR_UNKNOWN);
    EXPECT_THAT(Open(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(function)));
    fake_.Reset();
  }
  EXPECT_FALSE(fake_.subscribed());
  fake_.Fail("cuptiGetTimestamp", CUPTI_ERROR_NOT_INITIALIZED);
  ASSERT_OK_AND_ASSIGN(recorder_, Open());
  EXPECT_THAT(recorder_->Start(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("cuptiGetTimestamp")));
  fake_.Reset();
  ASSERT_OK(recorder_->Start());
  fake_.Fail("cuptiActivityPushExternalCorrelationId", CUPTI_ERROR_UNKNOWN);
  EXPECT_THAT(recorder_->Begin(0, 0, ""),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("Push")));
  fake_.Fail("cuptiActivityFlushAll", CUPTI_ERROR_UNKNOWN);
  EXPECT_THAT(recorder_->Stop(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("cuptiActivityFlushAll")));
  EXPECT_FALSE(fake_.recording());
}

TEST_F(CuptiRecorderTest, ARecorderThatIsDroppedStopsRecording) {
  Start();
  Kernel(0, 7, "k");
  recorder_.reset();
  EXPECT_FALSE(fake_.recording());
  EXPECT_FALSE(fake_.subscribed());
}

TEST_F(CuptiRecorderTest, LaunchesOfSeveralThreadsAreToldApart) {
  Start();
  std::jthread other([&] {
    for (int i = 0; i < 100; ++i) Kernel(1, 8, "other");
  });
  for (int i = 0; i < 100; ++i) Kernel(0, 7, "own");
  other.join();
  ASSERT_OK_AND_ASSIGN(const DeviceRecords records, recorder_->Stop());
  ASSERT_THAT(records.work, SizeIs(200));
  for (const DeviceWork& work : records.work) {
    EXPECT_EQ(work.launch, records.names[work.name] == "own" ? 0u : 1u);
  }
}

// Tests the installed library, if there is one. Without a driver it refuses to record.
TEST(InstalledCuptiTest, StartsOrSaysWhyNot) {
  const auto opened = OpenCupti();
  if (absl::IsNotFound(opened.status())) GTEST_SKIP() << opened.status().message();
  if (opened.ok()) {
    const absl::Status started = (*opened)->Start();
    // CUPTI checks privileges, and whether this is a whole GPU, when an activity is enabled.
    if (absl::IsFailedPrecondition(started)) GTEST_SKIP() << started.message();
    ASSERT_OK(started);
    EXPECT_OK((*opened)->Stop().status());
  } else {
    EXPECT_THAT(opened.status(),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("cuptiSubscribe")));
  }
}

}  // namespace
}  // namespace penstock
