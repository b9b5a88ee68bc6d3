#include "client/transport/bundle/bundle_transport.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/process/start_thread.h"

namespace penstock {
namespace {

// The transports of a bundle. Immutable.
struct Route {
  std::vector<std::unique_ptr<Transport>> ways;
  BundleGrowth growth;
};

// Compares the number of bytes that the connections in use have delivered with the number that they
// can carry. Thread-compatible, except for Count().
class Load {
 public:
  explicit Load(const BundleGrowth& growth) : growth_(growth), since_(growth.now()) {}

  void Count(uint64_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  // Returns whether `ways` connections are saturated. Compares once in each period.
  bool Saturates(size_t ways) {
    const auto now = growth_.now();
    if (now - since_ < growth_.period) return false;
    const std::chrono::duration<double> seconds = now - std::exchange(since_, now);
    const auto bytes = static_cast<double>(bytes_.exchange(0, std::memory_order_relaxed));
    return bytes >= seconds.count() * static_cast<double>(growth_.bytes_per_second * ways);
  }

 private:
  const BundleGrowth& growth_;
  BundleGrowth::Clock::time_point since_;
  std::atomic<uint64_t> bytes_{0};
};

class BundleStream final : public Stream {
 public:
  BundleStream(std::shared_ptr<const Route> route, const StreamOptions& options,
               StreamEvents& events)
      : route_(std::move(route)), options_(options), events_(events), load_(route_->growth) {
    for (size_t i = 0; i < route_->ways.size(); ++i) {
      members_.push_back(std::make_unique<Member>(*this, /*extra=*/i >= route_->growth.first));
    }
    while (taken_ < route_->growth.first) TakeAnother();
  }

  // Ends the streams first, while everything that their events use still exists.
  ~BundleStream() override {
    for (const auto& member : members_) member->stream.reset();
  }

  void OpenWindow(const penstock::OpenWindow& window) override {
    Member& member = LeastUsed();
    if (windows_.emplace(window.window, &member).second) ++member.num_windows;
    member.stream->OpenWindow(window);
  }
  void Fetch(const penstock::Fetch& fetch) override {
    if (Member* member = MemberOf(fetch.window)) member->stream->Fetch(fetch);
    CloseWhatWasLeft();
    if (MayGrow() && load_.Saturates(taken_)) TakeAnother();
  }
  // Cancels on every stream. A server ignores requests that it does not know.
  void Cancel(uint64_t request) override {
    for (size_t i = 0; i < taken_; ++i) {
      if (members_[i]->usable()) members_[i]->stream->Cancel(request);
    }
  }
  void Release(uint64_t window) override {
    Member* member = MemberOf(window);
    if (member == nullptr) return;
    windows_.erase(window);
    --member->num_windows;
    member->stream->Release(window);
  }

 private:
  struct Member final : StreamEvents {
    // An extra member may get windows once it has its Hello. It is left alone if it reaches another
    // server.
    enum class State { kConnecting, kUsable, kLeft };

    Member(BundleStream& owner, bool is_extra)
        : bundle(owner), extra(is_extra), state(is_extra ? State::kConnecting : State::kUsable) {}
    bool usable() const { return state == State::kUsable; }
    void OnEvent(StreamEvent event) override { bundle.Hear(*this, std::move(event)); }
    void OnPart(ReceivedPart part) override {
      bundle.load_.Count(part.payload->size());
      if (!bundle.broken_) bundle.events_.OnPart(std::move(part));
    }

    BundleStream& bundle;
    const bool extra;           // Whether it is connected only when the first ones are saturated.
    std::atomic<State> state;   // Changed under the bundle's mutex_.
    uint64_t credit_bytes = 0;  // Guarded by the bundle's mutex_.
    size_t num_windows = 0;     // Number of windows that are open on it.
    // The last member, because events may use the others until the stream is destroyed. Null until
    // it is connected.
    std::unique_ptr<Stream> stream;
  };

  void TakeAnother() {
    Member& member = *members_[taken_];
    member.stream = route_->ways[taken_]->Connect(options_, member);
    ++taken_;
  }
  // Whether the bundle may add a connection. It adds one at a time, when the last one is in use.
  bool MayGrow() const {
    return !enough_ && taken_ < members_.size() && members_[taken_ - 1]->usable();
  }
  // Ends the stream that was left alone on a thread of its own, because the end of a stream waits
  // for threads that may wait for our caller. If no thread can be started, the stream ends with
  // this object.
  void CloseWhatWasLeft() {
    Member& last = *members_[taken_ - 1];
    if (last.state != Member::State::kLeft || last.stream == nullptr) return;
    left_ = std::move(last.stream);
    auto closer = StartThread("that closes a connection", [this] { left_.reset(); });
    if (closer.ok()) closer_ = *std::move(closer);
  }
  Member& LeastUsed() {
    Member* least = members_.front().get();
    for (const auto& member : members_) {
      if (member->usable() && member->num_windows < least->num_windows) least = member.get();
    }
    return *least;
  }
  Member* MemberOf(uint64_t window) {
    auto found = windows_.find(window);
    return found == windows_.end() ? nullptr : found->second;
  }

  void Hear(Member& member, StreamEvent event) {
    MutexLock lock(&mutex_);
    if (broken_) return;
    if (const auto* info = std::get_if<ServerInfo>(&event)) return TakeHello(member, *info);
    if (auto* broken = std::get_if<StreamBroken>(&event)) return Break(member, broken->status);
    // The credit of a member that was left alone would repeat the sum. A repeated credit means that
    // something waits there.
    if (!member.usable()) return;
    if (const auto* credit = std::get_if<Credit>(&event)) return TakeCredit(member, *credit);
    const auto* shared = std::get_if<SharedMemoryResult>(&event);
    if (shared != nullptr && shared->status.ok()) enough_ = true;
    events_.OnEvent(std::move(event));
  }
  void TakeHello(Member& member, const ServerInfo& info) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (num_hellos_ == 0) instance_ = info.instance;
    if (info.instance != instance_ && member.extra) {
      return LeaveAlone(member,
                        absl::FailedPreconditionError(absl::StrCat(
                            route_->ways[0]->address(), ": it reached another server process")));
    }
    if (info.instance != instance_) {
      return Break(absl::FailedPreconditionError(
          absl::StrCat(route_->ways[0]->address(),
                       ": its connections reach different server processes (a load balancer?); "
                       "give --connections 1")));
    }
    member.state = Member::State::kUsable;
    if (++num_hellos_ == route_->growth.first) events_.OnEvent(info);
  }
  void TakeCredit(Member& member, const Credit& credit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    member.credit_bytes = credit.bytes;
    uint64_t sum = 0;
    for (const auto& each : members_) sum += each->usable() ? each->credit_bytes : 0;
    if (num_hellos_ >= route_->growth.first) events_.OnEvent(Credit{sum, credit.working});
  }
  void Break(Member& member, absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (member.usable()) return Break(std::move(status));
    if (member.state == Member::State::kConnecting) LeaveAlone(member, std::move(status));
  }
  // Leaves a member alone. The members that are in use continue.
  void LeaveAlone(Member& member, absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    member.state = Member::State::kLeft;
    enough_ = true;
    events_.OnEvent(ConnectionGivenUp{std::move(why)});
  }
  void Break(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    broken_ = true;
    events_.OnEvent(StreamBroken{std::move(status)});
  }

  // Shared with the transport, which may be destroyed first.
  const std::shared_ptr<const Route> route_;
  const StreamOptions options_;
  StreamEvents& events_;
  std::unordered_map<uint64_t, Member*> windows_;  // Only the caller uses it.
  // Number of members in use, which are the first ones. Only the caller uses it.
  size_t taken_ = 0;
  Load load_;
  std::atomic<bool> enough_{false};  // If it is true, no further member is connected.

  // Held while events other than parts are passed on, because these must not overlap.
  Mutex mutex_;
  std::atomic<bool> broken_{false};
  size_t num_hellos_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t instance_ ABSL_GUARDED_BY(mutex_) = 0;

  std::vector<std::unique_ptr<Member>> members_;
  std::unique_ptr<Stream> left_;  // The stream of a member that was left alone; closer_ ends it.
  std::jthread closer_;
};

class BundleTransport final : public Transport {
 public:
  explicit BundleTransport(Route route) : route_(std::make_shared<const Route>(std::move(route))) {}

  const std::string& address() const override { return route_->ways[0]->address(); }
  std::unique_ptr<Stream> Connect(const StreamOptions& options, StreamEvents& events) override {
    return std::make_unique<BundleStream>(route_, options, events);
  }

 private:
  const std::shared_ptr<const Route> route_;  // Shared with streams.
};

}  // namespace

std::unique_ptr<Transport> MakeBundleTransport(std::vector<std::unique_ptr<Transport>> ways) {
  const size_t all = ways.size();
  return MakeGrowingTransport(std::move(ways), {.first = all});
}

std::unique_ptr<Transport> MakeGrowingTransport(std::vector<std::unique_ptr<Transport>> ways,
                                                BundleGrowth growth) {
  return std::make_unique<BundleTransport>(Route{std::move(ways), std::move(growth)});
}

}  // namespace penstock
