#include "client/servers/server_source.h"

#include <thread>

#include "client/servers/testing/set_recorder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ServerSourceTest, AFixedListIsToldInsideStart) {
  const auto source = MakeServerSource("b:1,a:1").value();
  SetRecorder recorder;
  ASSERT_OK(source->Start(recorder.Listener()));
  EXPECT_THAT(recorder.last().addresses, ElementsAre("a:1", "b:1"));
  EXPECT_THAT(recorder.last().problem, IsOk());
}

TEST(ServerSourceTest, LocalIsAServer) {
  const auto source = MakeServerSource("local:").value();
  SetRecorder recorder;
  ASSERT_OK(source->Start(recorder.Listener()));
  EXPECT_THAT(recorder.last().addresses, ElementsAre("local:"));
}

TEST(ServerSourceTest, RefusesWhatCannotBeRead) {
  EXPECT_THAT(MakeServerSource("dns:///name"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dns:///name")));
}

TEST(ServerSourceTest, NeedNotBeStarted) {
  TempFolder folder;
  EXPECT_THAT(MakeServerSource("dns:///name:1,file:" + folder.path()), IsOk());
}

TEST(ServerSourceTest, MixesFilesAndAddresses) {
  TempFolder folder;
  const auto source = MakeServerSource("z:1,file:" + folder.path()).value();
  SetRecorder recorder;
  ASSERT_OK(source->Start(recorder.Listener()));
  EXPECT_TRUE(recorder.WaitFor([](const ServerSet& set) { return !set.complete; }));
  EXPECT_TRUE(recorder.WaitFor([](const ServerSet& set) { return set.complete; }));
  folder.Write("one", "a:1\n");
  EXPECT_TRUE(recorder.WaitForAddresses({"a:1", "z:1"}));
}

TEST(FindServersTest, WaitsForTheFirstServer) {
  TempFolder folder;
  std::jthread later([&folder] { folder.Write("one", "a:1\n"); });
  ASSERT_OK_AND_ASSIGN(const ServerSet set,
                       FindServers("file:" + folder.path(), absl::Seconds(60)));
  EXPECT_THAT(set.addresses, ElementsAre("a:1"));
}

TEST(FindServersTest, WaitsForEveryTerm) {
  TempFolder folder;
  folder.Write("one", "a:1\n");
  ASSERT_OK_AND_ASSIGN(const ServerSet set,
                       FindServers("z:1,file:" + folder.path(), absl::Seconds(60)));
  EXPECT_THAT(set.addresses, ElementsAre("a:1", "z:1"));
  EXPECT_THAT(set.problem, IsOk());
}

TEST(FindServersTest, SaysWhatIsMissing) {
  TempFolder folder;
  const std::string file = "file:" + folder.File("nothing");
  ASSERT_OK_AND_ASSIGN(const ServerSet set, FindServers("z:1," + file, absl::Seconds(60)));
  EXPECT_THAT(set.addresses, ElementsAre("z:1"));
  EXPECT_THAT(set.problem, StatusIs(absl::StatusCode::kNotFound, HasSubstr(file)));
}

TEST(FindServersTest, SaysThatItDidNotWaitForEveryTerm) {
  TempFolder folder;
  const auto found = FindServers("z:1,file:" + folder.File("nothing"), absl::ZeroDuration());
  ASSERT_THAT(found, IsOk());
  EXPECT_THAT(found->addresses, ElementsAre("z:1"));
  EXPECT_FALSE(found->problem.ok());  // Whether or not the file was looked for already.
}

TEST(FindServersTest, SaysWhyThereIsNone) {
  TempFolder folder;
  EXPECT_THAT(FindServers("file:" + folder.File("nothing"), absl::Milliseconds(50)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("50ms")));
}

}  // namespace
}  // namespace penstock
