// A connected transport, for tests of the messages on it.
#ifndef PENSTOCK_TESTS_CONNECTED_TRANSPORT_H_
#define PENSTOCK_TESTS_CONNECTED_TRANSPORT_H_

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "client/transport/grpc/grpc_transport.h"
#include "gtest/gtest.h"
#include "tests/recording_events.h"

namespace penstock {

// Returns the first event of a stream without a spec: the server's Hello, or the error that ends
// it.
inline Said FirstWord(Transport& transport) {
  RecordingEvents events;
  const std::unique_ptr<Stream> stream = transport.Connect({}, events);
  return events.NextOfAnyKind();
}

// Returns a transport that is connected to a running server, so that its streams begin at once.
// gRPC gives up an attempt to connect after half a second, which may be too short for a server on a
// loaded machine. So this tries again for up to two minutes.
inline std::unique_ptr<Transport> ConnectedTransport(const std::string& address,
                                                     NetworkOptions options = {}) {
  std::unique_ptr<Transport> transport = MakeGrpcTransport(address, std::move(options));
  const absl::Time deadline = absl::Now() + absl::Minutes(2);
  while (true) {
    const Said said = FirstWord(*transport);
    const auto* broken = std::get_if<StreamBroken>(&said);
    // A server that refuses the stream is connected too.
    if (broken == nullptr || !absl::IsUnavailable(broken->status)) return transport;
    if (absl::Now() > deadline) {
      ADD_FAILURE() << broken->status;
      return transport;
    }
    absl::SleepFor(absl::Milliseconds(10));
  }
}

}  // namespace penstock

#endif  // PENSTOCK_TESTS_CONNECTED_TRANSPORT_H_
