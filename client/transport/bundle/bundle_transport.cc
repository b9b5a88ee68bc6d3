#include "client/transport/bundle/bundle_transport.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "records/base/mutex.h"

namespace penstock {
namespace {

class BundleStream final : public Stream {
 public:
  BundleStream(const std::string& address, size_t size, StreamEvents& events)
      : address_(address), events_(events) {
    for (size_t i = 0; i < size; ++i) members_.push_back(std::make_unique<Member>(*this));
  }
  void Connect(const std::vector<std::unique_ptr<Transport>>& ways, const StreamOptions& options) {
    for (size_t i = 0; i < ways.size(); ++i) {
      members_[i]->stream = ways[i]->Connect(options, *members_[i]);
    }
  }

  void OpenWindow(const penstock::OpenWindow& window) override {
    Member& member = **std::min_element(
        members_.begin(), members_.end(),
        [](const auto& a, const auto& b) { return a->num_windows < b->num_windows; });
    if (windows_.emplace(window.window, &member).second) ++member.num_windows;
    member.stream->OpenWindow(window);
  }
  void Fetch(const penstock::Fetch& fetch) override {
    if (Member* member = MemberOf(fetch.window)) member->stream->Fetch(fetch);
  }
  // A server ignores requests that it does not know.
  void Cancel(uint64_t request) override {
    for (const auto& member : members_) member->stream->Cancel(request);
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
    explicit Member(BundleStream& owner) : bundle(owner) {}
    void OnHello(const ServerInfo& info) override { bundle.TakeHello(info); }
    void OnCredit(uint64_t bytes) override { bundle.TakeCredit(*this, bytes); }
    void OnBroken(absl::Status status) override { bundle.Break(std::move(status)); }
    void OnWindowReady(uint64_t window, uint64_t read_bytes) override {
      bundle.Tell([&](StreamEvents& events) { events.OnWindowReady(window, read_bytes); });
    }
    void OnPart(ReceivedPart part) override {
      if (!bundle.broken_) bundle.events_.OnPart(std::move(part));
    }
    void OnError(StreamError error) override {
      bundle.Tell([&](StreamEvents& events) { events.OnError(std::move(error)); });
    }
    void OnDraining(uint32_t grace_ms) override {
      bundle.Tell([&](StreamEvents& events) { events.OnDraining(grace_ms); });
    }
    void OnSharedMemory(absl::Status status) override {
      bundle.events_.OnSharedMemory(std::move(status));
    }

    BundleStream& bundle;
    uint64_t credit_bytes = 0;       // Guarded by the bundle's mutex_.
    size_t num_windows = 0;          // Open on it.
    std::unique_ptr<Stream> stream;  // Last: its end is the end of events.
  };

  Member* MemberOf(uint64_t window) {
    auto found = windows_.find(window);
    return found == windows_.end() ? nullptr : found->second;
  }

  template <typename Say>
  void Tell(const Say& say) {
    MutexLock lock(&mutex_);
    if (!broken_) say(events_);
  }
  void TakeHello(const ServerInfo& info) {
    MutexLock lock(&mutex_);
    if (broken_) return;
    if (num_hellos_++ == 0) instance_ = info.instance;
    if (info.instance != instance_) {
      return BreakLocked(absl::FailedPreconditionError(absl::StrCat(
          address_, ": its connections reach different servers; use one connection each")));
    }
    if (num_hellos_ == members_.size()) events_.OnHello(info);
  }
  void TakeCredit(Member& member, uint64_t bytes) {
    MutexLock lock(&mutex_);
    member.credit_bytes = bytes;
    uint64_t sum = 0;
    for (const auto& each : members_) sum += each->credit_bytes;
    if (!broken_ && num_hellos_ == members_.size()) events_.OnCredit(sum);
  }
  void Break(absl::Status status) {
    MutexLock lock(&mutex_);
    BreakLocked(std::move(status));
  }
  void BreakLocked(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!broken_.exchange(true)) events_.OnBroken(std::move(status));
  }

  const std::string address_;
  StreamEvents& events_;
  std::unordered_map<uint64_t, Member*> windows_;  // The caller's alone.

  Mutex mutex_;  // Held while events but parts are told, which must not come at once.
  std::atomic<bool> broken_{false};
  size_t num_hellos_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t instance_ ABSL_GUARDED_BY(mutex_) = 0;

  std::vector<std::unique_ptr<Member>> members_;  // Last: their events use all of the above.
};

class BundleTransport final : public Transport {
 public:
  explicit BundleTransport(std::vector<std::unique_ptr<Transport>> ways) : ways_(std::move(ways)) {}

  const std::string& address() const override { return ways_[0]->address(); }
  std::unique_ptr<Stream> Connect(const StreamOptions& options, StreamEvents& events) override {
    auto stream = std::make_unique<BundleStream>(address(), ways_.size(), events);
    stream->Connect(ways_, options);
    return stream;
  }

 private:
  const std::vector<std::unique_ptr<Transport>> ways_;
};

}  // namespace

std::unique_ptr<Transport> MakeBundleTransport(std::vector<std::unique_ptr<Transport>> ways) {
  return std::make_unique<BundleTransport>(std::move(ways));
}

}  // namespace penstock
