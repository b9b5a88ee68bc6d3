#include "cli/stream/bench_verdict.h"

#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/decode/spec.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Returns figures with nothing at its limit.
BenchFigures Easy() {
  return {.setup = {},
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
  EXPECT_THAT(Judge(Easy()).text,
              AllOf(testing::StartsWith("No bottleneck found: "), HasSubstr("--look-ahead")));
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
  figures.link_bytes_per_second = 0;  // The link was not measured.
  EXPECT_EQ(Judge(figures).limit, Limit::kNothing);
}

TEST(BenchVerdictTest, ALinkThatCarriedMoreThanItsProbeIsNotBlamed) {
  BenchFigures figures = Easy();
  figures.link_bytes_per_second = figures.bytes_per_second / 4;
  EXPECT_TRUE(figures.link_probe_disturbed());
  EXPECT_EQ(Judge(figures).limit, Limit::kNothing);
  EXPECT_THAT(Judge(figures).text, testing::StartsWith("Bottleneck unknown: "));
}

// Returns figures in which neither the client nor the servers are busy all the time, but together
// they use the whole machine.
BenchFigures CrowdedMachine(Path path) {
  BenchFigures figures = Easy();
  figures.setup.path = path;
  figures.cores = 2;
  figures.cores_used = 0.6;
  figures.servers[0].cores_used = 1.2;
  figures.cpu = {.of_group = false, .cores = 2, .busy_cores = 1.9};
  return figures;
}

TEST(BenchVerdictTest, ServersAndClientTogetherUseUpTheirMachine) {
  for (Path path : {Path::kSharedMemory, Path::kLoopback}) {
    const BenchVerdict verdict = Judge(CrowdedMachine(path));
    EXPECT_EQ(verdict.limit, Limit::kThisMachine);
    EXPECT_THAT(verdict.text,
                AllOf(HasSubstr("Bottleneck: this machine's CPU. 1.9 of 2 cores were busy"),
                      HasSubstr("0.6 with this process, 1.2 with the servers, 0.1 with the rest"),
                      HasSubstr("Run the servers on machines of their own"),
                      Not(HasSubstr("--look-ahead")), Not(HasSubstr("other programs"))));
  }
  BenchFigures idle = CrowdedMachine(Path::kLoopback);
  idle.cpu.busy_cores = 1.6;
  EXPECT_EQ(Judge(idle).limit, Limit::kNothing);
}

TEST(BenchVerdictTest, OtherProgramsThatUseUpTheMachineAreNamed) {
  BenchFigures figures = CrowdedMachine(Path::kLoopback);
  figures.servers[0].cores_used = 0.3;
  EXPECT_THAT(Judge(figures).text,
              AllOf(HasSubstr("1.0 with the rest"), HasSubstr("run fewer other programs here")));
  figures.setup.path = Path::kNetwork;
  EXPECT_THAT(Judge(figures).text,
              AllOf(HasSubstr("1.3 with the rest"), HasSubstr("Run fewer other programs here"),
                    Not(HasSubstr("servers"))));
  figures.setup.path = Path::kLocal;
  figures.servers.clear();
  EXPECT_EQ(Judge(figures).limit, Limit::kThisMachine);
}

TEST(BenchVerdictTest, SharedMemoryIsNoAdviceForServersThatDecodeAllTheTime) {
  BenchFigures figures = CrowdedMachine(Path::kLoopback);
  figures.servers[0].engine = {.load = 0.01, .build = 0, .decode = 0.93, .send = 0.02};
  EXPECT_EQ(Judge(figures).limit, Limit::kThisMachine);
  EXPECT_THAT(Judge(figures).text, Not(HasSubstr("--shm-socket")));
  figures.cpu.busy_cores = 1;  // The servers have cores of their own, and use all of them.
  EXPECT_EQ(Judge(figures).limit, Limit::kServers);
  EXPECT_THAT(Judge(figures).text, Not(HasSubstr("--shm-socket")));
  figures.servers[0].engine.send = 0.3;
  figures.servers[0].engine.decode = 0.65;
  EXPECT_THAT(Judge(figures).text, HasSubstr("--shm-socket"));
}

TEST(BenchVerdictTest, OnOneMachineCpuLimitsBeforeTheLinkThatItMakes) {
  BenchFigures figures = CrowdedMachine(Path::kLoopback);
  figures.link_bytes_per_second = 1.1e9;
  EXPECT_EQ(Judge(figures).limit, Limit::kThisMachine);
  EXPECT_THAT(Judge(figures).text, HasSubstr("--shm-socket"));
  figures.setup.path = Path::kNetwork;
  EXPECT_EQ(Judge(figures).limit, Limit::kLink);
}

TEST(BenchVerdictTest, AControlGroupThatIsUsedUpIsNamed) {
  BenchFigures figures = CrowdedMachine(Path::kSharedMemory);
  figures.cpu = {.of_group = true, .cores = 1.5, .busy_cores = 1.5};
  EXPECT_THAT(Judge(figures).text,
              AllOf(HasSubstr("Bottleneck: this control group's CPU. 1.5 of 1.5"),
                    HasSubstr("raise the group's limit")));
}

TEST(BenchVerdictTest, ServersThatDecodeAllTheTimeNeedCompany) {
  BenchFigures figures = Easy();
  figures.servers[0].engine.decode = 0.7;
  EXPECT_EQ(Judge(figures).limit, Limit::kServers);
  EXPECT_THAT(Judge(figures).text, AllOf(HasSubstr("90 %"), HasSubstr("Add servers")));
}

// Returns figures of servers on other machines. gRPC and TLS use up their CPU.
BenchFigures BusyNetworkServers() {
  BenchFigures figures = Easy();
  figures.servers[0].engine = {.load = 0, .build = 0, .decode = 0.15, .send = 0.02};
  figures.servers[0].cores_used = 0.9;
  figures.servers[0].cores = 1;
  return figures;
}

TEST(BenchVerdictTest, ServersWhoseCoresAreUsedUpAreTheLimitWhateverTheirThreadsDo) {
  EXPECT_EQ(Judge(BusyNetworkServers()).limit, Limit::kServers);
  EXPECT_THAT(Judge(BusyNetworkServers()).text,
              AllOf(HasSubstr("90 % of their cores"), HasSubstr("busy 17 % of the time"),
                    HasSubstr("15 % decoding"), HasSubstr("gRPC, TLS"), HasSubstr("Add servers"),
                    HasSubstr("--dtype packed"), Not(HasSubstr("--look-ahead"))));
}

TEST(BenchVerdictTest, TheyAreJudgedBeforeTheLinkWhoseProbeCostsThemTheSame) {
  BenchFigures figures = BusyNetworkServers();
  figures.link_bytes_per_second = figures.bytes_per_second;
  EXPECT_EQ(Judge(figures).limit, Limit::kServers);
  figures.link_bytes_per_second = figures.bytes_per_second / 4;  // The probe was disturbed.
  EXPECT_EQ(Judge(figures).limit, Limit::kServers);
  figures.servers[0].cores = 2;
  EXPECT_EQ(Judge(figures).limit, Limit::kNothing);
}

TEST(BenchVerdictTest, CoresThatUnpackChunksNeedMemory) {
  BenchFigures figures = BusyNetworkServers();
  figures.servers[0].engine.load = 0.5;
  EXPECT_EQ(Judge(figures).limit, Limit::kReading);
}

TEST(BenchVerdictTest, CoresOfTheFleetAreTheMeanOfThoseThatTold) {
  BenchFigures figures = BusyNetworkServers();
  figures.servers.push_back({.address = "b:1", .has_engine = false});
  EXPECT_EQ(Judge(figures).limit, Limit::kServers);
  figures.servers.push_back({.address = "c:1", .has_engine = true, .cores_used = 1, .cores = 2});
  EXPECT_EQ(Judge(figures).limit, Limit::kNothing);
}

TEST(BenchVerdictTest, AShareOfACoreIsUsedUpToo) {
  BenchFigures figures = BusyNetworkServers();
  figures.servers[0].cores_used = 0.5;
  EXPECT_EQ(Judge(figures).limit, Limit::kNothing);
  figures.servers[0].cores = 0.5;
  EXPECT_EQ(Judge(figures).limit, Limit::kServers);
}

TEST(BenchVerdictTest, ServersThatLoadAllTheTimeNeedMemory) {
  BenchFigures figures = Easy();
  figures.servers[0].engine = {.load = 0.6, .build = 0, .decode = 0.3, .send = 0};
  EXPECT_EQ(Judge(figures).limit, Limit::kReading);
  EXPECT_THAT(Judge(figures).text, HasSubstr("--memory-budget"));
}

TEST(BenchVerdictTest, ServersThatWaitForStorageAreNotIdleForNothing) {
  BenchFigures figures = Easy();
  figures.servers[0].engine = {.load = 0, .build = 0.05, .decode = 0.1, .send = 0.1, .reads = 12};
  EXPECT_EQ(Judge(figures).limit, Limit::kReading);
  EXPECT_THAT(Judge(figures).text,
              AllOf(HasSubstr("12.0 reads"), HasSubstr("idle 75 %"), HasSubstr("--read-threads")));
  figures.servers[0].engine.reads = 0.5;  // Reads wait only now and then.
  EXPECT_EQ(Judge(figures).limit, Limit::kNothing);
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
  figures.setup.path = Path::kLocal;
  figures.servers.clear();
  figures.link_bytes_per_second = 1e9;  // The path is memory, which is not a link.
  EXPECT_EQ(Judge(figures).limit, Limit::kNothing);
  figures.cores_used = 3.9;
  EXPECT_EQ(Judge(figures).limit, Limit::kThisProcess);
}

TEST(BenchVerdictTest, LocallyThreadsThatAreAllUsedAreTheLimit) {
  BenchFigures figures = Easy();
  figures.setup.path = Path::kLocal;
  figures.servers.clear();
  EXPECT_EQ(Judge(figures).limit, Limit::kNothing);  // The process uses one core of four.
  figures.setup.threads = 1;
  EXPECT_EQ(Judge(figures).limit, Limit::kThisProcess);
  EXPECT_THAT(Judge(figures).text, HasSubstr("Raise --threads"));
}

// Returns the advice for a stream at the link's limit.
std::string LinkAdvice(BenchSetup setup) {
  BenchFigures figures = Easy();
  figures.setup = std::move(setup);
  figures.link_bytes_per_second = 1e9;
  EXPECT_EQ(Judge(figures).limit, Limit::kLink);
  return Judge(figures).text;
}

TEST(BenchVerdictTest, AdviceForALinkFitsTheWay) {
  EXPECT_THAT(LinkAdvice({.path = Path::kNetwork, .connections = 1}),
              AllOf(HasSubstr("Bottleneck: the link."), HasSubstr("faster network"),
                    HasSubstr("--connections 2"), Not(HasSubstr("shm"))));
  EXPECT_THAT(LinkAdvice({.path = Path::kSharedMemory}),
              AllOf(HasSubstr("Bottleneck: shared memory."), Not(HasSubstr("network")),
                    Not(HasSubstr("--connections")), HasSubstr("other machines")));
  EXPECT_THAT(LinkAdvice({.path = Path::kLoopback}),
              AllOf(HasSubstr("--shm-socket"), Not(HasSubstr("network"))));
}

TEST(BenchVerdictTest, RowsOfImagesHaveTheSameBytesWithEveryDtype) {
  const v1::DecodeSpec images = LoadSpec("images-train:72").value();
  EXPECT_FALSE(RowsAreSmaller(images, WireDtype::kI8, WireDtype::kF32));
  const v1::DecodeSpec chess = LoadSpec("chess").value();
  EXPECT_TRUE(RowsAreSmaller(chess, WireDtype::kI8, WireDtype::kF32));
  EXPECT_TRUE(RowsAreSmaller(chess, WireDtype::kPacked, WireDtype::kI8));
  EXPECT_FALSE(RowsAreSmaller(chess, WireDtype::kI8, WireDtype::kI8));
}

TEST(BenchVerdictTest, AdvisesNothingThatIsDone) {
  EXPECT_THAT(LinkAdvice({}), HasSubstr("--dtype packed or i8"));
  EXPECT_THAT(LinkAdvice({.i8_is_smaller = false}), HasSubstr("(--dtype packed)"));
  EXPECT_THAT(LinkAdvice({.packed_is_smaller = false}), HasSubstr("(--dtype i8)"));
  EXPECT_THAT(LinkAdvice({.packed_is_smaller = false, .i8_is_smaller = false}),
              Not(HasSubstr("--dtype")));
  EXPECT_THAT(LinkAdvice({.connections = 2}), Not(HasSubstr("--connections")));
  EXPECT_THAT(LinkAdvice({.connections = 0}), HasSubstr("--connections 4"));
  EXPECT_THAT(LinkAdvice({.no_connection_because = "refused"}),
              AllOf(HasSubstr("a further connection possible (now: refused)"),
                    Not(HasSubstr("--connections"))));
  EXPECT_THAT(LinkAdvice({.path = Path::kLoopback, .shared_memory = false}),
              AllOf(HasSubstr("leave out --no-shm"), Not(HasSubstr("--shm-socket"))));
  EXPECT_THAT(LinkAdvice({.path = Path::kLoopback, .no_shared_memory_because = "no such file"}),
              AllOf(HasSubstr("(now: no such file)"), Not(HasSubstr("--shm-socket"))));
  BenchFigures figures = Easy();
  figures.setup.packed_is_smaller = figures.setup.i8_is_smaller = false;
  figures.servers[0].engine.decode = 0.7;
  EXPECT_THAT(Judge(figures).text, AllOf(HasSubstr("Add servers"), Not(HasSubstr("--dtype"))));
  figures.cores_used = 3.9;
  EXPECT_THAT(Judge(figures).text, AllOf(HasSubstr("more ranks"), Not(HasSubstr("--dtype"))));
}

}  // namespace
}  // namespace penstock
