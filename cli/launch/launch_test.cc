#include <csignal>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/command.h"
#include "cli/launch/launch_end.h"
#include "cli/launch/launch_line.h"
#include "cli/launch/remote_launch.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

LaunchLine Line(const std::string& line) {
  return SplitLaunchLine(absl::StrSplit(line, ' ', absl::SkipEmpty()));
}

TEST(LaunchLineTest, TheProgramBeginsAfterTwoDashes) {
  const LaunchLine line = Line("launch --np 4 --verbose -- train --np 3 -- x");
  EXPECT_THAT(line.arguments, ElementsAre("launch", "--np", "4", "--verbose"));
  EXPECT_THAT(line.program, ElementsAre("train", "--np", "3", "--", "x"));
}

TEST(LaunchLineTest, TheLinesOfHorovodrunAndMpirun) {
  LaunchLine line = Line("launch -np 16 -H server1:8,server2:8 -p 2222 --gloo python train.py -x");
  EXPECT_THAT(line.arguments, ElementsAre("launch", "--np", "16", "-H", "server1:8,server2:8", "-p",
                                          "2222", "--gloo"));
  EXPECT_THAT(line.program, ElementsAre("python", "train.py", "-x"));
  line = Line("launch -n 2 -hostfile hosts ./train");
  EXPECT_THAT(line.arguments, ElementsAre("launch", "--np", "2", "--hostfile", "hosts"));
  EXPECT_THAT(line.program, ElementsAre("./train"));
  EXPECT_THAT(Line("launch -cb").arguments, ElementsAre("launch", "--check-build"));
}

TEST(LaunchLineTest, OptionsOfHorovodrunWithoutEffectAreToldOf) {
  const LaunchLine line = Line(
      "launch --log-level DEBUG --fusion-threshold-mb=32 --disable-cache -np 2 --tcp -- train");
  EXPECT_THAT(line.arguments, ElementsAre("launch", "--np", "2"));
  EXPECT_THAT(line.program, ElementsAre("train"));
  EXPECT_THAT(line.notes,
              ElementsAre(HasSubstr("--log-level is ignored: "), HasSubstr("--bucket-size")));
  EXPECT_OK(line.status);
}

TEST(LaunchLineTest, ThoseWithAMeaningHereStay) {
  const LaunchLine line =
      Line("launch --start-timeout 60 -x A -x B=1 -output-filename out -prefix-timestamp -i key x");
  EXPECT_THAT(line.arguments, ElementsAre("launch", "--start-timeout", "60", "-x", "A", "-x", "B=1",
                                          "--output-filename", "out",
                                          "--prefix-output-with-timestamp", "-i", "key"));
  EXPECT_THAT(line.program, ElementsAre("x"));
  EXPECT_THAT(line.notes, IsEmpty());
}

TEST(LaunchLineTest, OptionsOfMpirunAreForIt) {
  const LaunchLine line = SplitLaunchLine(
      {"launch", "-bind-to", "none", "--map-by", "slot", "-mca", "btl", "^openib",
       "--allow-run-as-root", "--mpi-args=--mca pml ob1", "--binding-args", "--rankfile f", "x"});
  EXPECT_EQ(absl::StrJoin(line.mpirun, " "),
            "--bind-to none --map-by slot --mca btl ^openib --mca pml ob1 --rankfile f");
  EXPECT_THAT(line.program, ElementsAre("x"));
  EXPECT_THAT(SplitLaunchLine({"launch", "--mpi-args=-x A='b c'", "x"}).status,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("quotes")));
}

TEST(LaunchLineTest, ElasticOptionsAreRefusedWithTheReason) {
  for (const char* text : {"launch --min-np 2 -np 4 x", "launch --host-discovery-script ./d x",
                           "launch --blacklist-cooldown-range 1 2 --reset-limit=3 x"}) {
    const LaunchLine line = Line(text);
    EXPECT_THAT(line.status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--restarts")))
        << text;
    EXPECT_THAT(line.program, ElementsAre("x"));
  }
}

TEST(LaunchLineTest, OtherCommandsAndNoneAreLeftAlone) {
  EXPECT_THAT(Line("stream -n 2 -- x").arguments, ElementsAre("stream", "-n", "2", "--", "x"));
  EXPECT_THAT(SplitLaunchLine({}).arguments, IsEmpty());
  EXPECT_THAT(Line("launch -np").arguments, ElementsAre("launch", "--np"));
  EXPECT_THAT(Line("launch --").program, IsEmpty());
}

TEST(HostsTest, SlotsAreOneUnlessTold) {
  EXPECT_THAT(ParseHosts("a:2, b"),
              IsOkAndHolds(ElementsAre(LaunchHost{"a", 2}, LaunchHost{"b", 1})));
  for (const char* wrong : {"", "a:", "a:0", "a:x", ":2", "a:2,,b"}) {
    EXPECT_THAT(ParseHosts(wrong), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("host")))
        << wrong;
  }
}

TEST(HostsTest, FilesOfEveryKind) {
  EXPECT_THAT(
      ParseHostfile("# ours\na slots=2 max_slots=4\n\n  b:3\nc # one\n"),
      IsOkAndHolds(ElementsAre(LaunchHost{"a", 2}, LaunchHost{"b", 3}, LaunchHost{"c", 1})));
  EXPECT_THAT(ParseHostfile("# none\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no host")));
}

TEST(HostsTest, RanksFillHostsInOrder) {
  const std::vector<LaunchHost> hosts = {{"a", 2}, {"b", 2}, {"c", 2}};
  EXPECT_THAT(PlaceRanks(hosts, 3),
              IsOkAndHolds(ElementsAre(LaunchHost{"a", 2}, LaunchHost{"b", 1})));
  EXPECT_THAT(PlaceRanks(hosts, 0), IsOkAndHolds(testing::SizeIs(3)));
  EXPECT_THAT(PlaceRanks(hosts, 7), StatusIs(absl::StatusCode::kInvalidArgument,
                                             AllOf(HasSubstr("-np 7"), HasSubstr("6 slots"))));
}

RemoteLaunch TwoHosts() {
  return {.hosts = {{"a", 2}, {"b", 2}},
          .port = 29400,
          .environment = {{"PATH", "/bin"}, {"HOME", "/root"}, {"PENSTOCK_TOKEN_FILE", "/t"}},
          .program = {"penstock-train", "--lr", "0.1"}};
}

TEST(RemoteLaunchTest, MpirunIsToldHostsRendezvousAndVariables) {
  EXPECT_EQ(absl::StrJoin(MpirunLine(TwoHosts()), " "),
            "mpirun -np 4 -H a:2,b:2 --tag-output --bind-to none "
            "-x PATH -x PENSTOCK_TOKEN_FILE "
            "-x PENSTOCK_RENDEZVOUS=a:29400 -x MASTER_ADDR=a -x MASTER_PORT=29400 "
            "penstock-train --lr 0.1");
  RemoteLaunch launch = TwoHosts();
  launch.as_root = true;
  launch.ssh_port = 2222;
  launch.ssh_key = "key";
  launch.interface = "eth0";
  launch.passed_on = {"HOME"};
  launch.output_folder = "out";
  launch.mpirun = {"--bind-to", "core"};
  EXPECT_THAT(absl::StrJoin(MpirunLine(launch), " "),
              AllOf(HasSubstr("--allow-run-as-root"), HasSubstr("-mca plm_rsh_args -p 2222 -i key"),
                    HasSubstr("-mca oob_tcp_if_include eth0"), HasSubstr("-x HOME"),
                    HasSubstr("--output-filename out"), Not(HasSubstr("--bind-to none")),
                    HasSubstr("--bind-to core penstock-train")));
}

TEST(RemoteLaunchTest, SrunIsToldNodesAndTasks) {
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> line, SrunLine(TwoHosts()));
  EXPECT_EQ(absl::StrJoin(line, " "),
            "srun --ntasks=4 --nodes=2 --ntasks-per-node=2 --nodelist=a,b --label "
            "--kill-on-bad-exit=1 "
            "--export=ALL,PENSTOCK_RENDEZVOUS=a:29400,MASTER_ADDR=a,MASTER_PORT=29400 "
            "penstock-train --lr 0.1");
}

TEST(RemoteLaunchTest, ProgramsThatKnowTorchrunGetItsVariables) {
  RemoteLaunch launch = TwoHosts();
  launch.program = {"python", "train.py", "--name", "two words"};
  std::vector<std::string> line = MpirunLine(launch);
  EXPECT_THAT(std::vector<std::string>(line.end() - 8, line.end()),
              ElementsAre("sh", "-c",
                          "export RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE "
                          "LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK "
                          "LOCAL_WORLD_SIZE=$OMPI_COMM_WORLD_LOCAL_SIZE; exec \"$@\"",
                          "sh", "python", "train.py", "--name", "two words"));
  ASSERT_OK_AND_ASSIGN(line, SrunLine(launch));
  EXPECT_THAT(std::vector<std::string>(line.end() - 8, line.end()),
              ElementsAre("sh", "-c",
                          "export RANK=$SLURM_PROCID WORLD_SIZE=4 LOCAL_RANK=$SLURM_LOCALID "
                          "LOCAL_WORLD_SIZE=2; exec \"$@\"",
                          "sh", "python", "train.py", "--name", "two words"));
  launch.passed_on = {"MASTER_ADDR"};
  EXPECT_THAT(absl::StrJoin(MpirunLine(launch), " "), Not(HasSubstr("MASTER_ADDR=")));
  launch.program = {"/opt/bin/penstock-train"};
  EXPECT_EQ(MpirunLine(launch).back(), "/opt/bin/penstock-train");
  EXPECT_THAT(MpirunLine(launch), Not(testing::Contains("sh")));
}

TEST(RemoteLaunchTest, SrunRefusesUnequalHosts) {
  RemoteLaunch launch = TwoHosts();
  launch.hosts[1].slots = 1;
  EXPECT_THAT(SrunLine(launch), StatusIs(absl::StatusCode::kInvalidArgument,
                                         AllOf(HasSubstr("a has 2"), HasSubstr("b 1"))));
}

TEST(LaunchEndTest, TheRankThatALauncherBlamesIsFound) {
  EXPECT_EQ(FindBlame({"[1,0]<stderr>:rank 2 died",
                       "mpirun noticed that process rank 1 with PID 0 "
                       "on node a exited on signal 9 (Killed)."}),
            Blame{1});
  EXPECT_EQ(FindBlame({"  Process name: [[12410,1],13]", "  Exit code:    7"}), Blame{13});
  EXPECT_EQ(FindBlame({"srun: error: tasks 0-1: Killed", "[1,0]<stdout>:task 4: done"}),
            std::nullopt);
}

TEST(LaunchEndTest, SrunSaysHowATaskEnded) {
  EXPECT_EQ(FindBlame({"srun: error: a: task 3: Killed", "srun: error: a: task 0: Terminated"}),
            (Blame{3, 137}));
  EXPECT_EQ(FindBlame({"srun: error: a: task 1: Exited with exit code 7"}), (Blame{1, 7}));
  EXPECT_EQ(FindBlame({"srun: error: a: task 1: Out Of Memory"}), Blame{1});
}

TEST(LaunchEndTest, TheEndIsToldWithItsCode) {
  EXPECT_OK(ToStatus({}, "local"));
  EXPECT_THAT(ToStatus({.failure = RanksEnd::Failure{2, 7, {"no disk"}}}, "local"),
              StatusIs(absl::StatusCode::kAborted,
                       "rank 2 failed with exit code 7; its last lines:\n  no disk"));
  EXPECT_EQ(ExitCode(ToStatus({.failure = RanksEnd::Failure{2, 7, {}}}, "local")), 7);
  EXPECT_EQ(
      ToStatus({.failure = RanksEnd::Failure{0, 1, {"help"}, {"no host"}}}, "mpirun").message(),
      "mpirun failed with exit code 1; its first lines on stderr:\n  no host\nand its last lines:\n"
      "  help");
  for (const int code : {160, 200, 255}) {
    EXPECT_EQ(ToStatus({.failure = RanksEnd::Failure{0, code, {}}}, "local").message(),
              absl::StrCat("rank 0 failed with exit code ", code));
  }
  EXPECT_THAT(ToStatus({.failure = RanksEnd::Failure{0, 128 + SIGRTMIN, {}}}, "local").message(),
              testing::HasSubstr("was ended by signal"));
  const absl::Status killed =
      ToStatus({.failure = RanksEnd::Failure{0, 143, {"srun: error: a: task 3: Killed"}}}, "srun");
  EXPECT_EQ(ExitCode(killed), 137);
  EXPECT_THAT(std::string(killed.message()),
              testing::StartsWith("srun: rank 3 was ended by signal 9 (Killed)"));
  EXPECT_EQ(ExitCode(ToStatus({.failure = RanksEnd::Failure{0, 2, {}}}, "mpirun")), 2);
}

}  // namespace
}  // namespace penstock
