// The check that every call except health must pass before it is served.
#ifndef PENSTOCK_SERVER_GATE_H_
#define PENSTOCK_SERVER_GATE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"
#include "grpcpp/support/server_callback.h"
#include "server/burst_limiter.h"
#include "server/guard/connection_account.h"
#include "server/log_limiter.h"
#include "server/service_limits.h"
#include "server/tokens.h"

namespace penstock {

enum class CallKind { kStream, kManifest, kStats };

// Checks the token and counts open calls and definitions. Thread-safe.
class Gate {
 public:
  // Held while a call is served. When it is destroyed, whatever was counted for the call is
  // subtracted. Move-only.
  class Pass {
   public:
    Pass() = default;
    Pass(Pass&& other) noexcept;
    Pass& operator=(Pass&& other) noexcept;
    ~Pass();

    bool MayRead(absl::string_view path) const { return grant_ == nullptr || grant_->Allows(path); }
    // Counts the definition of a window. kResourceExhausted: a limit is reached; the message has
    // the numbers.
    absl::Status AddDefinition(uint64_t bytes);
    void RemoveDefinition(uint64_t bytes);
    // Like Gate::AllowLog(). Limits lines about refused clients, which may come again at once.
    std::optional<uint64_t> AllowLog(absl::string_view kind) const { return gate_->AllowLog(kind); }
    // Like BurstLimiter::Allow(), for the line that reports a new client, and for lines that follow
    // from it.
    std::optional<uint64_t> AllowArrivalLog() const { return gate_->arrivals_.Allow(host_); }
    // Like AllowArrivalLog(), for a line about a window that failed.
    std::optional<uint64_t> AllowFailureLog() const { return gate_->failures_.Allow(host_); }
    // The grant of the call's token; null if no tokens are required.
    const std::shared_ptr<const Grant>& grant() const { return grant_; }

   private:
    friend class Gate;
    Pass(Gate* gate, CallKind kind, std::string host, std::shared_ptr<const Grant> grant)
        : gate_(gate), kind_(kind), host_(std::move(host)), grant_(std::move(grant)) {}

    Gate* gate_ = nullptr;
    CallKind kind_ = CallKind::kStream;
    std::string host_;
    std::shared_ptr<const Grant> grant_;  // Null if no tokens are required.
    uint64_t definition_bytes_ = 0;
  };

  // `tokens` may be null: then no token is required.
  Gate(std::unique_ptr<TokenFile> tokens, const ServiceLimits& limits)
      : limits_(limits), tokens_(std::move(tokens)) {}

  // Lets a call in, and raises the standing of its connection. kUnauthenticated: there is no token,
  // or it is not valid. kResourceExhausted: a limit is reached; the message has the numbers.
  // Refusals are logged, at most one line of each kind every 10 s.
  absl::StatusOr<Pass> Admit(const grpc::CallbackServerContext& context, CallKind kind,
                             ConnectionAccount& account);

  // Like LogLimiter::Allow(), for calls that are refused after the gate.
  std::optional<uint64_t> AllowLog(absl::string_view kind) { return log_.Allow(kind); }

  // Whether the token of `grant` is still valid with the same folders. Reads the token file again
  // if it has changed.
  bool StillGrants(const Grant& grant) const { return tokens_->StillGrants(grant); }

 private:
  absl::StatusOr<Pass> TryAdmit(const grpc::CallbackServerContext& context, CallKind kind,
                                ConnectionAccount& account);
  absl::Status Count(CallKind kind, const std::string& host);
  // Counts of what is open, for each kind of call.
  struct Open {
    size_t all = 0;
    std::map<std::string, size_t> of_host;
  };
  void Leave(const Pass& pass);

  const ServiceLimits limits_;
  const std::unique_ptr<TokenFile> tokens_;
  LogLimiter log_;
  BurstLimiter arrivals_{/*lines_of_host=*/64, /*lines=*/1024};
  BurstLimiter failures_{/*lines_of_host=*/200, /*lines=*/2000};
  mutable Mutex mutex_;
  std::map<CallKind, Open> open_ ABSL_GUARDED_BY(mutex_);
  uint64_t definition_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_GATE_H_
