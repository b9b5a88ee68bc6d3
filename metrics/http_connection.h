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

// Reads one request, writes the answer, and waits until the other side has closed. Never blocks.
// Holds at most kMaxRequestBytes and the answer. Not thread-safe.
class HttpConnection {
 public:
  using Clock = std::chrono::steady_clock;
  // The answer to a request, or to the first kMaxRequestBytes of one that is longer.
  using Answer = std::function<std::string(absl::string_view request)>;

  static constexpr size_t kMaxRequestBytes = 8192;
  // For all of the request, however many bytes of it come; and to close after the answer.
  static constexpr std::chrono::seconds kAskTime{2};
  // To take the answer.
  static constexpr std::chrono::seconds kAnswerTime{10};

  // `host`: who it is, for HttpPort's count.
  HttpConnection(UniqueFd socket, std::string host);

  int socket() const { return socket_.get(); }
  // False: it is over.
  bool is_open() const { return socket_.valid(); }
  // The events for poll() to wait for.
  short events() const;
  // When it is closed as it is.
  Clock::time_point until() const { return until_; }
  const std::string& host() const { return host_; }

  // To be called when poll() has seen an event.
  void Advance(const Answer& answer);
  void Close() { socket_.Reset(); }

 private:
  enum class State { kReading, kWriting, kClosing };

  // False: the other side is gone.
  bool Read(const Answer& answer);
  bool Write();
  bool WaitForEnd();

  UniqueFd socket_;
  std::string host_;
  State state_ = State::kReading;
  Clock::time_point until_;
  std::string bytes_;  // Of the request; then of the answer.
  size_t written_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_METRICS_HTTP_CONNECTION_H_
