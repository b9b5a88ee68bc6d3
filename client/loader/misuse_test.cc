// A loader under what its caller does wrong.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "client/loader/loader.h"
#include "client/loader/option_names.h"
#include "client/loader/testing/batch_digest.h"
#include "client/loader/testing/chess_dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sanitized.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Returns one allocation, moved by `offset` bytes, or null.
class BadAllocator final : public SlotAllocator {
 public:
  explicit BadAllocator(std::optional<size_t> offset) : offset_(offset) {}

  absl::StatusOr<uint8_t*> Allocate(size_t bytes) override {
    if (!offset_.has_value()) return nullptr;
    memory_ = static_cast<uint8_t*>(std::aligned_alloc(64, bytes + 64));
    return memory_ + *offset_;
  }
  void Free(uint8_t* memory, size_t) override {
    EXPECT_EQ(memory, memory_ + *offset_);
    std::free(std::exchange(memory_, nullptr));
  }
  bool freed() const { return memory_ == nullptr; }

 private:
  const std::optional<size_t> offset_;
  uint8_t* memory_ = nullptr;
};

class MisuseTest : public ::testing::Test {
 protected:
  absl::Status OpenStatus() { return Loader::Open(options_).status(); }

  // The exit code of a child of fork() that runs `run`. A child that hangs is ended by SIGALRM.
  static int InChild(const std::function<bool()>& run) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      _exit(run() ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
  }

  ChessDataset data_;
  LoaderOptions options_ = data_.Options();
};

TEST_F(MisuseTest, AChildOfForkIsRefusedAndMayDestroyTheLoader) {
  ASSERT_OK_AND_ASSIGN(auto loader, Loader::Open(options_));
  Batch held;
  ASSERT_TRUE(loader->Next(held).value());
  const auto use = [&] {
    Batch batch;
    const absl::Status next = loader->Next(batch).status();
    const absl::Status open = OpenStatus();
    const bool empty = loader->stats().batches == 0;
    loader->Close();
    held = Batch();
    loader.reset();
    return absl::IsFailedPrecondition(next) && absl::IsFailedPrecondition(open) && empty &&
           absl::StrContains(next.message(), "child") &&
           absl::StrContains(open.message(), "fork()");
  };
  EXPECT_EQ(InChild(use), 0);
  EXPECT_THAT(loader->Next(held), IsOkAndHolds(true));
  EXPECT_EQ(loader->stats().batches, 2u);
}

TEST_F(MisuseTest, AChildMayOpenALoaderIfNoneWasOpenAtFork) {
  ASSERT_THAT(OpenStatus(), IsOk());
  const auto use = [&] {
    const std::unique_ptr<Loader> loader = Loader::Open(options_).value();
    Batch batch;
    return loader->Next(batch).value();
  };
  EXPECT_EQ(InChild(use), 0);
}

TEST_F(MisuseTest, AReportThatThrowsEndsTheLoader) {
  ASSERT_OK_AND_ASSIGN(
      options_.spec,
      DecodeSpec::Parse("tensor { name: 'x' image { feature: 'd' resize { height: 8 width: 8 } } }",
                        "test"));
  options_.on_error = OnError::kReplace;
  for (const bool standard : {true, false}) {
    options_.report = [standard](absl::string_view) {
      if (standard) throw std::runtime_error("the disk is full");
      throw 7;
    };
    ASSERT_OK_AND_ASSIGN(auto loader, Loader::Open(options_));
    Batch batch;
    EXPECT_THAT(loader->Next(batch),
                StatusIs(absl::StatusCode::kUnknown,
                         HasSubstr(standard ? "report threw: the disk is full" : "report threw")));
  }
}

TEST_F(MisuseTest, MemoryThatThreadsWouldCrashOnIsRefused) {
  BadAllocator null(std::nullopt);
  options_.slot_allocator = &null;
  EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("null")));
  for (const size_t offset : {1, 32}) {
    BadAllocator misaligned(offset);
    options_.slot_allocator = &misaligned;
    EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("64-byte")));
    EXPECT_TRUE(misaligned.freed());
  }
  BadAllocator aligned(64);
  options_.slot_allocator = &aligned;
  EXPECT_OK(OpenStatus());
}

TEST_F(MisuseTest, ValuesThatAreNoEnumeratorsAreRefused) {
  const LoaderOptions good = options_;
  options_.dtype = static_cast<WireDtype>(0);
  EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dtype is 0")));
  options_ = good;
  options_.dtype = static_cast<WireDtype>(6);
  EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dtype is 6")));
  options_ = good;
  options_.plan.split = static_cast<Split>(3);
  EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("split is 3")));
  options_ = good;
  options_.remainder = static_cast<Remainder>(3);
  EXPECT_THAT(OpenStatus(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("remainder is 3")));
  options_ = good;
  options_.on_error = static_cast<OnError>(2);
  EXPECT_THAT(OpenStatus(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("on_error is 2")));
}

TEST_F(MisuseTest, ErrorsNameTheOptionsThatThisProgramHas) {
  options_.plan.lanes = 0;
  EXPECT_THAT(OpenStatus(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("plan.lanes is 0")));
  options_.messages_name_flags = true;
  EXPECT_THAT(OpenStatus(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--lanes is 0")));
  options_ = data_.Options();
  options_.start = Cursor();
  EXPECT_THAT(OpenStatus().ToString(), Not(HasSubstr("[")));
}

TEST_F(MisuseTest, NamesOfOptionsAreReplacedAsWholeWords) {
  EXPECT_EQ(NameMembers("give --tls-ca, or drop --tls; (--spec names another)"),
            "give network.tls->ca_file, or drop network.tls; (spec names another)");
  EXPECT_EQ(NameMembers("--remainder short"), "remainder kShort");
  EXPECT_EQ(NameMembers("--lanes"), "plan.lanes");
  for (const char* kept : {"relative to the servers' --data-root", "--specs", "--spec-file",
                           "the server's --tls-cert file", "index with --chunk-size", "--", ""}) {
    EXPECT_EQ(NameMembers(kept), kept);
  }
}

// All slots are held, so no batch can become ready.
TEST_F(MisuseTest, AWaitThatCannotEndEndsAtItsTimeout) {
  options_.look_ahead_bytes = 1;  // This leaves two slots.
  ASSERT_OK_AND_ASSIGN(const auto loader, Loader::Open(options_));
  std::vector<Batch> held(loader->stats().slots);
  for (Batch& batch : held) {
    ASSERT_THAT(loader->Next(batch, absl::InfiniteDuration()), IsOkAndHolds(true));
  }
  Batch next;
  for (const absl::Duration timeout : {absl::Milliseconds(2), absl::ZeroDuration()}) {
    EXPECT_THAT(loader->Next(next, timeout), StatusIs(absl::StatusCode::kDeadlineExceeded,
                                                      HasSubstr(absl::FormatDuration(timeout))));
  }
  EXPECT_GE(loader->stats().wait, absl::Milliseconds(2));
  held.clear();
  EXPECT_THAT(loader->Next(next, absl::Minutes(1)), IsOkAndHolds(true));
  EXPECT_EQ(next.step(), 2u);
}

#if defined(__has_feature)
constexpr bool kAsan = __has_feature(address_sanitizer);
#else
constexpr bool kAsan = false;  // Only clang builds with it.
#endif

// Each of these children opens a loader of its own.
class MisuseDeathTest : public MisuseTest {
 protected:
  MisuseDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(MisuseDeathTest, ABatchThatOutlivesItsLoaderIsNamed) {
  const auto use = [this] {
    Batch batch;
    auto loader = Loader::Open(options_).value();
    (void)loader->Next(batch);
    loader.reset();
  };
  EXPECT_DEATH(use(), "1 batches of a loader outlive it");
}

TEST_F(MisuseDeathTest, ElementsOfAnotherTypeAreNamed) {
  TensorView tensor;
  tensor.name = "score";
  tensor.dtype = Dtype::kF32;
  EXPECT_DEATH(tensor.as<double>(), "tensor 'score' has elements of type f32, not f64");
}

TEST_F(MisuseDeathTest, AViewOfAnOldBatchIsFound) {
  options_.check_views = true;
  const auto read = [this] {
    auto loader = Loader::Open(options_).value();
    Batch batch;
    (void)loader->Next(batch);
    const std::span<const uint8_t> old = batch.tensors().front().bytes;
    (void)loader->Next(batch);
    if (old[0] == 0xff && old.back() == 0xff) std::abort();
  };
  EXPECT_DEATH(read(), kAsan ? "use-after-poison" : "");
}

TEST_F(MisuseTest, CheckedViewsChangeNoRow) {
  BatchDigest expected, checked;
  for (const bool check : {false, true}) {
    options_.check_views = check;
    options_.look_ahead_bytes = 1;
    ASSERT_OK_AND_ASSIGN(const auto loader, Loader::Open(options_));
    EXPECT_EQ(loader->stats().slots, check ? 3u : 2u);
    for (Batch batch; loader->Next(batch).value();) (check ? checked : expected).Add(batch);
  }
  EXPECT_EQ(checked.Hex(), expected.Hex());
}

}  // namespace
}  // namespace penstock
