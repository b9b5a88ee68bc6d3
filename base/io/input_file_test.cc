#include "base/io/input_file.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr absl::Duration kShort = absl::Milliseconds(1), kLong = absl::Minutes(5);

class InputFileTest : public testing::Test {
 protected:
  std::string MakePipe() {
    const std::string path = folder_.File("pipe");
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    return path;
  }
  static void Write(const UniqueFd& fd, const std::string& text) {
    EXPECT_EQ(write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  TempFolder folder_;
};

// A pipe that is already open, as for `<(command)`.
struct OpenPipe {
  OpenPipe() {
    int fds[2];
    EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
    read = UniqueFd(fds[0]);
    write = UniqueFd(fds[1]);
  }
  std::string path() const { return "/dev/fd/" + std::to_string(read.get()); }

  UniqueFd read, write;
};

TEST_F(InputFileTest, ReadsAFileToItsEnd) {
  const std::string large(100'000, 'x');
  EXPECT_THAT(ReadInput(folder_.Write("a", "text\n"), 5), IsOkAndHolds("text\n"));
  EXPECT_THAT(ReadInput(folder_.Write("a", ""), 5), IsOkAndHolds(""));
  EXPECT_THAT(ReadInput(folder_.Write("a", large), large.size()), IsOkAndHolds(large));
  EXPECT_THAT(ReadInput("/dev/null", 5), IsOkAndHolds(""));
}

TEST_F(InputFileTest, RefusesMoreThanItsLimit) {
  EXPECT_THAT(ReadInput(folder_.Write("a", "text\n"), 4),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("larger than 4 bytes")));
}

TEST_F(InputFileTest, SaysWhatItIsInstead) {
  const std::string socket_path = folder_.File("socket");
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::strncpy(address.sun_path, socket_path.c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_THAT(ReadInput(folder_.path(), 5),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(folder_.path()), HasSubstr("is a folder"))));
  EXPECT_THAT(ReadInput(socket_path, 5),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("socket: is a socket")));
  EXPECT_THAT(ReadInput("/dev/zero", 5),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is a device")));
  EXPECT_THAT(ReadInput(folder_.File("none"), 5),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
}

TEST_F(InputFileTest, APipeThatNobodyWritesIsToldNotAwaitedForEver) {
  EXPECT_THAT(ReadInput(MakePipe(), 5, kShort),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("no program has opened")));
}

TEST_F(InputFileTest, AWriterMayComeLater) {
  const std::string path = MakePipe();
  std::jthread writer([&] { Write(UniqueFd(open(path.c_str(), O_WRONLY | O_CLOEXEC)), "text"); });
  EXPECT_THAT(ReadInput(path, 5, kLong), IsOkAndHolds("text"));
}

TEST_F(InputFileTest, AWriterMayTakeLongerThanItIsAwaited) {
  OpenPipe pipe;
  // The writer is there, and has not written yet.
  ASSERT_OK_AND_ASSIGN(const InputFile input, OpenInput(pipe.path(), kShort));
  Write(pipe.write, "te");
  std::jthread writer([&] {
    Write(pipe.write, "xt");
    pipe.write.Reset();
  });
  EXPECT_THAT(ReadInput(pipe.path(), 5, kLong), IsOkAndHolds("text"));
}

TEST_F(InputFileTest, AWriterMayHaveEndedBefore) {
  OpenPipe pipe;
  Write(pipe.write, "text");
  pipe.write.Reset();
  EXPECT_THAT(ReadInput(pipe.path(), 5, kLong), IsOkAndHolds("text"));
}

TEST_F(InputFileTest, APipeWithoutAnEndEndsAtTheLimit) {
  OpenPipe pipe;
  Write(pipe.write, "longer than five");
  EXPECT_THAT(ReadInput(pipe.path(), 5, kLong),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("5 bytes")));
}

TEST_F(InputFileTest, AnInterruptEndsTheWait) {
  EXPECT_THAT(OpenInput(MakePipe(), kLong, [] { return absl::CancelledError("a signal"); }),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("a signal")));
}

}  // namespace
}  // namespace penstock
