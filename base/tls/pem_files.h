// Certificates and keys in PEM files: checked before gRPC sees them, since it says no more than
// that they do not work.
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

// Empty: there is none. cert and key come together.
struct PemPaths {
  std::string cert = {};
  std::string key = {};
  std::string ca = {};
};

struct PemTexts {
  std::string cert;
  std::string key;
  std::string ca;
  // What is allowed but needs eyes: an expired certificate, a key that others can read.
  std::vector<std::string> warnings;
};

// Every error names the file.
// kNotFound, kPermissionDenied: it cannot be read. kInvalidArgument: it holds no certificate or
// key, a damaged certificate behind others too, more than 1 MiB, a key with a passphrase, a key
// that is not the certificate's, or a certificate that OpenSSL lets no TLS use: its key is too
// short, or it was signed with SHA-1. kInternal: OpenSSL does nothing at all.
absl::StatusOr<PemTexts> LoadPemFiles(const PemPaths& paths, absl::Time now);

// As LoadPemFiles(); then `context` uses the certificate and its key, but not `ca`. After an error
// it has no key, and shows no certificate.
absl::StatusOr<PemTexts> UsePemFiles(const PemPaths& paths, absl::Time now, SSL_CTX* context);

// Notices that files were replaced. A certificate and its key cannot be replaced at once; while
// they do not fit, Poll() gives the error and looks again at the next call. Not thread-safe.
class PemWatcher {
 public:
  explicit PemWatcher(PemPaths paths) : paths_(std::move(paths)) {}

  // The files' texts when they differ from those that the last call gave, or at the first call.
  absl::StatusOr<std::optional<PemTexts>> Poll();

 private:
  std::array<FileStamp, 3> Stamps() const;

  const PemPaths paths_;
  std::optional<std::array<FileStamp, 3>> seen_;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_TLS_PEM_FILES_H_
