// Tests dns:/// sources with a resolver that the test controls, and with the system's.
#include <algorithm>
#include <map>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "client/servers/server_source.h"
#include "client/servers/testing/set_recorder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

// Gives the answer that the test set last, or keeps silent. Thread-safe.
class FakeResolver final : public Resolver {
 public:
  void Answer(const std::string& host, absl::StatusOr<std::vector<std::string>> answer) {
    MutexLock lock(&mutex_);
    answers_.insert_or_assign(host, std::move(answer));
  }
  void KeepSilent() {
    MutexLock lock(&mutex_);
    silent_ = true;
  }
  int calls() {
    MutexLock lock(&mutex_);
    return calls_;
  }
  absl::StatusOr<std::vector<std::string>> Resolve(const std::string& host, uint16_t port,
                                                   const std::stop_token& stop) override {
    absl::StatusOr<std::vector<std::string>> answer;
    bool silent = false;
    {
      MutexLock lock(&mutex_);
      ++calls_;
      silent = silent_;
      answer = answers_.at(host);
    }
    while (silent && !stop.stop_requested()) std::this_thread::yield();
    if (!answer.ok()) return answer;
    for (std::string& address : *answer) absl::StrAppend(&address, ":", port);
    return answer;
  }

 private:
  Mutex mutex_;
  std::map<std::string, absl::StatusOr<std::vector<std::string>>> answers_ ABSL_GUARDED_BY(mutex_);
  bool silent_ ABSL_GUARDED_BY(mutex_) = false;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
};

class DnsSourceTest : public ::testing::Test {
 protected:
  DnsSourceTest() {
    options_.resolver = resolver_;
    options_.resolve_every = options_.retry_every = absl::Milliseconds(5);
    options_.refresh_gap = absl::Milliseconds(1);
  }
  void Start(const std::string& servers) {
    source_ = MakeServerSource(servers, options_).value();
    ASSERT_OK(source_->Start(recorder_.Listener()));
  }

  std::shared_ptr<FakeResolver> resolver_ = std::make_shared<FakeResolver>();
  ServerSourceOptions options_;
  SetRecorder recorder_;
  std::unique_ptr<ServerSource> source_;
};

TEST_F(DnsSourceTest, EveryAddressIsAServer) {
  resolver_->Answer("pool", {{"10.0.0.2", "[fd00::1]", "10.0.0.1", "10.0.0.1"}});
  Start("dns:///pool:7070");
  EXPECT_TRUE(recorder_.WaitForAddresses({"10.0.0.1:7070", "10.0.0.2:7070", "[fd00::1]:7070"}));
}

TEST_F(DnsSourceTest, FollowsTheName) {
  resolver_->Answer("pool", {{"a"}});
  Start("dns:///pool:1");
  EXPECT_TRUE(recorder_.WaitForAddresses({"a:1"}));
  resolver_->Answer("pool", {{"a", "b", "c"}});
  EXPECT_TRUE(recorder_.WaitForAddresses({"a:1", "b:1", "c:1"}));
  resolver_->Answer("pool", {{"c"}});
  EXPECT_TRUE(recorder_.WaitForAddresses({"c:1"}));
}

TEST_F(DnsSourceTest, ANameThatIsUnknownIsToldWithItsReasonAndTriedAgain) {
  resolver_->Answer("pool", absl::NotFoundError("pool: Name or service not known"));
  Start("dns:///pool:1");
  EXPECT_TRUE(recorder_.WaitForProblem("dns:///pool:1: pool: Name or service not known"));
  resolver_->Answer("pool", {{"a"}});
  EXPECT_TRUE(recorder_.WaitForAddresses({"a:1"}));
  EXPECT_THAT(recorder_.last().problem, IsOk());
}

TEST_F(DnsSourceTest, KeepsTheLastServersWhileANameCannotBeResolved) {
  resolver_->Answer("pool", {{"a"}});
  Start("dns:///pool:1");
  EXPECT_TRUE(recorder_.WaitForAddresses({"a:1"}));
  resolver_->Answer("pool", absl::UnavailableError("pool: Temporary failure in name resolution"));
  EXPECT_TRUE(recorder_.WaitForProblem("Temporary failure"));
  EXPECT_THAT(recorder_.last().addresses, Contains("a:1"));
  resolver_->Answer("pool", std::vector<std::string>{});
  EXPECT_TRUE(recorder_.WaitForProblem("no address"));
  EXPECT_THAT(recorder_.last().addresses, Contains("a:1"));
}

TEST_F(DnsSourceTest, RefreshResolvesAtOnce) {
  options_.resolve_every = absl::Hours(10);
  resolver_->Answer("pool", {{"a"}});
  Start("dns:///pool:1");
  EXPECT_TRUE(recorder_.WaitForAddresses({"a:1"}));
  resolver_->Answer("pool", {{"b"}});
  source_->Refresh();
  EXPECT_TRUE(recorder_.WaitForAddresses({"b:1"}));
}

TEST_F(DnsSourceTest, ANameThatFailsIsAskedAgainSooner) {
  options_.resolve_every = absl::Hours(10);
  resolver_->Answer("pool", absl::UnavailableError("pool: Temporary failure in name resolution"));
  Start("dns:///pool:1");
  while (resolver_->calls() < 5) std::this_thread::yield();
  resolver_->Answer("pool", {{"a"}});
  EXPECT_TRUE(recorder_.WaitForAddresses({"a:1"}));
  const ServerSourceOptions usual;
  EXPECT_LE(4 * usual.retry_every, usual.resolve_every);
  EXPECT_LE(usual.refresh_gap, usual.retry_every);
}

TEST_F(DnsSourceTest, RefreshesCloseTogetherAreOne) {
  options_.resolve_every = options_.retry_every = options_.refresh_gap = absl::Hours(10);
  resolver_->Answer("pool", {{"a"}});
  Start("dns:///pool:1");
  EXPECT_TRUE(recorder_.WaitForAddresses({"a:1"}));
  for (int i = 0; i < 1000; ++i) source_->Refresh();
  source_ = nullptr;
  EXPECT_EQ(resolver_->calls(), 1);
}

TEST_F(DnsSourceTest, ASilentNameServerHoldsUpNeitherTheOthersNorTheEnd) {
  resolver_->Answer("pool", {{"a"}});
  resolver_->KeepSilent();
  Start("dns:///pool:1,b:2");
  EXPECT_TRUE(recorder_.WaitForAddresses({"b:2"}));
  source_ = nullptr;
}

TEST_F(DnsSourceTest, MixesNamesAndAddresses) {
  resolver_->Answer("one", {{"a", "b"}});
  resolver_->Answer("two", absl::NotFoundError("two: unknown"));
  Start("dns:///one:1,dns:///two:1,c:3,b:1");
  EXPECT_TRUE(recorder_.WaitFor([](const ServerSet& set) {
    return set.addresses == std::vector<std::string>{"a:1", "b:1", "c:3"} && !set.problem.ok();
  }));
  resolver_->Answer("two", {{"d"}});
  EXPECT_TRUE(recorder_.WaitFor([](const ServerSet& set) {
    return set.addresses == std::vector<std::string>{"a:1", "b:1", "c:3", "d:1"} &&
           set.problem.ok();
  }));
}

class SystemResolverTest : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
    GTEST_SKIP() << "TSan does not know the threads that the C library starts";
#endif
#endif
  }
};

TEST_F(SystemResolverTest, KnowsLocalhost) {
  const auto addresses = MakeSystemResolver()->Resolve("localhost", 7070, {});
  ASSERT_THAT(addresses, IsOk());
  EXPECT_TRUE(std::count(addresses->begin(), addresses->end(), "127.0.0.1:7070") == 1 ||
              std::count(addresses->begin(), addresses->end(), "[::1]:7070") == 1);
}

TEST_F(SystemResolverTest, TakesNumbersForAddresses) {
  EXPECT_THAT(MakeSystemResolver()->Resolve("127.0.0.1", 1, {}).value(), Contains("127.0.0.1:1"));
}

// "invalid" is a domain that never exists (RFC 6761). Without a name server nobody can tell.
TEST_F(SystemResolverTest, NamesWhatIsUnknown) {
  const absl::Status status = MakeSystemResolver()->Resolve("penstock.invalid", 1, {}).status();
  EXPECT_TRUE(absl::IsNotFound(status) || absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("penstock.invalid: "),
                                                   HasSubstr("the name servers of this machine")));
}

TEST_F(SystemResolverTest, EndsWhenItIsNoLongerWanted) {
  std::stop_source stop;
  stop.request_stop();
  const auto addresses = MakeSystemResolver()->Resolve("penstock.invalid", 1, stop.get_token());
  EXPECT_FALSE(addresses.ok());  // kCancelled, unless the answer came at once.
}

}  // namespace
}  // namespace penstock
