// Tests file: sources with real files and folders.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/io/unique_fd.h"
#include "client/servers/path_look.h"
#include "client/servers/server_source.h"
#include "client/servers/testing/set_recorder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Makes a socket at `path`, like that of --shm-socket, and returns its descriptor.
UniqueFd SocketAt(const std::string& path) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << path;
  return fd;
}

// Looks once at a time, without threads.
class PathLookTest : public ::testing::Test {
 protected:
  ServerSet Look(const std::string& path) {
    if (look_ == nullptr) look_ = std::make_unique<PathLook>(path);
    return look_->Look({});
  }

  TempFolder folder_;
  std::unique_ptr<PathLook> look_;
};

TEST_F(PathLookTest, ReadsAFile) {
  const ServerSet set = Look(folder_.Write("servers", "b:1\na:1 # first\nb:1\n"));
  EXPECT_THAT(set.addresses, ElementsAre("a:1", "b:1"));
  EXPECT_THAT(set.problem, IsOk());
}

TEST_F(PathLookTest, ReadsTheFilesOfAFolder) {
  folder_.Write("one", "a:1\n");
  folder_.Write("two", "a:1\nb:1\n");
  folder_.Write(".two.tmp-7-1", "hidden:1\n");
  folder_.Write("deeper/three", "deep:1\n");
  ASSERT_EQ(mkfifo(folder_.File("pipe").c_str(), 0600), 0);
  const UniqueFd socket = SocketAt(folder_.File("shm"));
  const ServerSet set = Look(folder_.path() + "/");
  EXPECT_THAT(set.addresses, ElementsAre("a:1", "b:1"));
  EXPECT_THAT(set.problem, IsOk());
}

TEST_F(PathLookTest, ASocketIsNoAddressFile) {
  const UniqueFd socket = SocketAt(folder_.File("shm"));
  const ServerSet set = Look(folder_.File("shm"));
  EXPECT_THAT(set.addresses, IsEmpty());
  EXPECT_THAT(set.problem, StatusIs(absl::StatusCode::kInvalidArgument,
                                    HasSubstr("neither a file nor a folder")));
}

TEST_F(PathLookTest, AFileThatVanishedNamesNobody) {
  folder_.Write("one", "a:1\n");
  folder_.Write("two", "b:1\n");
  EXPECT_THAT(Look(folder_.path()).addresses, ElementsAre("a:1", "b:1"));
  std::filesystem::remove(folder_.File("one"));
  EXPECT_THAT(Look(folder_.path()).addresses, ElementsAre("b:1"));
  std::filesystem::remove(folder_.File("two"));
  const ServerSet none = Look(folder_.path());
  EXPECT_THAT(none.addresses, IsEmpty());
  EXPECT_THAT(none.problem, StatusIs(absl::StatusCode::kNotFound, HasSubstr("no address file")));
}

TEST_F(PathLookTest, ARestartedServerReplacesItsAddress) {
  folder_.Write("one", "a:1\n");
  EXPECT_THAT(Look(folder_.path()).addresses, ElementsAre("a:1"));
  folder_.Write("new", "a:2\n");
  std::filesystem::rename(folder_.File("new"), folder_.File("one"));
  EXPECT_THAT(Look(folder_.path()).addresses, ElementsAre("a:2"));
  folder_.Write("one", "a:3\n");  // Written in place, and with the same size.
  EXPECT_THAT(Look(folder_.path()).addresses, ElementsAre("a:3"));
}

TEST_F(PathLookTest, AnInvalidFileKeepsTheServersItNamedLast) {
  folder_.Write("one", "a:1\n");
  folder_.Write("two", "b:1\n");
  Look(folder_.path());
  for (const char* text : {"", "a:1\nc:", "a:1\nc:7", "nonsense\n"}) {
    folder_.Write("one", text);
    const ServerSet set = Look(folder_.path());
    EXPECT_THAT(set.addresses, ElementsAre("a:1", "b:1"));
    EXPECT_THAT(set.problem, StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr(folder_.File("one") + ": ")));
  }
  folder_.Write("one", "a:1\nc:7\n");
  EXPECT_THAT(Look(folder_.path()).addresses, ElementsAre("a:1", "b:1", "c:7"));
}

TEST_F(PathLookTest, AFileThatIsInvalidFromTheStartHoldsUpNoOther) {
  folder_.Write("one", "nonsense\n");
  folder_.Write("two", "b:1\n");
  const ServerSet set = Look(folder_.path());
  EXPECT_THAT(set.addresses, ElementsAre("b:1"));
  EXPECT_THAT(set.problem, StatusIs(absl::StatusCode::kInvalidArgument,
                                    AllOf(HasSubstr("one"), HasSubstr("line 1"))));
}

TEST_F(PathLookTest, AHugeFileIsRefused) {
  const std::string path = folder_.Write("servers", "a:1\n");
  Look(path);
  folder_.Write("servers", std::string(PathLook::kMaxFileBytes + 1, '\n'));
  const ServerSet set = Look(path);
  EXPECT_THAT(set.addresses, ElementsAre("a:1"));
  EXPECT_THAT(set.problem,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("4194304 bytes")));
}

TEST_F(PathLookTest, WhileThePathIsAwayAllStays) {
  folder_.Write("servers/one", "a:1\n");
  Look(folder_.File("servers"));
  std::filesystem::rename(folder_.File("servers"), folder_.File("away"));
  const ServerSet set = Look("");
  EXPECT_THAT(set.addresses, ElementsAre("a:1"));
  EXPECT_THAT(set.problem,
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(folder_.File("servers"))));
  folder_.Write("servers/two", "b:1\n");
  EXPECT_THAT(Look("").addresses, ElementsAre("b:1"));
}

TEST_F(PathLookTest, APathThatIsMissingIsNamed) {
  EXPECT_THAT(Look(folder_.File("nothing")).problem,
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(folder_.File("nothing"))));
}

class PathSourceTest : public ::testing::Test {
 protected:
  void Start(const std::string& path) {
    source_ = MakeServerSource(absl::StrCat("file:", path), options_).value();
    ASSERT_OK(source_->Start(recorder_.Listener()));
  }
  // Leaves only inotify to notice changes.
  void NeverPoll() {
    options_.look_at_path_every = options_.retry_every = absl::Hours(10);
    options_.refresh_gap = absl::Milliseconds(1);
  }

  TempFolder folder_;
  ServerSourceOptions options_;
  SetRecorder recorder_;
  std::unique_ptr<ServerSource> source_;
};

TEST_F(PathSourceTest, InotifyTellsOfAFolder) {
  NeverPoll();
  folder_.Write("one", "a:1\n");
  Start(folder_.path());
  EXPECT_TRUE(recorder_.WaitForAddresses({"a:1"}));
  folder_.Write("two", "b:1\n");
  EXPECT_TRUE(recorder_.WaitForAddresses({"a:1", "b:1"}));
  std::filesystem::remove(folder_.File("one"));
  EXPECT_TRUE(recorder_.WaitForAddresses({"b:1"}));
}

TEST_F(PathSourceTest, InotifyTellsOfAFileThatIsReplaced) {
  NeverPoll();
  const std::string path = folder_.Write("servers", "a:1\n");
  Start(path);
  EXPECT_TRUE(recorder_.WaitForAddresses({"a:1"}));
  folder_.Write("new", "b:1\n");
  std::filesystem::rename(folder_.File("new"), path);
  EXPECT_TRUE(recorder_.WaitForAddresses({"b:1"}));
}

TEST_F(PathSourceTest, AMissingPathIsWaitedFor) {
  options_.retry_every = absl::Milliseconds(10);
  Start(folder_.File("later/servers"));
  EXPECT_TRUE(recorder_.WaitForProblem("later/servers"));
  folder_.Write("later/servers/one", "a:1\n");
  EXPECT_TRUE(recorder_.WaitForAddresses({"a:1"}));
}

TEST_F(PathSourceTest, PollingFindsWhatInotifyDoesNotTell) {
  // A watch on the folder does not see changes of a link's target.
  options_.look_at_path_every = absl::Milliseconds(10);
  const std::string target = folder_.Write("elsewhere/one", "a:1\n");
  std::filesystem::create_directory(folder_.File("servers"));
  std::filesystem::create_symlink(target, folder_.File("servers/one"));
  Start(folder_.File("servers"));
  EXPECT_TRUE(recorder_.WaitForAddresses({"a:1"}));
  folder_.Write("elsewhere/one", "b:22\n");
  EXPECT_TRUE(recorder_.WaitForAddresses({"b:22"}));
}

TEST_F(PathSourceTest, EndsWhileItWaits) {
  NeverPoll();
  Start(folder_.path());
  EXPECT_TRUE(recorder_.WaitForProblem("no address file"));
  source_ = nullptr;
}

}  // namespace
}  // namespace penstock
