#include "client/flags/source_flags.h"
#include "CLI/CLI.hpp"

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

class SourceFlagsTest : public ::testing::Test {
 protected:
  SourceFlagsTest() { AddSourceFlags(app_, flags_); }

  // Returns the loader's options for these arguments.
  absl::StatusOr<LoaderOptions> Parse(const std::string& arguments) {
    app_.parse(arguments);
    LoaderOptions options;
    absl::Status status = FillLoaderOptions(flags_, options);
    if (!status.ok()) return status;
    return options;
  }
  absl::Status Check(const std::string& arguments) {
    absl::StatusOr<LoaderOptions> options = Parse(arguments);
    return options.ok() ? CheckSource(*options, warnings_) : options.status();
  }

  CLI::App app_;
  SourceFlags flags_;
  std::vector<std::string> warnings_;
};

TEST_F(SourceFlagsTest, AreTheLoadersOwnDefaults) {
  ASSERT_OK_AND_ASSIGN(const LoaderOptions options, Parse(""));
  const LoaderOptions defaults;
  EXPECT_EQ(options.servers, defaults.servers);
  EXPECT_EQ(options.plan.lanes, defaults.plan.lanes);
  EXPECT_EQ(options.plan.window_chunks, defaults.plan.window_chunks);
  EXPECT_EQ(options.plan.shuffle, defaults.plan.shuffle);
  EXPECT_EQ(options.remainder,
            Remainder::kDrop);  // Whatever the split; programs say what is left out.
  EXPECT_EQ(options.look_ahead_bytes, defaults.look_ahead_bytes);
  EXPECT_EQ(options.server_timeout, defaults.server_timeout);
  EXPECT_EQ(options.network.shared_memory, defaults.network.shared_memory);
  EXPECT_FALSE(options.network.tls.has_value());
}

TEST_F(SourceFlagsTest, EachReachesTheLoader) {
  ASSERT_OK_AND_ASSIGN(
      const LoaderOptions options,
      Parse("--servers a:1,b:2 --data-root d --no-shuffle --lanes 4 --window-chunks 3 --strip-rows "
            "8 --remainder carry --look-ahead 1MiB --server-timeout 5s --on-error replace "
            "--checksums --no-shm "
            "--connections 2 --tls --tls-ca ca --tls-cert c --tls-key k --tls-server-name s "
            "--token-file t"));
  EXPECT_EQ(options.servers, "a:1,b:2");
  EXPECT_EQ(options.data_root, "d");
  EXPECT_FALSE(options.plan.shuffle);
  EXPECT_EQ(options.plan.lanes, 4u);
  EXPECT_EQ(options.remainder, Remainder::kCarry);
  EXPECT_EQ(options.plan.window_chunks, 3u);
  EXPECT_EQ(options.plan.strip_rows, 8u);
  EXPECT_EQ(options.look_ahead_bytes, uint64_t{1} << 20);
  EXPECT_EQ(options.server_timeout, absl::Seconds(5));
  EXPECT_EQ(options.on_error, OnError::kReplace);
  EXPECT_TRUE(options.checksums);
  EXPECT_FALSE(options.network.shared_memory);
  EXPECT_EQ(options.network.connections, 2u);
  ASSERT_TRUE(options.network.tls.has_value());
  EXPECT_EQ(options.network.tls->ca_file, "ca");
  EXPECT_EQ(options.network.tls->cert_file, "c");
  EXPECT_EQ(options.network.tls->key_file, "k");
  EXPECT_EQ(options.network.tls->server_name, "s");
  EXPECT_EQ(options.network.token_file, "t");
}

TEST_F(SourceFlagsTest, WhatIsOutOfRangeIsRefusedAsItIsParsed) {
  for (const char* arguments : {"--lanes 0", "--lanes -1", "--window-chunks 0", "--strip-rows x",
                                "--connections 17", "--on-error ignore"}) {
    EXPECT_THROW(app_.parse(arguments), CLI::ParseError) << arguments;
  }
}

TEST_F(SourceFlagsTest, AWrongValueNamesItsFlag) {
  using absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(Parse("--look-ahead 64"),
              StatusIs(kInvalidArgument, HasSubstr("--look-ahead: '64' is 64 bytes")));
  EXPECT_THAT(Parse("--look-ahead 1MiB --server-timeout 5"),
              StatusIs(kInvalidArgument, HasSubstr("--server-timeout: ")));
}

TEST_F(SourceFlagsTest, FilesOfTlsNeedTls) {
  for (const char* arguments : {"--tls-ca f", "--tls-server-name s", "--tls-cert c --tls-key k"}) {
    CLI::App app;
    SourceFlags flags;
    AddSourceFlags(app, flags);
    app.parse(arguments);
    EXPECT_THAT(ToNetworkOptions(flags.network),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("need --tls")))
        << arguments;
  }
  EXPECT_THAT(Parse("--tls --tls-key k"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("must be given together")));
}

TEST_F(SourceFlagsTest, ATokenFileWithoutATokenIsNamed) {
  const TempFolder folder;
  const std::string file = folder.Write("token", "# none\n");
  EXPECT_THAT(Check("--servers a:1 --token-file " + file),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--token-file: " + file)));
  EXPECT_OK(Check("--servers local:"));
}

TEST_F(SourceFlagsTest, APemFileThatCannotBeUsedIsNamedWithItsFlag) {
  const TempFolder folder;
  const std::string none = folder.File("none"), text = folder.Write("text", "no certificate\n");
  EXPECT_THAT(Check("--servers a:1 --tls --tls-ca " + none),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("--tls-ca: " + none), HasSubstr("; give the PEM file"))));
  EXPECT_THAT(Check("--servers a:1 --tls --tls-ca " + text),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--tls-ca: " + text)));
}

TEST_F(SourceFlagsTest, SoIsACertificate) {
  const TempFolder folder;
  const std::string none = folder.File("none");
  EXPECT_THAT(Check("--servers a:1 --tls --tls-key k --tls-cert " + none),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("--tls-cert, --tls-key: " + none)));
}

TEST_F(SourceFlagsTest, ADataRootBesideServersIsWarnedOf) {
  EXPECT_OK(Check("--data-root d"));
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_OK(Check("--servers a:1 --data-root d"));
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("--data-root has no effect here")));
}

}  // namespace
}  // namespace penstock
