#include "client/servers/server_source.h"

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

}  // namespace
}  // namespace penstock
