#include "cli/terminal/progress.h"

#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class ProgressTest : public ::testing::Test {
 protected:
  ~ProgressTest() override {
    std::fclose(out_);
    std::free(text_);
  }

  ProgressOptions Options(bool terminal, uint64_t total) {
    ProgressOptions options;
    options.label = "packing";
    options.total = total;
    options.out = out_;
    options.terminal = terminal;
    options.now = [this] { return now_; };
    return options;
  }
  void Wait(absl::Duration duration) { now_ += duration; }
  std::string Written() {
    std::fflush(out_);
    return std::string(text_, size_);
  }

 private:
  char* text_ = nullptr;
  size_t size_ = 0;
  std::FILE* out_ = open_memstream(&text_, &size_);
  absl::Time now_ = absl::UnixEpoch();
};

TEST_F(ProgressTest, DrawsABarWithTimeLeftOnATerminal) {
  Progress progress(Options(/*terminal=*/true, /*total=*/4000));
  Wait(absl::Seconds(10));
  progress.Add(1000);
  EXPECT_EQ(Written(),
            "\rpacking [######..................] 25% of 4,000 records, 100 records/s, "
            "0:30 left\x1b[K");
}

TEST_F(ProgressTest, DrawsAtMostTenTimesASecond) {
  Progress progress(Options(true, 4000));
  progress.Add(1);
  EXPECT_EQ(Written(), "");
  Wait(absl::Milliseconds(100));
  progress.Add(1);
  const std::string once = Written();
  Wait(absl::Milliseconds(99));
  progress.Add(1);
  EXPECT_EQ(Written(), once);
}

TEST_F(ProgressTest, WritesPlainLinesElsewhere) {
  Progress progress(Options(/*terminal=*/false, /*total=*/0));
  Wait(absl::Seconds(9));
  progress.Add(500);
  EXPECT_EQ(Written(), "");
  Wait(absl::Seconds(1));
  progress.Add(500);
  EXPECT_EQ(Written(), "packing 1,000 records, 100 records/s\n");
}

TEST_F(ProgressTest, ClearsTheBarAndSumsUpAtTheEnd) {
  Progress progress(Options(true, 4000));
  Wait(absl::Seconds(2));
  progress.Add(4000);
  progress.Finish("4 shards");
  progress.Finish("again");
  EXPECT_THAT(Written(), HasSubstr("\r\x1b[Kpacking: 4,000 records in 2.0 s, 2,000 records/s; "
                                   "4 shards\n"));
  EXPECT_THAT(Written(), ::testing::Not(HasSubstr("again")));
}

TEST_F(ProgressTest, OneRecordIsSingular) {
  Progress progress(Options(/*terminal=*/false, /*total=*/1));
  Wait(absl::Seconds(1));
  progress.Add(1);
  progress.Finish("done");
  EXPECT_EQ(Written(), "packing: 1 record in 1.0 s, 1 record/s; done\n");
}

TEST_F(ProgressTest, ShowsBytesAsSizes) {
  ProgressOptions options = Options(false, uint64_t{4} << 30);
  options.unit = "bytes";
  Progress progress(options);
  Wait(absl::Seconds(10));
  progress.Add(uint64_t{1} << 30);
  EXPECT_THAT(Written(), StartsWith("packing 25% of 4.0 GiB, 102.4 MiB/s, 0:30 left"));
}

}  // namespace
}  // namespace penstock
