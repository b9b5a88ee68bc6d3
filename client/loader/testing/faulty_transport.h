// Wraps another transport. It can break its streams, lie and keep silent.
#ifndef PENSTOCK_CLIENT_LOADER_TESTING_FAULTY_TRANSPORT_H_
#define PENSTOCK_CLIENT_LOADER_TESTING_FAULTY_TRANSPORT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "client/transport/transport.h"

namespace penstock {

struct Faults {
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
  uint64_t break_after_parts = kNever;  // Each stream breaks after this many parts.
  uint64_t mute_after_parts = kNever;   // Each stream falls silent after this many parts.
  bool refuse = false;                  // Every stream is refused, with this code:
  absl::StatusCode refusal = absl::StatusCode::kUnavailable;
  // Changes a part before it is passed on.
  std::function<void(ReceivedPart&)> tamper = nullptr;
  // Changes the server's Hello.
  std::function<void(ServerInfo&)> disguise = nullptr;
  // Adds events after the Hello.
  std::function<void(StreamEvents&)> add = nullptr;
};

// Thread-safe.
class FaultyTransport final : public Transport {
 public:
  FaultyTransport(std::string address, std::unique_ptr<Transport> inner, Faults faults)
      : address_(std::move(address)), inner_(std::move(inner)), faults_(std::move(faults)) {}

  const std::string& address() const override { return address_; }
  std::unique_ptr<Stream> Connect(const StreamOptions& options, StreamEvents& events) override {
    return std::make_unique<FaultyStream>(address_, *inner_, options, faults_, events);
  }

 private:
  class FaultyStream final : public Stream, private StreamEvents {
   public:
    FaultyStream(const std::string& address, Transport& inner, const StreamOptions& options,
                 const Faults& faults, StreamEvents& events)
        : address_(address), faults_(faults), events_(events) {
      if (faults.refuse) {
        broken_ = true;
        events.OnEvent(StreamBroken{
            absl::Status(faults.refusal, absl::StrCat(address, ": connection refused"))});
        return;
      }
      inner_ = inner.Connect(options, *this);
    }
    void OpenWindow(const penstock::OpenWindow& window) override {
      if (!broken_) inner_->OpenWindow(window);
    }
    void Fetch(const penstock::Fetch& fetch) override {
      if (!broken_) inner_->Fetch(fetch);
    }
    void Cancel(uint64_t request) override {
      if (!broken_) inner_->Cancel(request);
    }
    void Release(uint64_t window) override {
      if (!broken_) inner_->Release(window);
    }

   private:
    void OnEvent(StreamEvent event) override {
      const bool breaks = std::holds_alternative<StreamBroken>(event);
      if (breaks ? broken_.exchange(true) : broken_.load()) return;
      if (std::holds_alternative<WindowReady>(event) && parts_ >= faults_.mute_after_parts) return;
      auto* const hello = std::get_if<ServerInfo>(&event);
      if (hello != nullptr && faults_.disguise) faults_.disguise(*hello);
      events_.OnEvent(std::move(event));
      if (hello != nullptr && faults_.add) faults_.add(events_);
    }
    void OnPart(ReceivedPart part) override {
      if (broken_ || parts_ >= faults_.mute_after_parts) return;
      if (parts_++ == faults_.break_after_parts) {
        broken_ = true;
        return events_.OnEvent(
            StreamBroken{absl::UnavailableError(absl::StrCat(address_, ": connection reset"))});
      }
      if (faults_.tamper) faults_.tamper(part);
      events_.OnPart(std::move(part));
    }

    const std::string address_;
    const Faults& faults_;
    StreamEvents& events_;
    std::atomic<bool> broken_ = false;
    std::atomic<uint64_t> parts_ = 0;
    std::unique_ptr<Stream> inner_;  // Last member: no event follows its end.
  };

  const std::string address_;
  const std::unique_ptr<Transport> inner_;
  const Faults faults_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_TESTING_FAULTY_TRANSPORT_H_
