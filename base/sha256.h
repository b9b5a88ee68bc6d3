// SHA-256 of a stream of bytes.
#ifndef PENSTOCK_BASE_SHA256_H_
#define PENSTOCK_BASE_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace penstock {

// Not thread-safe.
class Sha256 {
 public:
  using Digest = std::array<uint8_t, 32>;

  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void Update(std::span<const uint8_t> data);

  // The digest of everything so far. You may add more afterwards.
  Digest Finish() const;
  // Finish() as 64 lower-case hexadecimal digits.
  std::string Hex() const { return Hex(Finish()); }

  // The digest of `data`.
  static Digest Of(std::span<const uint8_t> data);
  static std::string Hex(const Digest& digest);

 private:
  struct ContextDeleter {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, ContextDeleter> context_;  // void keeps OpenSSL's headers out.
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_SHA256_H_
