#include "base/sha256.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <cstdlib>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"

namespace penstock {
namespace {

// Runs before main(), because only the first initialization of OpenSSL decides. By default OpenSSL
// frees its memory when the process exits, while threads of a loader that is still open, or of
// gRPC, may be using it. With this OpenSSL frees nothing at exit; the kernel reclaims the memory.
[[maybe_unused]] const int kKeepOpensslUntilTheEnd =
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);

EVP_MD_CTX* Context(void* context) { return static_cast<EVP_MD_CTX*>(context); }

// OpenSSL's digests fail only if memory is exhausted.
void Check(int result) {
  if (result != 1) std::abort();
}

}  // namespace

void Sha256::ContextDeleter::operator()(void* context) const { EVP_MD_CTX_free(Context(context)); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  Check(EVP_DigestInit_ex(Context(context_.get()), EVP_sha256(), nullptr));
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::Update(std::span<const uint8_t> data) {
  Check(EVP_DigestUpdate(Context(context_.get()), data.data(), data.size()));
}

Sha256::Digest Sha256::Finish() const {
  std::unique_ptr<void, ContextDeleter> copy(EVP_MD_CTX_new());
  Check(EVP_MD_CTX_copy_ex(Context(copy.get()), Context(context_.get())));
  Digest digest;
  unsigned size = 0;
  Check(EVP_DigestFinal_ex(Context(copy.get()), digest.data(), &size));
  return digest;
}

Sha256::Digest Sha256::Of(std::span<const uint8_t> data) {
  Digest digest;
  unsigned size = 0;
  Check(EVP_Digest(data.data(), data.size(), digest.data(), &size, EVP_sha256(), nullptr));
  return digest;
}

std::string Sha256::Hex(const Digest& digest) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

}  // namespace penstock
