#include "base/process/end_process.h"

#include <fcntl.h>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

[[noreturn]] void Hang() {
  while (true) absl::SleepFor(absl::Hours(1));
}

TEST(EndProcessWithinTest, EndsWhatDoesNotEndByItself) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto hang = [] {
    EndProcessWithin(absl::Milliseconds(10), "penstock-train: the GPU hangs");
    while (true) absl::SleepFor(absl::Hours(1));
  };
  EXPECT_EXIT(hang(), testing::ExitedWithCode(1), "^penstock-train: the GPU hangs\n$");
}

void EndWith3(std::function<void(const std::string&)> say) {
  LastThread& last = **LastThread::Start(3, std::move(say));
  last.Doing("the first thing");
  last.Doing("the second thing");
  last.EndWithin(absl::Hours(1));
  last.EndWithin(absl::Milliseconds(10));
  last.EndWithin(absl::Hours(1));
  Hang();
}

TEST(LastThreadTest, SaysWhatTheProcessDoesAndEndsIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto say = [](const std::string& doing) {
    std::fprintf(stderr, "hangs: %s", doing.c_str());
  };
  EXPECT_EXIT(EndWith3(say), testing::ExitedWithCode(3), "^hangs: the second thing$");
}

TEST(LastThreadTest, EndsItAlsoWhereSayingSoHangs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(EndWith3([](const std::string&) { Hang(); }), testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace penstock
