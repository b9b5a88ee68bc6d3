#include "server/credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/status.h"
#include "server/log.h"

namespace penstock {
namespace {

// Uses the C library's way to exchange certificates. The C++ wrapper of gRPC 1.51 has only
// experimental ways, which watch files on a thread and cannot say what is wrong with them.
class ReloadingCredentials final : public grpc::ServerCredentials {
 public:
  explicit ReloadingCredentials(PemPaths paths)
      : required_(!paths.ca.empty()), files_(std::move(paths)) {}
  ~ReloadingCredentials() override {
    if (credentials_ != nullptr) grpc_server_credentials_release(credentials_);
  }

  absl::Status Load() {
    PENSTOCK_ASSIGN_OR_RETURN(first_, Poll());
    credentials_ = grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(
            required_ ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                      : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
            &ReloadingCredentials::Fetch, this));
    return credentials_ != nullptr ? absl::OkStatus()
                                   : absl::InternalError("gRPC refused the TLS files");
  }

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  static grpc_ssl_certificate_config_reload_status Fetch(
      void* self, grpc_ssl_server_certificate_config** config) {
    return static_cast<ReloadingCredentials*>(self)->Reload(config);
  }

  grpc_ssl_certificate_config_reload_status Reload(grpc_ssl_server_certificate_config** config) {
    MutexLock lock(&mutex_);
    std::optional<PemTexts> texts = std::exchange(first_, std::nullopt);
    if (!texts.has_value()) {
      absl::StatusOr<std::optional<PemTexts>> changed = Poll();
      if (!changed.ok()) return Keep(changed.status());
      if (!changed->has_value()) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
      texts = **std::move(changed);
      LogInfo("tls files reloaded");
    }
    said_.clear();
    const grpc_ssl_pem_key_cert_pair pair = {texts->key.c_str(), texts->cert.c_str()};
    // gRPC 1.51 asserts that there are roots, even if no client is asked for a certificate.
    const std::string& roots = required_ ? texts->ca : texts->cert;
    *config = grpc_ssl_server_certificate_config_create(roots.c_str(), &pair, 1);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  // Logs each fault once, not for each connection.
  grpc_ssl_certificate_config_reload_status Keep(const absl::Status& fault)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::string message(fault.message());
    if (message != said_)
      LogError("tls files not usable, keeping the previous ones error={}", Quoted(message));
    said_ = std::move(message);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
  }

  absl::StatusOr<std::optional<PemTexts>> Poll() {
    absl::StatusOr<std::optional<PemTexts>> texts = files_.Poll();
    if (!texts.ok() || !texts->has_value()) return texts;
    for (const std::string& warning : (*texts)->warnings)
      LogWarning("tls file warning={}", Quoted(warning));
    return texts;
  }

  const bool required_;
  grpc_server_credentials* credentials_ = nullptr;
  // gRPC fetches under its own lock. This one serves the thread-safety analysis and is never
  // contended.
  Mutex mutex_;
  PemWatcher files_;
  std::optional<PemTexts> first_;
  std::string said_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeTlsCredentials(PemPaths files) {
  auto credentials = std::make_shared<ReloadingCredentials>(std::move(files));
  PENSTOCK_RETURN_IF_ERROR(credentials->Load());
  return credentials;
}

}  // namespace penstock
