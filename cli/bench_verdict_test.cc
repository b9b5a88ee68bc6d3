#include "cli/bench_verdict.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Nothing is used up.
BenchFigures Easy() {
  return {.local = false,
          .seconds = 10,
          .rows_per_second = 1e6,
          .bytes_per_second = 1e9,
          .wait_share = 0.9,
          .copy_share = 0.3,
          .deciding_share = 0.1,
          .cores_used = 1,
          .cores = 4,
          .link_bytes_per_second = 3e9,
          .servers = {{.address = "a:1",
                       .has_engine = true,
                       .engine = {.load = 0.1, .build = 0, .decode = 0.4, .send = 0.1},
                       .cores_used = 1,
                       .cores = 2}}};
}

TEST(BenchVerdictTest, SaysWhenNothingIsUsedUp) {
  EXPECT_EQ(Judge(Easy()).limit, Limit::kNothing);
  EXPECT_THAT(Judge(Easy()).text, HasSubstr("--look-ahead"));
}

TEST(BenchVerdictTest, ALoaderThatAlwaysDecidesIsTheClientsLimit) {
  BenchFigures figures = Easy();
  figures.deciding_share = 0.9;
  EXPECT_EQ(Judge(figures).limit, Limit::kThisClient);
  EXPECT_THAT(Judge(figures).text, HasSubstr("90 %"));
}

TEST(BenchVerdictTest, SoAreCoresThatAreAllUsed) {
  BenchFigures figures = Easy();
  figures.cores_used = 3.6;
  EXPECT_EQ(Judge(figures).limit, Limit::kThisClient);
}

TEST(BenchVerdictTest, ALinkThatCarriesNoMoreIsTheLimit) {
  BenchFigures figures = Easy();
  figures.link_bytes_per_second = 1.2e9;
  EXPECT_EQ(Judge(figures).limit, Limit::kLink);
  figures.link_bytes_per_second = 1.3e9;
  EXPECT_EQ(Judge(figures).limit, Limit::kNothing);
  figures.link_bytes_per_second = 0;  // Not measured.
  EXPECT_EQ(Judge(figures).limit, Limit::kNothing);
}

TEST(BenchVerdictTest, ServersThatDecodeAllTheTimeNeedCompany) {
  BenchFigures figures = Easy();
  figures.servers[0].engine.decode = 0.7;
  EXPECT_EQ(Judge(figures).limit, Limit::kServers);
  EXPECT_THAT(Judge(figures).text, AllOf(HasSubstr("90 %"), HasSubstr("Add servers")));
}

TEST(BenchVerdictTest, ServersThatLoadAllTheTimeNeedMemory) {
  BenchFigures figures = Easy();
  figures.servers[0].engine = {.load = 0.6, .build = 0, .decode = 0.3, .send = 0};
  EXPECT_EQ(Judge(figures).limit, Limit::kReading);
  EXPECT_THAT(Judge(figures).text, HasSubstr("--memory-budget"));
}

TEST(BenchVerdictTest, OneBusyServerOfManyIsNotTheFleet) {
  BenchFigures figures = Easy();
  figures.servers[0].engine.decode = 0.8;
  figures.servers.push_back({.address = "b:1", .has_engine = true, .engine = {}});
  EXPECT_EQ(Judge(figures).limit, Limit::kNothing);
}

TEST(BenchVerdictTest, ServersThatToldNothingAreNotJudged) {
  BenchFigures figures = Easy();
  figures.servers[0].engine.decode = 0.9;
  figures.servers[0].has_engine = false;
  EXPECT_EQ(Judge(figures).limit, Limit::kNothing);
}

TEST(BenchVerdictTest, LocallyTheProcessIsTheLimit) {
  BenchFigures figures = Easy();
  figures.local = true;
  figures.servers.clear();
  figures.link_bytes_per_second = 1e9;  // Memory is no link.
  EXPECT_EQ(Judge(figures).limit, Limit::kNothing);
  figures.cores_used = 3.9;
  EXPECT_EQ(Judge(figures).limit, Limit::kThisProcess);
}

}  // namespace
}  // namespace penstock
