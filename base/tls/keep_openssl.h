// Keeps OpenSSL usable until the process ends.
#ifndef PENSTOCK_BASE_TLS_KEEP_OPENSSL_H_
#define PENSTOCK_BASE_TLS_KEEP_OPENSSL_H_

namespace penstock {

// Call it in main(), before anything uses OpenSSL. By default OpenSSL frees its memory when the
// process exits, while gRPC threads, for which nobody can wait, may still be in a handshake. After
// this call OpenSSL frees nothing at exit; the kernel reclaims the memory.
void KeepOpensslUntilTheEnd();

}  // namespace penstock

#endif  // PENSTOCK_BASE_TLS_KEEP_OPENSSL_H_
