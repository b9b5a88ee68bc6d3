#include "server/tokens.h"

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/grpc_log.h"
#include "server/log_limiter.h"
#include "server/testing/captured_log.h"
#include "tests/resource_limit.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kToken[] = "0123456789abcdef";

TEST(TokenTableTest, FindsTokensAndTheirRoots) {
  ASSERT_OK_AND_ASSIGN(TokenTable table,
                       TokenTable::Parse("# comment\n\n0123456789abcdef\r\n"
                                         "  another-token-16 chess ./go//9x9/\n"));
  EXPECT_EQ(table.size(), 2);
  ASSERT_NE(table.Find(kToken), nullptr);
  EXPECT_TRUE(table.Find(kToken)->Allows("anything"));
  ASSERT_NE(table.Find("another-token-16"), nullptr);
  EXPECT_TRUE(table.Find("another-token-16")->Allows("go/9x9/a.tfrecord"));
  EXPECT_EQ(table.Find("0123456789abcdeF"), nullptr);
  EXPECT_EQ(table.Find(""), nullptr);
}

TEST(TokenTableTest, NamesTheLineOfAMistake) {
  for (const char* text :
       {"0123456789abcdef\nshort\n", "0123456789abcdef\n0123456789abcdef\n",
        "0123456789abcdef\nanother-token-16 /etc\n", "0123456789abcdef\nanother-token-16 a/../b\n",
        "0123456789abcdef\nanother-token-\x80\x80\n", "0123456789abcdef\nanother-token-16 .\n"}) {
    EXPECT_THAT(TokenTable::Parse(text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("line 2"), Not(HasSubstr(kToken)))));
  }
  EXPECT_THAT(TokenTable::Parse("# nothing\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no token")));
}

TEST(GrantTest, ARootIsAFolderOrAFileNotAPrefixOfText) {
  const Grant grant{.roots = {"chess/2024"}};
  EXPECT_TRUE(grant.Allows("chess/2024"));
  EXPECT_TRUE(grant.Allows("chess/2024/a.tfrecord"));
  EXPECT_TRUE(grant.Allows("./chess//2024/./a"));
  for (const char* path : {"chess/20245/a", "chess", "chess/2024/../2023/a", "/chess/2024/a", "",
                           "other/chess/2024/a"}) {
    EXPECT_FALSE(grant.Allows(path)) << path;
  }
}

// The table has as many tokens as a file may hold. A quadratic algorithm would be noticed.
TEST(TokenTableTest, ManyTokensAreReadAgainWithTheirGrants) {
  std::string text;
  for (int i = 0; i < 60'000; ++i) absl::StrAppend(&text, 1'000'000'000'000'000 + i, "\n");
  ASSERT_OK_AND_ASSIGN(const TokenTable before, TokenTable::Parse(text));
  ASSERT_OK_AND_ASSIGN(TokenTable after, TokenTable::Parse(absl::StrCat(text, kToken, "\n")));
  after.KeepGrantsOf(before);
  EXPECT_EQ(after.Find("1000000000059999"), before.Find("1000000000059999"));
  EXPECT_EQ(before.Find(kToken), nullptr);
  EXPECT_NE(after.Find(kToken), nullptr);
  EXPECT_THAT(
      TokenTable::Parse(absl::StrCat(text, "1000000000000000\n")),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 60001: this token is also")));
}

class TokenFileTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) {
    const std::string next = path_ + ".next";
    std::ofstream(next) << text;
    std::rename(next.c_str(), path_.c_str());
  }
  TempFolder folder_;
  const std::string path_ = folder_.path() + "/tokens";
};

TEST_F(TokenFileTest, SaysWhatIsWrongWithACredential) {
  Write("0123456789abcdef\n");
  ASSERT_OK_AND_ASSIGN(auto file, TokenFile::Open(path_));
  EXPECT_OK(file->Check("Bearer 0123456789abcdef").status());
  EXPECT_THAT(file->Check(""), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("none was")));
  EXPECT_THAT(file->Check("Basic 0123456789abcdef"),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("Bearer TOKEN")));
  EXPECT_THAT(file->Check("Bearer 0123456789abcdeg"),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       AllOf(HasSubstr("not among"), Not(HasSubstr(kToken)))));
}

TEST_F(TokenFileTest, AChangedFileIsReadAgainAndABrokenOneIsNot) {
  Write("0123456789abcdef\n");
  ASSERT_OK_AND_ASSIGN(auto file, TokenFile::Open(path_));
  Write("a-new-token-of-16\n");
  EXPECT_FALSE(file->Check("Bearer 0123456789abcdef").ok());
  EXPECT_OK(file->Check("Bearer a-new-token-of-16").status());
  Write("short\n");
  EXPECT_OK(file->Check("Bearer a-new-token-of-16").status());
  std::remove(path_.c_str());
  EXPECT_OK(file->Check("Bearer a-new-token-of-16").status());
}

TEST_F(TokenFileTest, AGrantEndsWithItsTokenOrItsRoots) {
  Write("0123456789-first\n0123456789-second open\n");
  ASSERT_OK_AND_ASSIGN(auto file, TokenFile::Open(path_));
  ASSERT_OK_AND_ASSIGN(auto first, file->Check("Bearer 0123456789-first"));
  ASSERT_OK_AND_ASSIGN(auto second, file->Check("Bearer 0123456789-second"));
  Write("0123456789-second open\n0123456789-first\n0123456789-third\n");
  EXPECT_TRUE(file->StillGrants(*first));
  EXPECT_TRUE(file->StillGrants(*second));
  Write("0123456789-second other\n");
  EXPECT_FALSE(file->StillGrants(*first));
  EXPECT_FALSE(file->StillGrants(*second));
  Write("short\n");
  ASSERT_OK_AND_ASSIGN(second, file->Check("Bearer 0123456789-second"));
  EXPECT_TRUE(file->StillGrants(*second));
}

TEST_F(TokenFileTest, AFileThatCouldNotBeReadIsReadWhenItCanBe) {
  Write("0123456789-first\n");
  ASSERT_OK_AND_ASSIGN(auto file, TokenFile::Open(path_));
  ASSERT_OK_AND_ASSIGN(const auto revoked, file->Check("Bearer 0123456789-first"));
  Write("0123456789-second\n");
  {
    const ResourceLimit descriptors(RLIMIT_NOFILE, 0);
    EXPECT_OK(file->Check("Bearer 0123456789-first").status());
    EXPECT_TRUE(file->StillGrants(*revoked));
  }
  EXPECT_FALSE(file->StillGrants(*revoked));
  EXPECT_FALSE(file->Check("Bearer 0123456789-first").ok());
  EXPECT_OK(file->Check("Bearer 0123456789-second").status());
}

TEST_F(TokenFileTest, AFaultIsLoggedOnceHoweverOftenItIsMet) {
  Write("0123456789-first\n");
  ASSERT_OK_AND_ASSIGN(auto file, TokenFile::Open(path_));
  std::remove(path_.c_str());
  const CapturedLog log;
  for (int look = 0; look < 3; ++look) EXPECT_OK(file->Check("Bearer 0123456789-first").status());
  Write("short\n");
  for (int look = 0; look < 3; ++look) EXPECT_OK(file->Check("Bearer 0123456789-first").status());
  EXPECT_THAT(log.LinesWith("[test]"), ElementsAre(HasSubstr("No such file"), HasSubstr("line 1")));
}

TEST_F(TokenFileTest, AMissingFileIsAnErrorAtTheStart) {
  EXPECT_THAT(TokenFile::Open(path_), StatusIs(absl::StatusCode::kNotFound, HasSubstr("tokens")));
}

TEST(LogLimiterTest, OneLineOfAKindAndTheCountOfTheRest) {
  LogLimiter limiter;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(limiter.Allow("a", start), 0);
  EXPECT_EQ(limiter.Allow("a", start), std::nullopt);
  EXPECT_EQ(limiter.Allow("b", start), 0);
  EXPECT_EQ(limiter.Allow("a", start + LogLimiter::kPause), 1);
}

TEST(GrpcLogTest, HandshakesAreExplained) {
  EXPECT_THAT(ExplainHandshake("UNKNOWN:Ssl handshake failed: SSL_ERROR_SSL: error:0A0000C7:SSL "
                               "routines::peer did not return a certificate {tsi_code:10}"),
              HasSubstr("sent no certificate"));
  EXPECT_THAT(
      ExplainHandshake("SSL_ERROR_SSL: error:0A000413:SSL routines::sslv3 alert unsupported "
                       "certificate {tsi_code:10}"),
      HasSubstr("does not allow servers"));
  // OpenSSL sends this alert for a host name that is missing, and for a certificate that is not
  // valid yet.
  EXPECT_THAT(ExplainHandshake("SSL routines::sslv3 alert bad certificate"),
              AllOf(HasSubstr("host name"), HasSubstr("not valid yet by the client's clock")));
  EXPECT_EQ(ExplainHandshake("SSL_ERROR_SSL: error:0A000001:SSL routines::something new {a:1}"),
            "SSL routines::something new");
  EXPECT_EQ(ExplainHandshake("UNKNOWN:Handshake read failed {children:[Socket closed]}"), "");
}

}  // namespace
}  // namespace penstock
