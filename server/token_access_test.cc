// Tests what a client needs to be let in, and what it may then see.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/health.grpc.pb.h"
#include "server/failure_log.h"
#include "server/testing/captured_log.h"
#include "server/testing/limits_fixture.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;

class TokenTest : public LimitsTest {
 protected:
  TokenTest() {
    folder_.Write("open/a", ManifestText("of everyone's"));
    folder_.Write("closed/a", ManifestText("of some"));
    tokens_ = folder_.Write("tokens",
                            "0123456789-everything\n0123456789-someone open\n"
                            "0123456789-another open\n");
    StartServer({}, tokens_);
  }
  v1::ServerStats StatsShownTo(const std::string& token) {
    grpc::ClientContext context;
    context.AddMetadata("authorization", absl::StrCat("Bearer 0123456789-", token));
    v1::ServerStats stats;
    EXPECT_OK(ToStatus(stub_->Stats(&context, {}, &stats)));
    return stats;
  }
  std::vector<std::string> ClientsShownTo(const std::string& token) {
    const v1::ServerStats stats = StatsShownTo(token);
    std::vector<std::string> clients;
    for (const v1::StreamStats& stream : stats.stream()) clients.push_back(stream.client());
    return clients;
  }

  std::string tokens_;
};

TEST_F(TokenTest, HealthNeedsNoneAndEveryOtherCallDoes) {
  grpc::ClientContext health_context;
  grpc::health::v1::HealthCheckResponse health;
  EXPECT_TRUE(
      grpc::health::v1::Health::NewStub(channel_)->Check(&health_context, {}, &health).ok());
  EXPECT_THAT(AskManifest("open/a"),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("bearer")));
  grpc::ClientContext stats_context;
  v1::ServerStats stats;
  EXPECT_EQ(stub_->Stats(&stats_context, {}, &stats).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(stats.ByteSizeLong(), 0);
  grpc::ClientContext stream_context;
  EXPECT_THAT(End(*stub_->Pieces(&stream_context)),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("none was sent")));
}

TEST_F(TokenTest, RootsHoldForManifests) {
  EXPECT_OK(AskManifest("closed/a", "Bearer 0123456789-everything"));
  EXPECT_OK(AskManifest("open/a", "Bearer 0123456789-someone"));
  EXPECT_THAT(AskManifest("closed/a", "Bearer 0123456789-someone"),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("closed/a")));
}

// Two tokens with the same folders are still two clients.
TEST_F(TokenTest, OneThatIsLimitedToFoldersIsShownItsOwnStreamsAlone) {
  const std::vector<std::string> names = {"everything", "someone", "another"};
  std::map<std::string, grpc::ClientContext> contexts;
  std::map<std::string, std::unique_ptr<PieceStream>> streams;
  for (const std::string& name : names) {
    contexts[name].AddMetadata("authorization", absl::StrCat("Bearer 0123456789-", name));
    streams[name] = Begin(contexts[name], name);
  }
  EXPECT_THAT(ClientsShownTo("everything"), UnorderedElementsAreArray(names));
  EXPECT_THAT(ClientsShownTo("someone"), ElementsAre("someone"));
  EXPECT_THAT(ClientsShownTo("another"), ElementsAre("another"));
  // The streams of others are counted all the same.
  EXPECT_EQ(StatsShownTo("someone").totals().streams(), names.size());
  for (const auto& [name, stream] : streams) {
    stream->WritesDone();
    EXPECT_OK(End(*stream));
  }
}

TEST_F(TokenTest, AStreamEndsWhenItsTokenIsTakenBack) {
  grpc::ClientContext gone_context, kept_context;
  gone_context.AddMetadata("authorization", "Bearer 0123456789-everything");
  kept_context.AddMetadata("authorization", "Bearer 0123456789-someone");
  auto gone = Begin(gone_context);
  auto kept = Begin(kept_context);
  folder_.Write("tokens", "0123456789-someone open\n0123456789-newcomer\n");
  EXPECT_THAT(End(*gone), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("was revoked")));
  kept->Write(Window(1, 0, "open/a"));
  kept->WritesDone();
  EXPECT_OK(End(*kept));
}

TEST_F(TokenTest, AWindowOutsideOfTheRootsIsRefusedBeforeTheSessionSeesIt) {
  grpc::ClientContext context;
  context.AddMetadata("authorization", "Bearer 0123456789-someone");
  auto stream = Begin(context);
  stream->Write(Window(1, 0, "closed/a"));
  v1::ServerMessage answer;
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.error().window(), 1);
  EXPECT_EQ(answer.error().code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(answer.error().message(), HasSubstr("closed/a"));
  v1::ClientMessage fetch;
  fetch.mutable_fetch()->set_request(9);
  fetch.mutable_fetch()->set_window(1);
  fetch.mutable_fetch()->set_dtype(v1::I8);
  stream->Write(fetch);
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.error().request(), 9);
  stream->WritesDone();
  EXPECT_OK(End(*stream));
}

TEST_F(TokenTest, WindowsOutsideOfTheRootsAreCountedAndLoggedAsThoseThatFail) {
  CapturedLog log;
  grpc::ClientContext context;
  context.AddMetadata("authorization", "Bearer 0123456789-someone");
  auto stream = Begin(context);
  v1::ServerMessage answer;
  for (uint64_t window = 1; window <= 50; ++window) {
    stream->Write(Window(window, 0, "closed/a"));
    ASSERT_TRUE(stream->Read(&answer));
    v1::ClientMessage release;
    release.mutable_release()->set_window(window);
    stream->Write(release);
  }
  EXPECT_EQ(server_->stats().totals().failed_windows(), 50);
  stream->WritesDone();
  EXPECT_OK(End(*stream));
  server_.reset();
  EXPECT_THAT(log.LinesWith("window refused"), SizeIs(FailureLog::kMaxLogged));
}

TEST_F(TokenTest, WindowsOfManyStreamsDoNotFillTheLog) {
  CapturedLog log;
  for (int i = 0; i < 30; ++i) {
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer 0123456789-someone");
    auto stream = Begin(context);
    for (uint64_t window = 1; window <= FailureLog::kMaxLogged; ++window) {
      stream->Write(Window(window, 0, "closed/a"));
    }
    stream->WritesDone();
    EXPECT_OK(End(*stream));
  }
  server_.reset();
  EXPECT_THAT(log.LinesWith("window refused"),
              SizeIs(AllOf(Ge(200u), Le(199 + log.MostOfAKind()))));
}

}  // namespace
}  // namespace penstock
