// Reads certificates and keys from PEM files. They are checked before gRPC sees them, because gRPC
// only says that they do not work.
#ifndef PENSTOCK_BASE_TLS_PEM_FILES_H_
#define PENSTOCK_BASE_TLS_PEM_FILES_H_

#include <openssl/types.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/io/file_stamp.h"

namespace penstock {

// A path is empty if there is no such file. `cert` and `key` are given together or not at all.
struct PemPaths {
  std::string cert = {};
  std::string key = {};
  std::string ca = {};
};

struct PemTexts {
  std::string cert;
  std::string key;
  std::string ca;
  // Problems that are allowed but need attention: an expired certificate, or a key that others can
  // read.
  std::vector<std::string> warnings;
};

// Reads and checks the files. Every error names the file.
// kNotFound, kPermissionDenied: the file cannot be read.
// kInvalidArgument:
//   - the file holds no certificate or key, or is larger than 1 MiB;
//   - one of its certificates is damaged, even if others are valid;
//   - the key has a passphrase, or does not belong to the certificate;
//   - OpenSSL refuses the certificate for TLS, because its key is too short or it was signed with
//     SHA-1.
// kInternal: OpenSSL cannot create a TLS context.
absl::StatusOr<PemTexts> LoadPemFiles(const PemPaths& paths, absl::Time now);

// Like LoadPemFiles(). Then `context` uses the certificate and its key, but not `ca`. After an
// error, `context` has no key and presents no certificate.
absl::StatusOr<PemTexts> UsePemFiles(const PemPaths& paths, absl::Time now, SSL_CTX* context);

// Returns when the first of the certificates in a PEM file expires. Errors are those of
// LoadPemFiles().
absl::StatusOr<absl::Time> CertificateExpiry(const std::string& path);

// Detects that files were replaced. A certificate and its key cannot be replaced in one step. While
// they do not match, Poll() returns the error, and looks again at the next call. Not thread-safe.
class PemWatcher {
 public:
  explicit PemWatcher(PemPaths paths) : paths_(std::move(paths)) {}

  // Returns the texts of the files at the first call, and whenever they have changed since the last
  // successful call. Otherwise returns nullopt.
  absl::StatusOr<std::optional<PemTexts>> Poll();

 private:
  std::array<FileStamp, 3> Stamps() const;

  const PemPaths paths_;
  std::optional<std::array<FileStamp, 3>> seen_;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_TLS_PEM_FILES_H_
