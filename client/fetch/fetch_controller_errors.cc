// Handles errors of windows and requests: decides what is requested again, from which server, and
// what ends the job.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/fetch/fetch_controller.h"

namespace penstock {
namespace {

// Whether another try may help.
bool MayPass(absl::StatusCode code) {
  return code == absl::StatusCode::kUnavailable || code == absl::StatusCode::kResourceExhausted ||
         code == absl::StatusCode::kDeadlineExceeded || code == absl::StatusCode::kAborted;
}

// Number of consecutive failures, of a window or of a server, after which the user is told.
constexpr uint32_t kFewFailures = 5;
constexpr absl::Duration kFailureReports = absl::Seconds(10);
// A shortage that lasts longer counts as a limit.
constexpr absl::Duration kMomentary = absl::Milliseconds(1500);
constexpr absl::Duration kSecondOpinionRetry = absl::Milliseconds(250);

// The wait after each server has had this many turns. There is none during the first turn.
absl::Duration WindowBackoff(uint32_t turns) {
  if (turns == 0) return absl::ZeroDuration();
  return std::min(absl::Milliseconds(50) * (1 << std::min(turns, 6u)), absl::Seconds(2));
}

// Whether the server lacks what the manifest lists, has other data under its name, or may not read
// it. Another server may have the data.
bool IsLack(absl::StatusCode code) {
  return code == absl::StatusCode::kNotFound || code == absl::StatusCode::kFailedPrecondition ||
         code == absl::StatusCode::kPermissionDenied;
}

// Returns the error that ends the job, with the address of the server that it came from.
// `spec_name`: FetchOptions::spec_name.
absl::Status WithAdvice(const absl::Status& status, const ServerEntry& server,
                        const std::string& spec_name) {
  absl::Status named = Annotate(status, server.shown_address());
  if (!absl::IsInvalidArgument(status) || spec_name.empty()) return named;
  return absl::InvalidArgumentError(
      absl::StrCat(named.message(), "; decoded with ", spec_name, " (--spec names another)"));
}

}  // namespace

void FetchController::OnError(absl::Time now, StreamId stream, const StreamError& error) {
  SetNow(now);
  ServerEntry* server = servers_.Find(stream);
  if (server == nullptr || ended_) return;
  server->heard_at = clock_.now();
  RequestEntry* request = error.request ? fetcher_.FindRequest(*error.request, stream) : nullptr;
  WindowEntry* window = request != nullptr ? request->window
                        : error.window     ? fetcher_.FindWindow(*error.window)
                                           : nullptr;
  if (window == nullptr) return;  // The window was given up meanwhile.
  if (server->probe != nullptr && window == server->probe->window) return FailProbe(*server);
  if (request == nullptr && !(window->opened_on == stream)) return;
  if (absl::Status credible = damage_.Check(*window, error); !credible.ok()) {
    return Lose(*server, std::move(credible));
  }
  const absl::StatusCode code = error.status.code();
  if (error.damage) return OnDamage(*server, *window, error);
  if (error.needs_spare && options_.on_error == OnError::kReplace) {
    return EndIf(fetcher_.TakeNextSpare(*window, stream, error.status));
  }
  const bool full = request != nullptr && code == absl::StatusCode::kResourceExhausted;
  if (full && fetcher_.WaitsForMemory(*server, *request)) {
    return fetcher_.GiveUpOn(*window, stream);
  }
  OnFailure(*server, *window, error);
}

void FetchController::OnUndecodable(absl::Time now, StreamId stream, const absl::Status& status) {
  SetNow(now);
  const ServerEntry* server = servers_.Find(stream);
  if (server != nullptr && !ended_) Fail(WithAdvice(status, *server, options_.spec_name));
}

void FetchController::OnFailure(ServerEntry& server, WindowEntry& window,
                                const StreamError& error) {
  fetcher_.CountFailure(server, window);
  const absl::StatusCode code = error.status.code();
  if (IsLack(code)) {
    // While others may come, each server may lack a window that it is asked for, and serve others
    // in between. So this time-out is that of the window.
    const bool for_good = FailedForGood(server, window, code);
    Lose(server, error.status, Loss::kLacksData);
    return for_good && !ended_ ? Fail(connections_.NobodyHasTheData(code)) : void();
  }
  // An older server does not send needs_spare when it has no good record. Another server may have
  // one.
  const bool knows_no_spares =
      code == absl::StatusCode::kDataLoss && options_.on_error == OnError::kReplace;
  if ((!MayPass(code) && !knows_no_spares) || FailedForGood(server, window, code)) {
    return Fail(WithAdvice(error.status, server, options_.spec_name));
  }
  if (std::max(window.failures, server.failures) >= kFewFailures) {
    ReportFailure(server, error.status);
  }
  window.retry_at = clock_.now() + WindowBackoff(window.turns);
  fetcher_.GiveUpOn(window, servers_.stream(server.index));
}

// Reports that windows are requested again and again.
void FetchController::ReportFailure(const ServerEntry& server, const absl::Status& status) {
  if (clock_.now() < report_failure_at_) return;
  report_failure_at_ = clock_.now() + kFailureReports;
  actions_.Report(absl::StrCat(server.shown_address(), ": ", status.message(), "; still retrying"));
}

// Whether to give up: all servers had their turn, and the failure has lasted too long. A limit that
// servers still report after a second or so will not pass.
bool FetchController::FailedForGood(const ServerEntry& server, const WindowEntry& window,
                                    absl::StatusCode code) const {
  if (window.turns == 0) return false;
  const bool limit =
      code == absl::StatusCode::kResourceExhausted && !servers_.AnotherMayCome(server);
  return clock_.now() >= window.failing_since + (limit ? kMomentary : options_.server_timeout);
}

void FetchController::OnDamage(ServerEntry& server, WindowEntry& window, const StreamError& error) {
  using Ruled = DamageRuling::Verdict;
  const DamageRuling ruling = damage_.Hear(clock_.now(), server, window, error);
  switch (ruling.verdict) {
    case Ruled::kFail:
      return Fail(ruling.failure);
    case Ruled::kAskLater:
      window.retry_at = clock_.now() + kSecondOpinionRetry;
      break;
    case Ruled::kAskAnother:
      fetcher_.AskAnother(server, window);
      break;
    case Ruled::kReplaced:
      window.avoid.clear();
      break;
    case Ruled::kAskAgain:
      break;
  }
  fetcher_.GiveUpOn(window, servers_.stream(server.index));
}

}  // namespace penstock
