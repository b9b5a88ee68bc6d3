// How many connections came to nothing because client and server do not agree on TLS.
#ifndef PENSTOCK_SERVER_FAILED_HANDSHAKES_H_
#define PENSTOCK_SERVER_FAILED_HANDSHAKES_H_

#include <cstdint>

namespace penstock {

// Of the whole process: gRPC 1.51 tells of a failed handshake in its log alone, which knows of no
// server. A client that spoke plaintext to a TLS port, or TLS to a plain one, counts as well.
// Thread-safe.
void CountFailedHandshake();
uint64_t NumFailedHandshakes();

}  // namespace penstock

#endif  // PENSTOCK_SERVER_FAILED_HANDSHAKES_H_
