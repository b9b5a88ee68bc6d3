#include "base/tls/pem_files.h"

#include <openssl/err.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
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
  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
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

TEST_F(PemFilesTest, ReadsEveryCertificateOfAFile) {
  PemPaths paths = Pair("a");
  const std::string ca = Read(ca_.cert());
  paths.cert = Text("chain.pem", absl::StrCat(Read(ca_.cert("a")), "A CA:\r\n", ca, "\n \n"));
  paths.ca = Text("bundle.pem", absl::StrCat(ca, Read(ca_.cert("b")), Read(ca_.key("b")), ca));
  EXPECT_OK(LoadPemFiles(paths, absl::Now()).status());
}

TEST_F(PemFilesTest, FindsDamageBehindTheFirstCertificate) {
  const std::string good = Read(ca_.cert());
  const std::string letters = absl::StrReplaceAll(good, {{"\nMII", "\n!II"}});
  const std::string bytes = absl::StrReplaceAll(good, {{"\nMII", "\nAAA"}});
  for (const std::string& damaged : {letters, bytes, good.substr(0, good.size() / 2)}) {
    for (const std::string& behind : {std::string(), good}) {
      const std::string bundle = Text("bundle.pem", absl::StrCat(good, damaged, behind));
      EXPECT_THAT(LoadPemFiles({.ca = bundle}, absl::Now()),
                  StatusIs(absl::StatusCode::kInvalidArgument,
                           HasSubstr("bundle.pem: certificate 2 cannot be read (")));
    }
  }
  PemPaths paths = Pair("a");
  paths.cert = Text("chain.pem", absl::StrCat(Read(ca_.cert("a")), letters));
  EXPECT_THAT(LoadPemFiles(paths, absl::Now()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("chain.pem: certificate 2 cannot be read (")));
}

TEST_F(PemFilesTest, TellsDamageFromOlderErrorsOfTheThread) {
  const std::string good = Read(ca_.cert());
  const std::string bundle =
      Text("bundle.pem", absl::StrCat(good, absl::StrReplaceAll(good, {{"\nMII", "\n!II"}})));
  ERR_raise(ERR_LIB_SSL, ERR_R_MALLOC_FAILURE);
  EXPECT_THAT(LoadPemFiles({.ca = bundle}, absl::Now()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("(bad base64 decode)")));
  EXPECT_OK(LoadPemFiles({.ca = ca_.cert()}, absl::Now()).status());
}

TEST_F(PemFilesTest, FindsACertificateWhoseFirstLineIsDamaged) {
  const std::string good = Read(ca_.cert());
  const std::string bundle = Text("bundle.pem", absl::StrCat(good, good.substr(1)));
  EXPECT_THAT(LoadPemFiles({.ca = bundle}, absl::Now()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("but only 1 certificates")));
}

TEST_F(PemFilesTest, NamesTheCertificateThatOpenSslRefuses) {
  ca_.IssueShort("short", "DNS:short");
  EXPECT_THAT(LoadPemFiles(Pair("short"), absl::Now()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("short.pem: OpenSSL refuses certificate 1: ee key too small")));
  ca_.IssueSha1("sha1", "DNS:sha1");
  EXPECT_THAT(LoadPemFiles(Pair("sha1"), absl::Now()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("sha1.pem: OpenSSL refuses certificate 1: ca md too weak")));
  PemPaths paths = Pair("a");
  paths.cert = Text("chain.pem",
                    absl::StrCat(Read(ca_.cert("a")), Read(ca_.cert()), Read(ca_.cert("short"))));
  EXPECT_THAT(LoadPemFiles(paths, absl::Now()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("chain.pem: OpenSSL refuses certificate 3: ca key too small")));
}

TEST_F(PemFilesTest, AnyCertificateMayBeTheCaOfOthers) {
  // Certificates that this CA signed are checked when somebody presents them.
  ca_.IssueShort("short", "DNS:short");
  EXPECT_OK(LoadPemFiles({.ca = ca_.cert("short")}, absl::Now()).status());
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
  // The certificate is replaced first, then its key.
  rename(ca_.cert("b").c_str(), ca_.cert("a").c_str());
  EXPECT_THAT(watcher.Poll(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a.key")));
  rename(ca_.key("b").c_str(), ca_.key("a").c_str());
  ASSERT_OK_AND_ASSIGN(texts, watcher.Poll());
  ASSERT_TRUE(texts.has_value());
  EXPECT_NE(texts->cert, before);
}

}  // namespace
}  // namespace penstock
