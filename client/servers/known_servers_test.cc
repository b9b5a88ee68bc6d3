#include "client/servers/known_servers.h"

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<ServerSet> First(const std::string& servers, absl::Duration timeout) {
  PENSTOCK_ASSIGN_OR_RETURN(const auto known, KnownServers::Follow(servers));
  return known->WaitForFirst(timeout);
}

// Waits until the servers are these. Returns false if they were not within a minute.
bool WaitForAddresses(KnownServers& known, const std::vector<std::string>& addresses) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (known.Now().addresses != addresses) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

TEST(KnownServersTest, WaitsForTheFirstServer) {
  TempFolder folder;
  std::jthread later([&folder] { folder.Write("one", "a:1\n"); });
  ASSERT_OK_AND_ASSIGN(const ServerSet set, First("file:" + folder.path(), absl::Seconds(60)));
  EXPECT_THAT(set.addresses, ElementsAre("a:1"));
}

TEST(KnownServersTest, WaitsForEveryTerm) {
  TempFolder folder;
  folder.Write("one", "a:1\n");
  ASSERT_OK_AND_ASSIGN(const ServerSet set, First("z:1,file:" + folder.path(), absl::Seconds(60)));
  EXPECT_THAT(set.addresses, ElementsAre("a:1", "z:1"));
  EXPECT_THAT(set.problem, IsOk());
}

TEST(KnownServersTest, FollowsThemAsTheyJoinAndLeave) {
  TempFolder folder;
  folder.Write("one", "a:1\n");
  ASSERT_OK_AND_ASSIGN(const auto known, KnownServers::Follow("z:1,file:" + folder.path()));
  EXPECT_TRUE(WaitForAddresses(*known, {"a:1", "z:1"}));
  folder.Write("two", "b:1\n");
  EXPECT_TRUE(WaitForAddresses(*known, {"a:1", "b:1", "z:1"}));
  std::filesystem::remove(folder.File("one"));
  EXPECT_TRUE(WaitForAddresses(*known, {"b:1", "z:1"}));
}

TEST(KnownServersTest, SaysWhatIsMissing) {
  TempFolder folder;
  const std::string file = "file:" + folder.File("nothing");
  ASSERT_OK_AND_ASSIGN(const ServerSet set, First("z:1," + file, absl::Seconds(60)));
  EXPECT_THAT(set.addresses, ElementsAre("z:1"));
  EXPECT_THAT(set.problem, StatusIs(absl::StatusCode::kNotFound, HasSubstr(file)));
}

TEST(KnownServersTest, SaysThatItDidNotWaitForEveryTerm) {
  TempFolder folder;
  const auto found = First("z:1,file:" + folder.File("nothing"), absl::ZeroDuration());
  ASSERT_THAT(found, IsOk());
  EXPECT_THAT(found->addresses, ElementsAre("z:1"));
  // There is a problem whether or not the file was looked for already.
  EXPECT_FALSE(found->problem.ok());
}

TEST(KnownServersTest, SaysWhyThereIsNone) {
  TempFolder folder;
  EXPECT_THAT(First("file:" + folder.File("nothing"), absl::Milliseconds(50)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("50ms")));
}

TEST(KnownServersTest, RefusesWhatCannotBeRead) {
  EXPECT_THAT(KnownServers::Follow("nowhere"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nowhere")));
}

}  // namespace
}  // namespace penstock
