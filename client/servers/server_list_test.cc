#include "client/servers/server_list.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Kind = ServerTerm::Kind;

TEST(ServerListTest, ReadsEveryKindOfTerm) {
  const auto terms = ParseServerList("10.0.0.1:70, [::1]:71,dns:///workers.local.:72,file:/run/p");
  ASSERT_THAT(terms, IsOk());
  ASSERT_EQ(terms->size(), 4u);
  EXPECT_EQ((*terms)[0].text, "10.0.0.1:70");
  EXPECT_EQ((*terms)[1].text, "[::1]:71");
  EXPECT_EQ((*terms)[2].kind, Kind::kDns);
  EXPECT_EQ((*terms)[2].host, "workers.local.");  // The dot at the end: no domain is appended.
  EXPECT_EQ((*terms)[2].port, 72);
  EXPECT_EQ((*terms)[3].kind, Kind::kPath);
  EXPECT_EQ((*terms)[3].path, "/run/p");
}

TEST(ServerListTest, AFileMayBeAUri) {
  EXPECT_EQ(ParseServerList("file:///run/p").value()[0].path, "/run/p");
  EXPECT_EQ(ParseServerList("file:run/p").value()[0].path, "run/p");
}

TEST(ServerListTest, LocalStandsAlone) {
  EXPECT_EQ(ParseServerList("local:").value()[0].kind, Kind::kLocal);
  EXPECT_THAT(ParseServerList("a:1,local:"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("with other servers")));
}

TEST(ServerListTest, RefusesWhatIsNoServer) {
  for (const char* text : {"", ",", "a", "a:", ":1", "a:0", "a:65536", "a:1,", "::1:70", "a b:1",
                           "[]:1", "dns:a:1", "dns://ns/a:1", "http://a:1", "file:", "a:1\nb:2"}) {
    EXPECT_THAT(ParseServerList(text),
                StatusIs(absl::StatusCode::kInvalidArgument, testing::StartsWith("--servers: ")))
        << text;
  }
}

TEST(ServerListTest, ANameNeedsAPort) {
  EXPECT_THAT(ParseServerList("dns:///workers"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("dns:///workers"), HasSubstr("port"))));
}

TEST(ServerListTest, RefusesATermTwice) {
  EXPECT_THAT(ParseServerList("a:1,b:1,a:1"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a:1 is named twice")));
}

}  // namespace
}  // namespace penstock
