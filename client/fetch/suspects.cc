#include "client/fetch/suspects.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// Number of streams that must break while rows are claimed, or while the window is being loaded,
// before it is suspect.
constexpr uint32_t kSuspectAfter = 3;

// Streams also break for other reasons than a deadly window, and each break within kLately makes
// one more death necessary before a window is blamed. kMaxProofs deaths always suffice. Only deaths
// of servers that were asked for nothing else count.
constexpr absl::Duration kLately = absl::Minutes(1);
constexpr size_t kMaxProofs = 10;

// Number of consecutive breaks that are tolerated if the servers lived and had no other request.
constexpr uint32_t kMaxWithdrawn = 10;
// Most servers that restart are back within this time.
constexpr absl::Duration kAwayForGood = absl::Seconds(5);

// Minimum time between two reports about suspects.
constexpr absl::Duration kTellSuspectsAfter = absl::Seconds(10);

}  // namespace

bool Suspects::IsStillSuspect(const WindowEntry& window) {
  if (window.load_breaks >= kSuspectAfter) return true;
  for (const Range& range : window.wanted.span()) {
    if (range.breaks >= kSuspectAfter) return true;
  }
  return false;
}

WindowEntry* Suspects::Next() {
  if (window_ == nullptr && !queue_.empty()) {
    window_ = &queue_.front();
    NoteSuspect(*window_);
  }
  return window_;
}

void Suspects::CountBreak() {
  while (!breaks_.empty() && breaks_.front() < clock_.now() - kLately) breaks_.pop_front();
  breaks_.push_back(clock_.now());
}

// Called when a server that was asked for this window alone has died. One death may be chance, for
// example when servers are restarted one after the other. Two are proof if no stream breaks for
// other reasons. Each stream that broke so lately makes one more death necessary.
bool Suspects::ProvesDeadly(WindowEntry& window) const {
  const auto lately = std::lower_bound(breaks_.begin(), breaks_.end(), clock_.now() - kLately);
  const auto breaks = static_cast<size_t>(breaks_.end() - lately);
  const size_t elsewhere = breaks - std::min<size_t>(breaks, window.breaks);
  return ++window.breaks_alone > std::min(elsewhere + 1, kMaxProofs - 1);
}

bool Suspects::LoadsSuspect(const ServerEntry& server) const {
  return window_->opened_on == servers_.stream(server.index) && !window_->ready();
}

// If servers break for other reasons, hundreds of windows may become suspect, one after the other.
void Suspects::NoteSuspect(const WindowEntry& window) {
  if (clock_.now() < tell_at_) return;
  tell_at_ = clock_.now() + kTellSuspectsAfter;
  actions_.Report(
      absl::StrCat(WindowName(window.id),
                   " may make servers fail, because streams broke repeatedly while it was in "
                   "flight: it is requested alone, and so are other suspects"));
}

// Whether the server is to blame. If not, the window may be to blame, if the server was asked for
// it alone.
bool Suspects::OnLost(const ServerEntry& server, const absl::Status& status, bool silent) {
  const bool alone = server_ == &server && window_->opened_on == servers_.stream(server.index) &&
                     window_->requests == server.outstanding_requests;
  if (!alone || silent) return alone;
  if (window_->requests > 0 || !window_->ready()) Accuse(server, status);
  return false;
}

// The server was asked for nothing but the suspect. It has died if it comes back as another
// process, or stays away. If a network failure breaks all streams at the same moment, no server has
// died.
void Suspects::Accuse(const ServerEntry& server, const absl::Status& status) {
  accusation_ = {server.index, window_, clock_.now(), DeathOf(server, status)};
}

bool Suspects::IsAccusing(const ServerEntry& server) const {
  return accusation_ && accusation_->server == server.index;
}

absl::Status Suspects::HearNothing() {
  const bool died = clock_.now() >= accusation_->since + kAwayForGood && servers_.AnyUp();
  return died ? Confirm() : absl::OkStatus();
}

absl::Status Suspects::Confirm() {
  if (ProvesDeadly(*accusation_->window)) return death();
  Drop();
  return absl::OkStatus();
}

absl::Status Suspects::Withdraw() {
  if (++accusation_->window->withdrawn > kMaxWithdrawn) return death();
  Drop();
  return absl::OkStatus();
}

// The error for the death of a server that was asked for nothing but the suspect.
absl::Status Suspects::DeathOf(const ServerEntry& server, const absl::Status& status) const {
  const WindowEntry& window = *window_;
  uint32_t first_row = 0;
  uint32_t rows = window.rows;
  if (server.first_request != nullptr) {
    first_row = server.first_request->ranges.front().first_row;
    rows = server.first_request->rows;
  }
  std::vector<uint32_t> chunks;
  for (const uint32_t chunk : window.order->WindowChunks(window.id)) chunks.push_back(chunk);
  if (const std::optional<uint32_t> spare = window.spare()) chunks.push_back(*spare);
  return absl::AbortedError(absl::StrCat(
      WindowName(window.id), " makes servers fail: ", window.breaks,
      " streams broke while it was in flight, and the stream of ", server.address,
      " broke when rows [", first_row, ", ", first_row + rows, ") of it were its only request (",
      status.message(), "). Its chunks: ", actions_.NameChunks(chunks),
      ". See the servers' logs; penstock index --verify finds damaged records, and ",
      "--exclude-corrupt leaves them out"));
}

}  // namespace penstock
