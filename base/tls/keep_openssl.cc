#include "base/tls/keep_openssl.h"

#include <openssl/crypto.h>

namespace penstock {

void KeepOpensslUntilTheEnd() { OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr); }

}  // namespace penstock
