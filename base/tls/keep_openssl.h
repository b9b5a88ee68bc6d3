// What OpenSSL does when a process ends.
#ifndef PENSTOCK_BASE_TLS_KEEP_OPENSSL_H_
#define PENSTOCK_BASE_TLS_KEEP_OPENSSL_H_

namespace penstock {

// For main(), before anything uses OpenSSL. It would free what it holds when the process exits,
// while threads of gRPC, which nobody can wait for, may still be in a handshake. From now on it
// does not; the kernel takes it all.
void KeepOpensslUntilTheEnd();

}  // namespace penstock

#endif  // PENSTOCK_BASE_TLS_KEEP_OPENSSL_H_
