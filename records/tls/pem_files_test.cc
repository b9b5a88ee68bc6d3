#include "records/tls/pem_files.h"

#include <sys/stat.h>

#include <fstream>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"
#include "tests/test_certificates.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PemFilesTest : public ::testing::Test {
 protected:
  PemFilesTest() {
    ca_.Issue("a", "DNS:a");
    ca_.Issue("b", "DNS:b");
    for (const char* name : {"a", "b"}) chmod(ca_.key(name).c_str(), 0600);
  }
  std::string Text(const std::string& name, const std::string& text) {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  PemPaths Pair(const std::string& name) { return {.cert = ca_.cert(name), .key = ca_.key(name)}; }

  TempFolder folder_;
  TestAuthority ca_{folder_.path(), "ca"};
};

TEST_F(PemFilesTest, ReadsACertificateItsKeyAndACa) {
  PemPaths paths = Pair("a");
  paths.ca = ca_.cert();
  ASSERT_OK_AND_ASSIGN(PemTexts texts, LoadPemFiles(paths, absl::Now()));
  EXPECT_THAT(texts.cert, HasSubstr("BEGIN CERTIFICATE"));
  EXPECT_THAT(texts.key, HasSubstr("PRIVATE KEY"));
  EXPECT_THAT(texts.ca, HasSubstr("BEGIN CERTIFICATE"));
  EXPECT_THAT(texts.warnings, IsEmpty());
}

TEST_F(PemFilesTest, NamesTheFileThatIsMissingOrNoPem) {
  PemPaths paths = Pair("a");
  paths.cert = folder_.path() + "/missing.pem";
  EXPECT_THAT(LoadPemFiles(paths, absl::Now()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("missing.pem")));
  paths.cert = Text("text.pem", "not PEM");
  EXPECT_THAT(LoadPemFiles(paths, absl::Now()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("text.pem")));
  paths = Pair("a");
  paths.key = ca_.cert("a");
  EXPECT_THAT(LoadPemFiles(paths, absl::Now()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("a.pem"), HasSubstr("no PEM private key"))));
  paths = {.ca = Text("empty.pem", "")};
  EXPECT_THAT(LoadPemFiles(paths, absl::Now()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("empty.pem")));
}

TEST_F(PemFilesTest, AKeyOfAnotherCertificateIsRefused) {
  PemPaths paths = Pair("a");
  paths.key = ca_.key("b");
  EXPECT_THAT(
      LoadPemFiles(paths, absl::Now()),
      StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr("b.key"), HasSubstr("a.pem"))));
}

TEST_F(PemFilesTest, WarnsOfDatesAndOfAKeyThatOthersRead) {
  ca_.Issue("old", "DNS:old", /*days=*/-1);
  chmod(ca_.key("old").c_str(), 0644);
  ASSERT_OK_AND_ASSIGN(PemTexts texts, LoadPemFiles(Pair("old"), absl::Now()));
  EXPECT_THAT(texts.warnings, ElementsAre(HasSubstr("old.pem: the certificate expired on"),
                                          HasSubstr("old.key: every user")));
  ASSERT_OK_AND_ASSIGN(texts, LoadPemFiles(Pair("a"), absl::Now() - absl::Hours(24 * 365)));
  EXPECT_THAT(texts.warnings, ElementsAre(HasSubstr("valid only from")));
}

TEST_F(PemFilesTest, AWatcherGivesEachVersionOnceAndWaitsForTheKey) {
  PemWatcher watcher(Pair("a"));
  ASSERT_OK_AND_ASSIGN(std::optional<PemTexts> texts, watcher.Poll());
  ASSERT_TRUE(texts.has_value());
  const std::string before = texts->cert;
  ASSERT_OK_AND_ASSIGN(texts, watcher.Poll());
  EXPECT_FALSE(texts.has_value());
  // The certificate goes first, then its key.
  rename(ca_.cert("b").c_str(), ca_.cert("a").c_str());
  EXPECT_THAT(watcher.Poll(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a.key")));
  rename(ca_.key("b").c_str(), ca_.key("a").c_str());
  ASSERT_OK_AND_ASSIGN(texts, watcher.Poll());
  ASSERT_TRUE(texts.has_value());
  EXPECT_NE(texts->cert, before);
}

}  // namespace
}  // namespace penstock
