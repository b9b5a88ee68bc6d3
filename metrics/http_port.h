// An HTTP port that keeps answering while any number of connections send no request.
#ifndef PENSTOCK_METRICS_HTTP_PORT_H_
#define PENSTOCK_METRICS_HTTP_PORT_H_

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "base/io/unique_fd.h"
#include "metrics/http_connection.h"

namespace penstock {

// One thread serves at most kMaxConnections. A further connection is still accepted: it replaces
// the oldest connection of the host that has most of them. So a host that opens many loses its own.
// Thread-safe.
class HttpPort {
 public:
  static constexpr size_t kMaxConnections = 32;

  // `host` is a name or an address, IPv6 without brackets. Port 0 takes a free port. `answer` is
  // called on the port's thread.
  // kUnavailable: the port cannot listen on that address.
  // kResourceExhausted: a thread could not be started.
  static absl::StatusOr<std::unique_ptr<HttpPort>> Listen(const std::string& host,
                                                          const std::string& port,
                                                          HttpConnection::Answer answer);
  // After it has returned, `answer` is not called.
  ~HttpPort();

  uint16_t port() const { return port_; }

 private:
  HttpPort(UniqueFd listener, HttpConnection::Answer answer);

  void Run();
  int TimeoutMs() const;
  void Advance(const std::vector<pollfd>& polled);
  void Accept();
  void OnAcceptError(int error);
  void DropOne();

  const UniqueFd listener_;
  const UniqueFd wake_;
  const uint16_t port_;
  const HttpConnection::Answer answer_;
  std::vector<HttpConnection> connections_;  // Oldest first.
  std::jthread thread_;                      // Last member: it uses all of the above.
};

}  // namespace penstock

#endif  // PENSTOCK_METRICS_HTTP_PORT_H_
