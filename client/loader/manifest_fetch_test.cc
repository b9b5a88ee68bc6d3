// Tests which servers are asked for a manifest, how often, and what the error says if none has it.
#include "client/loader/manifest_fetch.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/loader/served_manifest.h"
#include "client/loader/testing/chess_dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Le;

// Reports `first` inside Start(). The owner may report more.
class TellingServers final : public ServerSource {
 public:
  TellingServers(ServerSet first, OnSet& tell) : first_(std::move(first)), tell_(tell) {}
  absl::Status Start(OnSet on_set) override {
    tell_ = std::move(on_set);
    tell_(first_);
    return absl::OkStatus();
  }
  void Refresh() override {}

 private:
  const ServerSet first_;
  OnSet& tell_;
};

class ManifestFetchTest : public ::testing::Test {
 protected:
  // Sets what `address` answers, one answer after the other. The last one is repeated for ever.
  void Answers(const std::string& address, std::vector<absl::StatusOr<std::string>> answers) {
    answers_[address] = std::move(answers);
  }
  static absl::Status Gone(const std::string& address) {
    return absl::UnavailableError(address + ": Connection refused");
  }
  static absl::Status Missing(const std::string& address) {
    return absl::NotFoundError(address + ": m.pb: No such file or directory");
  }
  std::string Bytes() const { return data_.manifest()->Serialize().value(); }

  absl::StatusOr<Manifest> Fetch(std::unique_ptr<ServerSource> source, size_t first = 0,
                                 absl::Duration timeout = absl::Minutes(1)) {
    ManifestFetchOptions options;
    options.ask = [this](const std::string& address, absl::Duration patience) {
      asked_.push_back(address);
      patience_.push_back(patience);
      if (when_asked_) when_asked_();
      auto& answers = answers_.at(address);
      absl::StatusOr<std::string> answer = answers.front();
      if (answers.size() > 1) answers.erase(answers.begin());
      return answer;
    };
    options.first = first;
    options.timeout = timeout;
    options.check = [this] { return stop_; };
    options.report = [this](absl::string_view line) { told_.emplace_back(line); };
    options.now = [this] { return std::chrono::steady_clock::now() + now_; };
    ManifestFetch fetch(std::move(options));
    absl::StatusOr<Manifest> manifest = fetch.Run(std::move(source));
    if (manifest.ok()) giver_ = fetch.WhoGaveIt();
    return manifest;
  }
  absl::StatusOr<Manifest> FetchOf(std::vector<std::string> addresses, size_t first = 0,
                                   absl::Duration timeout = absl::Minutes(1)) {
    return Fetch(MakeFixedServers(std::move(addresses)), first, timeout);
  }

  ChessDataset data_;
  std::map<std::string, std::vector<absl::StatusOr<std::string>>> answers_;
  std::vector<std::string> asked_;
  std::vector<absl::Duration> patience_;
  std::function<void()> when_asked_;
  ServerSource::OnSet tell_;     // Set by TellingServers; reports a set to the owner.
  std::chrono::seconds now_{0};  // How far the test's time is ahead of the clock.
  std::vector<std::string> told_;
  std::string giver_;
  absl::Status stop_;
};

TEST_F(ManifestFetchTest, TheFirstThatHasItIsEnough) {
  Answers("a:1", {Bytes()});
  ASSERT_OK_AND_ASSIGN(const Manifest manifest, FetchOf({"a:1", "b:1"}));
  EXPECT_EQ(manifest.content_fingerprint(), data_.manifest()->content_fingerprint());
  EXPECT_THAT(asked_, ElementsAre("a:1"));
  EXPECT_EQ(giver_, "a:1");
}

TEST_F(ManifestFetchTest, EachRankBeginsWithAnother) {
  for (const char* address : {"a:1", "b:1", "c:1"}) Answers(address, {Bytes()});
  for (size_t rank = 0; rank < 4; ++rank) EXPECT_OK(FetchOf({"a:1", "b:1", "c:1"}, rank));
  EXPECT_THAT(asked_, ElementsAre("a:1", "b:1", "c:1", "a:1"));
}

TEST_F(ManifestFetchTest, TheNextOneIsAskedForWhateverReason) {
  std::string damaged = Bytes();
  damaged.back() ^= 1;
  Answers("a:1", {Gone("a:1")});
  Answers("b:1", {Missing("b:1")});
  Answers("c:1", {damaged});
  Answers("d:1", {Bytes()});
  EXPECT_OK(FetchOf({"a:1", "b:1", "c:1", "d:1"}));
  EXPECT_THAT(giver_, AllOf(HasSubstr("d:1; not from a:1: Connection refused"),
                            HasSubstr("; not from b:1: m.pb"), HasSubstr("; not from c:1: ")));
}

TEST_F(ManifestFetchTest, WhoCannotBeReachedIsAskedAgain) {
  Answers("a:1", {Gone("a:1"), absl::ResourceExhaustedError("a:1: 16 calls"), Bytes()});
  Answers("b:1", {Missing("b:1")});
  EXPECT_OK(FetchOf({"a:1", "b:1"}));
  EXPECT_THAT(asked_, ElementsAre("a:1", "b:1", "a:1", "b:1", "a:1"));
}

// Somebody may mount the data, or put the token back, while another server is waited for.
TEST_F(ManifestFetchTest, AServerThatRefusedIsAskedAgainWhileThereIsHope) {
  Answers("a:1", {Gone("a:1")});
  Answers("b:1", {Missing("b:1"), Bytes()});
  EXPECT_OK(FetchOf({"a:1", "b:1"}));
  EXPECT_THAT(asked_, ElementsAre("a:1", "b:1", "a:1", "b:1"));
}

TEST_F(ManifestFetchTest, AServerThatIsBusyIsWaitedForLongerThanTheTimeout) {
  const auto busy = absl::ResourceExhaustedError("a:1: 16 Manifest calls are open");
  Answers("a:1", {busy, busy, busy, Bytes()});
  when_asked_ = [this] { now_ += std::chrono::seconds(40); };
  EXPECT_OK(FetchOf({"a:1"}, 0, absl::Minutes(1)));
  EXPECT_THAT(
      told_,
      ElementsAre(HasSubstr("still waiting for the manifest; retrying: a:1: 16 Manifest calls")));
}

TEST_F(ManifestFetchTest, OneThatWasBusyAndIsGoneIsNot) {
  Answers("a:1", {absl::ResourceExhaustedError("a:1: 16 calls"), Gone("a:1")});
  when_asked_ = [this] { now_ += std::chrono::seconds(40); };
  EXPECT_THAT(FetchOf({"a:1"}, 0, absl::Minutes(1)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("Connection refused")));
  EXPECT_EQ(asked_.size(), 3);
}

TEST_F(ManifestFetchTest, WhenAllRefuseItEndsAtOnceAndNamesEach) {
  Answers("a:1", {Missing("a:1")});
  Answers("b:1", {absl::UnauthenticatedError("b:1: wants a bearer token")});
  EXPECT_THAT(FetchOf({"a:1", "b:1"}, 0, absl::InfiniteDuration()),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("a:1: m.pb"), HasSubstr("b:1: wants a bearer token"))));
}

TEST_F(ManifestFetchTest, WithoutAnyServerItEndsAfterTheTimeoutAndNamesEach) {
  Answers("a:1", {Gone("a:1")});
  Answers("b:1", {Missing("b:1")});
  EXPECT_THAT(
      FetchOf({"a:1", "b:1"}, 0, absl::Milliseconds(1)),
      StatusIs(absl::StatusCode::kUnavailable,
               AllOf(HasSubstr("no server could be used for 1ms: a:1: Connection refused; b:1"))));
}

TEST_F(ManifestFetchTest, TheTimeoutEndsARound) {
  Answers("a:1", {Gone("a:1")});
  EXPECT_THAT(FetchOf({"a:1", "b:1", "c:1"}, 0, absl::Nanoseconds(1)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("b:1: not tried yet")));
  EXPECT_THAT(asked_, ElementsAre("a:1"));
}

TEST_F(ManifestFetchTest, NobodyIsHeardLongerThanTheTimeoutButTheFirst) {
  Answers("a:1", {Gone("a:1")});
  Answers("b:1", {Bytes()});
  EXPECT_OK(FetchOf({"a:1", "b:1"}, 0, absl::Minutes(1)));
  EXPECT_THAT(patience_, ElementsAre(absl::InfiniteDuration(), Le(absl::Minutes(1))));
}

TEST_F(ManifestFetchTest, WhereSomeHaveNotBeenToldYetARefusalIsNotTheEnd) {
  Answers("a:1", {Missing("a:1")});
  Answers("b:1", {Bytes()});
  const ServerSet fixed = {{"a:1"}, absl::OkStatus(), false};
  when_asked_ = [this] { tell_({{"a:1", "b:1"}, absl::OkStatus()}); };
  EXPECT_OK(Fetch(std::make_unique<TellingServers>(fixed, tell_)));
  EXPECT_THAT(asked_, ElementsAre("a:1", "a:1", "b:1"));
}

TEST_F(ManifestFetchTest, TellsWhyTheSetIsEmpty) {
  const ServerSet none = {{}, absl::NotFoundError("file:/no/such/folder: No such file")};
  EXPECT_THAT(
      Fetch(std::make_unique<TellingServers>(none, tell_), 0, absl::Milliseconds(1)),
      StatusIs(absl::StatusCode::kUnavailable, AllOf(HasSubstr("the set of servers is empty"),
                                                     HasSubstr("/no/such/folder: No such file"))));
}

TEST_F(ManifestFetchTest, AServerThatAppearsIsAsked) {
  const TempFolder folder;
  Answers("a:1", {Gone("a:1")});
  Answers("b:1", {Bytes()});
  folder.Write("servers/1", "a:1\n");
  ASSERT_OK_AND_ASSIGN(auto source, MakeServerSource("file:" + folder.File("servers")));
  std::jthread starter([&] { folder.Write("servers/2", "b:1\n"); });
  EXPECT_OK(Fetch(std::move(source)));
  EXPECT_EQ(asked_.back(), "b:1");
}

TEST_F(ManifestFetchTest, EndsWhenItIsToldTo) {
  Answers("a:1", {Gone("a:1")});
  stop_ = absl::CancelledError("interrupted");
  EXPECT_THAT(FetchOf({"a:1"}), StatusIs(absl::StatusCode::kCancelled, "interrupted"));
}

TEST(ManifestNameTest, LocalHasNone) {
  EXPECT_FALSE(IsServedManifest("data/server:m.pb"));
  EXPECT_TRUE(IsServedManifest("server:m.pb"));
  EXPECT_OK(CheckServedManifest("server:a/m.pb", "dns:///h:7070,b:1"));
  EXPECT_THAT(CheckServedManifest("server:m.pb", "local:"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--servers is local:")));
  EXPECT_THAT(CheckServedManifest("server:/a/m.pb", "b:1"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("relative to the servers'")));
  EXPECT_THAT(CheckServedManifest("server:m.pb", "b"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("HOST:PORT")));
}

}  // namespace
}  // namespace penstock
