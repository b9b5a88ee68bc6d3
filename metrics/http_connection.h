// One connection to an HTTP port, from its first byte to its last.
#ifndef PENSTOCK_METRICS_HTTP_CONNECTION_H_
#define PENSTOCK_METRICS_HTTP_CONNECTION_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "base/io/unique_fd.h"

namespace penstock {

// Reads one request, writes the answer, and waits until the other side closes. Never blocks. Holds
// at most kMaxRequestBytes and the answer. Not thread-safe.
class HttpConnection {
 public:
  using Clock = std::chrono::steady_clock;
  // Returns the answer to a request, or to the first kMaxRequestBytes of a longer one.
  using Answer = std::function<std::string(absl::string_view request)>;

  static constexpr size_t kMaxRequestBytes = 8192;
  // Time limit for the whole request, even if it comes byte by byte; also for closing after the
  // answer.
  static constexpr std::chrono::seconds kAskTime{2};
  // Time limit for taking the answer.
  static constexpr std::chrono::seconds kAnswerTime{10};

  // `host` identifies the other side, for HttpPort's count.
  HttpConnection(UniqueFd socket, std::string host);

  int socket() const { return socket_.get(); }
  // False once the connection is closed.
  bool is_open() const { return socket_.valid(); }
  // The events that poll() must wait for.
  short events() const;
  // The time at which the connection is closed, whatever state it is in.
  Clock::time_point until() const { return until_; }
  const std::string& host() const { return host_; }

  // Call this when poll() has seen an event.
  void Advance(const Answer& answer);
  void Close() { socket_.Reset(); }

 private:
  enum class State { kReading, kWriting, kClosing };

  // These three return false if the other side is gone.
  bool Read(const Answer& answer);
  bool Write();
  bool WaitForEnd();

  UniqueFd socket_;
  std::string host_;
  State state_ = State::kReading;
  Clock::time_point until_;
  std::string bytes_;  // Bytes of the request, then those of the answer.
  size_t written_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_METRICS_HTTP_CONNECTION_H_
