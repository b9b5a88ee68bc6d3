#include "trainer/comm/rank_info.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/comm/local_address.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const Environment kTorchrun = {{"RANK", "3"},
                               {"WORLD_SIZE", "4"},
                               {"LOCAL_RANK", "1"},
                               {"LOCAL_WORLD_SIZE", "2"},
                               {"MASTER_ADDR", "node0"},
                               {"MASTER_PORT", "29500"},
                               {"TORCHELASTIC_RESTART_COUNT", "5"},
                               {"TORCHELASTIC_RUN_ID", "run"}};
const Environment kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                              {"OMPI_COMM_WORLD_SIZE", "2"},
                              {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                              {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                              {"PMIX_NAMESPACE", "777"}};
const Environment kSlurm = {
    {"SLURM_PROCID", "5"},  {"SLURM_STEP_NUM_TASKS", "6"},          {"SLURM_LOCALID", "2"},
    {"SLURM_NODEID", "1"},  {"SLURM_STEP_TASKS_PER_NODE", "3(x2)"}, {"SLURM_JOB_ID", "12"},
    {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NODELIST", "node[03-04]"}};

absl::StatusOr<RankInfo> Find(const Environment& environment, const RankOptions& options = {}) {
  return FindRank(options, environment);
}

Environment Without(Environment environment, const std::string& name) {
  environment.erase(name);
  return environment;
}

Environment With(Environment environment, const Environment& more) {
  environment.insert(more.begin(), more.end());
  return environment;
}

TEST(RankInfoTest, WhatCouldTakeTheJobsPlaceIsNamed) {
  EXPECT_THAT(Find(Without(kOpenMpi, "PMIX_NAMESPACE")).status().message(),
              HasSubstr("PMIX_NAMESPACE or PENSTOCK_RENDEZVOUS"));
  EXPECT_OK(Find(With(Without(kOpenMpi, "PMIX_NAMESPACE"), {{"PENSTOCK_RENDEZVOUS", "h:1"}})));
}

TEST(RankInfoTest, NobodySaysAnything) {
  ASSERT_OK_AND_ASSIGN(const RankInfo info, Find({{"HOME", "/root"}}));
  EXPECT_EQ(info.world_size, 1u);
  EXPECT_EQ(info.source, "alone");
}

TEST(RankInfoTest, Torchrun) {
  ASSERT_OK_AND_ASSIGN(const RankInfo info, Find(kTorchrun));
  EXPECT_EQ(info.rank, 3u);
  EXPECT_EQ(info.world_size, 4u);
  EXPECT_EQ(info.local_rank, 1u);
  EXPECT_EQ(info.local_size, 2u);
  EXPECT_EQ(info.rendezvous, "node0:29500");
  EXPECT_EQ(info.generation, 5u);
  EXPECT_EQ(info.job, "run");
}

TEST(RankInfoTest, ThePortOfTorchrunsAgentIsLeftToIt) {
  ASSERT_OK_AND_ASSIGN(const RankInfo info,
                       Find(With(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}})));
  EXPECT_EQ(info.rendezvous, "node0:29501");
}

TEST(RankInfoTest, AToldRendezvousReplacesTheLaunchers) {
  EXPECT_EQ(Find(With(kTorchrun, {{"PENSTOCK_RENDEZVOUS", "unix-abstract:x"}}))->rendezvous,
            "unix-abstract:x");
}

TEST(RankInfoTest, JobAndStartMayBeToldToRanksOfAnyLauncher) {
  for (const Environment& set : {kOpenMpi, kSlurm}) {
    ASSERT_OK_AND_ASSIGN(
        const RankInfo info,
        Find(With(set, {{"PENSTOCK_JOB", "launch-7"}, {"PENSTOCK_GENERATION", "2"}})));
    EXPECT_EQ(info.job, "launch-7");
    EXPECT_EQ(info.generation, 2u);
  }
  EXPECT_THAT(Find(With(kOpenMpi, {{"PENSTOCK_GENERATION", "x"}})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("PENSTOCK_GENERATION=x must be a whole number")));
}

TEST(RankInfoTest, OpenMpiOnOneHostNeedsNoAddress) {
  ASSERT_OK_AND_ASSIGN(const RankInfo info, Find(kOpenMpi));
  EXPECT_EQ(info.rank, 1u);
  EXPECT_EQ(info.world_size, 2u);
  EXPECT_THAT(info.rendezvous, AllOf(HasSubstr("unix-abstract:"), HasSubstr("777")));
}

TEST(RankInfoTest, OpenMpiOnSeveralHostsIsToldTheAddress) {
  Environment several = kOpenMpi;
  several["OMPI_COMM_WORLD_LOCAL_SIZE"] = "1";
  several["OMPI_COMM_WORLD_LOCAL_RANK"] = "0";
  EXPECT_THAT(Find(several), StatusIs(absl::StatusCode::kInvalidArgument,
                                      AllOf(HasSubstr("PENSTOCK_RENDEZVOUS"), HasSubstr("Open MPI"),
                                            HasSubstr("--rendezvous"))));
  several["PENSTOCK_RENDEZVOUS"] = "node0:7";
  ASSERT_OK_AND_ASSIGN(const RankInfo info, Find(several));
  EXPECT_EQ(info.rendezvous, "node0:7");
}

TEST(RankInfoTest, SlurmMeetsOnTheFirstNode) {
  ASSERT_OK_AND_ASSIGN(const RankInfo info, Find(kSlurm));
  EXPECT_EQ(info.rank, 5u);
  EXPECT_EQ(info.world_size, 6u);
  EXPECT_EQ(info.local_rank, 2u);
  EXPECT_EQ(info.local_size, 3u);
  EXPECT_EQ(info.rendezvous, "node03:27909");  // Computed in Python; versions must agree.
  EXPECT_EQ(info.job, "12.0");
}

TEST(RankInfoTest, ABatchScriptOfSlurmIsNoRank) {
  ASSERT_OK_AND_ASSIGN(const RankInfo info,
                       Find({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_JOB_ID", "1"}}));
  EXPECT_EQ(info.world_size, 1u);
}

TEST(RankInfoTest, PmiAndHorovod) {
  ASSERT_OK_AND_ASSIGN(const RankInfo pmi, Find({{"PMI_RANK", "1"},
                                                 {"PMI_SIZE", "4"},
                                                 {"MPI_LOCALRANKID", "1"},
                                                 {"MPI_LOCALNRANKS", "2"},
                                                 {"PENSTOCK_RENDEZVOUS", "a:1"}}));
  EXPECT_EQ(pmi.source, "PMI");
  EXPECT_EQ(pmi.rendezvous, "a:1");
  ASSERT_OK_AND_ASSIGN(const RankInfo horovod, Find({{"HOROVOD_RANK", "1"},
                                                     {"HOROVOD_SIZE", "2"},
                                                     {"HOROVOD_LOCAL_RANK", "1"},
                                                     {"HOROVOD_LOCAL_SIZE", "2"},
                                                     {"HOROVOD_GLOO_RENDEZVOUS_PORT", "41"}}));
  EXPECT_EQ(horovod.source, "Horovod");
  EXPECT_EQ(horovod.rank, 1u);
}

TEST(RankInfoTest, TfConfigCountsTheChiefFirst) {
  ASSERT_OK_AND_ASSIGN(
      const RankInfo info,
      Find({{"TF_CONFIG",
             R"({"cluster": {"worker": ["a:2", "b:1", "a:3"], "chief": ["a:1"], "ps": ["c:1"]},
                 "task": {"type": "worker", "index": 2}})"}}));
  EXPECT_EQ(info.rank, 3u);
  EXPECT_EQ(info.world_size, 4u);
  EXPECT_EQ(info.local_rank, 2u);
  EXPECT_EQ(info.local_size, 3u);
  EXPECT_EQ(info.rendezvous, "a:1");
}

TEST(RankInfoTest, ATfConfigThatIsNoneIsRefused) {
  for (const char* text : {"", "{", "[]", R"({"cluster": {}, "task": {"type": "ps", "index": 0}})",
                           R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker"}})",
                           R"({"cluster": {"worker": ["a:1"]},
                               "task": {"type": "worker", "index": 4}})"}) {
    EXPECT_THAT(Find({{"TF_CONFIG", text}}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("TF_CONFIG")))
        << text;
  }
}

TEST(RankInfoTest, TheFirstCompleteSetWins) {
  Environment both = With(kTorchrun, kOpenMpi);
  EXPECT_EQ(Find(both)->source, "torchrun");
  EXPECT_EQ(Find(Without(both, "MASTER_ADDR"))->source, "Open MPI");
  EXPECT_EQ(Find(With(kOpenMpi, kSlurm))->source, "Open MPI");
}

TEST(RankInfoTest, AnIncompleteSetNamesWhatIsMissing) {
  for (const auto& [name, value] : kTorchrun) {
    if (name.starts_with("TORCHELASTIC") || name == "RANK") continue;
    EXPECT_THAT(Find(Without(kTorchrun, name)),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("torchrun"), HasSubstr(name))));
  }
}

TEST(RankInfoTest, NumbersThatAreNoneAreNamed) {
  Environment wrong = kTorchrun;
  wrong["WORLD_SIZE"] = "-4";
  EXPECT_THAT(Find(wrong),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("WORLD_SIZE=-4")));
  wrong["WORLD_SIZE"] = "3";
  EXPECT_THAT(Find(wrong),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 3 does not exist")));
}

TEST(RankInfoTest, TheCommandLineComesFirst) {
  ASSERT_OK_AND_ASSIGN(const RankInfo info,
                       Find(kTorchrun, {.rank = 1, .world_size = 2, .rendezvous = "x:1"}));
  EXPECT_EQ(info.source, "--rank");
  EXPECT_EQ(info.rank, 1u);
  EXPECT_EQ(info.rendezvous, "x:1");
  EXPECT_EQ(Find(kTorchrun, {.rendezvous = "x:2"})->rendezvous, "x:2");
  EXPECT_THAT(Find({}, {.rank = 1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--world-size")));
  EXPECT_THAT(Find({}, {.rank = 1, .world_size = 2}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--rendezvous")));
}

// A local size of 2 is the default without --local-size. The host name 2130706433 has the address
// 127.0.0.1, but does not say so.
TEST(LocalAddressTest, ALoopbackAddressIsForRendezvousThatSaySo) {
  auto address = [](const char* rendezvous, uint32_t local_size) {
    return LocalAddress({.world_size = 2, .local_size = local_size, .rendezvous = rendezvous});
  };
  for (const char* here : {"127.0.0.1:29400", "localhost:29400", "unix-abstract:x"}) {
    EXPECT_THAT(address(here, 2), IsOkAndHolds("127.0.0.1")) << here;
  }
  const absl::StatusOr<std::string> outside = address("2130706433:29400", 1);
  if (!outside.ok()) {
    EXPECT_THAT(address("2130706433:29400", 2), IsOkAndHolds("127.0.0.1"));
    GTEST_SKIP() << "this host has no network";
  }
  EXPECT_NE(*outside, "127.0.0.1");
  EXPECT_EQ(address("2130706433:29400", 2), outside);
}

TEST(RankInfoTest, FirstHostOfASlurmList) {
  EXPECT_EQ(FirstHost("node1"), "node1");
  EXPECT_EQ(FirstHost("node1,node2"), "node1");
  EXPECT_EQ(FirstHost("node[03-05,9],other"), "node03");
  EXPECT_EQ(FirstHost("node[7]-ib,x"), "node7-ib");
}

}  // namespace
}  // namespace penstock
