// Tests how a server ends, at once or drained, and its health status meanwhile.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/testing/server_fixture.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

TEST_F(ServerTest, StopEndsOpenStreams) {
  StartServer();
  Conversation talk(*stub_);
  talk.Begin();
  server_->Stop();
  server_->Wait();
  EXPECT_FALSE(talk.Finish().ok());
}

TEST_F(ServerTest, DrainTellsStreamsAndRefusesNewOnes) {
  StartServer();
  Conversation old(*stub_);
  old.Begin();
  EXPECT_TRUE(IsServing());
  server_->Drain(absl::Seconds(30));
  EXPECT_EQ(old.Read().draining().grace_ms(), 30000u);
  EXPECT_FALSE(IsServing());
  Conversation late(*stub_);
  late.Hello();
  EXPECT_THAT(late.Finish(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("draining")));
  old.CloseSend();
  EXPECT_OK(old.Finish());
  server_->Wait();
}

TEST_F(ServerTest, HealthIsWatchedUntilTheServerEnds) {
  StartServer();
  auto health = grpc::health::v1::Health::NewStub(channel_);
  grpc::ClientContext context;
  auto watch = health->Watch(&context, {});
  grpc::health::v1::HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), grpc::health::v1::HealthCheckResponse::SERVING);
  Conversation talk(*stub_);
  talk.Begin();
  server_->Drain(absl::Seconds(30));
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  talk.CloseSend();
  EXPECT_OK(talk.Finish());
  EXPECT_FALSE(watch->Read(&response));
  EXPECT_FALSE(watch->Finish().ok());
}

TEST_F(ServerTest, DrainWithoutStreamsEndsAtOnce) {
  StartServer();
  server_->Drain(absl::Hours(1));
  server_->Wait();
}

TEST_F(ServerTest, DrainAnswersWhatIsOutstanding) {
  SessionEvents* session = nullptr;
  StartServer({.on_fetch = [&](SessionEvents& events, const Fetch&) {
    session = &events;
    events.OnWindowReady(0, 0);
    return absl::OkStatus();
  }});
  Conversation talk(*stub_);
  talk.Begin();
  talk.Fetch(1);
  EXPECT_TRUE(talk.Read().has_window_ready());
  server_->Drain(absl::Seconds(30));
  EXPECT_TRUE(talk.Read().has_draining());
  session->OnPart(home_.Make(1, 0, 1, 10, 7));
  EXPECT_EQ(talk.Read().part().data().size(), 10u);
}

TEST_F(ServerTest, DrainEndsAfterItsGraceWithStreamsOpen) {
  StartServer();
  Conversation talk(*stub_);
  talk.Begin();
  server_->Drain(absl::Milliseconds(50));
  server_->Wait();
  EXPECT_FALSE(talk.Finish().ok());
}

}  // namespace
}  // namespace penstock
