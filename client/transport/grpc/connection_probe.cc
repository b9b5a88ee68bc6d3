#include "client/transport/grpc/connection_probe.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/io/unique_fd.h"
#include "base/status.h"
#include "base/tls/certificate_text.h"
#include "base/tls/pem_files.h"

namespace penstock {
namespace {

template <auto Free>
struct Freer {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using AddressPtr = std::unique_ptr<addrinfo, Freer<freeaddrinfo>>;
using ContextPtr = std::unique_ptr<SSL_CTX, Freer<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, Freer<SSL_free>>;
using X509Ptr = std::unique_ptr<X509, Freer<X509_free>>;

// OpenSSL writes to sockets with write(), whose SIGPIPE would end the process.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigemptyset(&sigpipe_);
    sigaddset(&sigpipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &sigpipe_, &before_);
  }
  ~WithoutSigpipe() {
    const timespec now{};
    if (sigismember(&before_, SIGPIPE) == 0) sigtimedwait(&sigpipe_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t sigpipe_;
  sigset_t before_;
};

// Waits for a socket, but not beyond a deadline or a stop request.
class Patience {
 public:
  Patience(absl::Duration timeout, std::stop_token stop)
      : deadline_(absl::Now() + timeout),
        wake_(eventfd(0, EFD_CLOEXEC)),
        on_stop_(stop, Wake{*this}) {}

  bool Wait(int fd, short events) {
    const int64_t left_ms = absl::ToInt64Milliseconds(deadline_ - absl::Now());
    pollfd polled[] = {{fd, events, 0}, {wake_.get(), POLLIN, 0}};
    return left_ms > 0 && poll(polled, 2, static_cast<int>(left_ms)) > 0 && polled[1].revents == 0;
  }

 private:
  struct Wake {
    Patience& self;
    void operator()() const { eventfd_write(self.wake_.get(), 1); }
  };
  const absl::Time deadline_;
  const UniqueFd wake_;
  std::stop_callback<Wake> on_stop_;
};

// Connects to `address`. kInvalidArgument: it is a name. kUnavailable: the connection failed, and
// the message says why.
absl::StatusOr<UniqueFd> Connect(const std::string& address, Patience& patience) {
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host[0] == '[') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (colon == std::string::npos ||
      getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found) != 0) {
    return absl::InvalidArgumentError(address);
  }
  const AddressPtr owned(found);
  UniqueFd fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connect(fd.get(), found->ai_addr, found->ai_addrlen) == 0) return fd;
  int error = errno;
  socklen_t size = sizeof error;
  if (error == EINPROGRESS) {
    if (!patience.Wait(fd.get(), POLLOUT)) return absl::UnavailableError("Connection timed out");
    getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0) return absl::UnavailableError(std::strerror(error));
  return fd;
}

// Whether the peer may speak TLS: it does not answer an HTTP/2 client in HTTP/2, and most likely
// ends the connection. A silent peer counts as false, because it is stopped. If the probe tried TLS
// with it, the peer would log a client that speaks TLS as soon as it continues.
bool RefusesPlaintext(int fd, Patience& patience) {
  // The client's preface and an empty SETTINGS frame. The frame's ninth byte is the string's NUL.
  static constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";
  static constexpr uint8_t kSettings = 4;
  if (send(fd, kPreface, sizeof kPreface, MSG_NOSIGNAL) != sizeof kPreface) return true;
  if (!patience.Wait(fd, POLLIN)) return false;
  uint8_t frame[9];
  return recv(fd, frame, sizeof frame, 0) != sizeof frame || frame[3] != kSettings;
}

// Returns SSL_get_error() of the finished call, or SSL_ERROR_WANT_READ if the time is over.
template <typename Call>
int Finish(SSL* ssl, int fd, Patience& patience, const Call& call) {
  while (true) {
    ERR_clear_error();
    const int result = call();
    if (result > 0) return SSL_ERROR_NONE;
    const int error = SSL_get_error(ssl, result);
    const bool reads = error == SSL_ERROR_WANT_READ;
    if (!reads && error != SSL_ERROR_WANT_WRITE) return error;
    if (!patience.Wait(fd, reads ? POLLIN : POLLOUT)) return SSL_ERROR_WANT_READ;
  }
}

bool IsUnknownIssuer(long verified) {
  return verified == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY ||
         verified == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT ||
         verified == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN ||
         verified == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT ||
         verified == X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE ||
         verified == X509_V_ERR_CERT_SIGNATURE_FAILURE;
}

// A certificate of the server's chain that did not verify.
struct RefusedCertificate {
  X509Ptr certificate;
  int depth = 0;      // 0 is the server's own certificate; greater numbers are certificates of CAs.
  bool sent = false;  // The server sent it; otherwise it is one of ours.
};

std::string TrustedFile(const TlsOptions& tls) {
  return tls.ca_file.empty() ? "the system's roots" : tls.ca_file;
}

std::string NameOf(const RefusedCertificate& refused) {
  if (refused.depth == 0) return "the server's certificate";
  return absl::StrCat("CA ", CertificateSubject(refused.certificate.get()),
                      ", which signed the server's certificate,");
}

std::string WhereToRenew(const RefusedCertificate& refused, const TlsOptions& tls) {
  if (refused.depth == 0) return "; renew it in the server's --tls-cert file";
  if (refused.sent) {
    return "; renew it in the server's --tls-cert file, after the server's certificate";
  }
  return absl::StrCat("; renew it in ", TrustedFile(tls));
}

constexpr absl::string_view kUsageAdvice =
    " (extendedKeyUsage, keyUsage); issue it without these extensions, or with ";

// A clock that is wrong looks like a certificate of another time.
std::string ThisClock() {
  return absl::StrCat(" (this machine's clock says ", FormatCertificateTime(absl::Now()), ")");
}

std::string ExplainVerification(long verified, const RefusedCertificate& refused,
                                const ProbedServer& server, const TlsOptions& tls) {
  const X509* certificate = refused.certificate.get();
  const CertificateDates dates = DatesOf(certificate);
  if (verified == X509_V_ERR_CERT_HAS_EXPIRED) {
    return absl::StrCat(NameOf(refused), " expired on ", FormatCertificateTime(dates.not_after),
                        ThisClock(), WhereToRenew(refused, tls));
  }
  if (verified == X509_V_ERR_CERT_NOT_YET_VALID) {
    return absl::StrCat(NameOf(refused), " is valid only from ",
                        FormatCertificateTime(dates.not_before), ThisClock(),
                        "; check the clocks of both machines");
  }
  if (verified == X509_V_ERR_HOSTNAME_MISMATCH || verified == X509_V_ERR_IP_ADDRESS_MISMATCH) {
    return absl::StrCat("the server's certificate is for ", CertificateNames(certificate),
                        ", not for ", server.host,
                        "; use a name of the certificate in --servers, or give it with "
                        "--tls-server-name");
  }
  if (IsUnknownIssuer(verified)) {
    return absl::StrCat("the server's certificate is signed by a CA that is not in ",
                        TrustedFile(tls), " (issuer: ", CertificateIssuer(certificate),
                        "); give that CA with --tls-ca");
  }
  if (verified == X509_V_ERR_INVALID_PURPOSE && refused.depth == 0) {
    return absl::StrCat("the server's certificate may not be used by servers", kUsageAdvice,
                        "serverAuth");
  }
  return absl::StrCat(NameOf(refused), " is refused: ", X509_verify_cert_error_string(verified));
}

int NoteRequest(SSL* ssl, void* wanted) {
  *static_cast<bool*>(wanted) = true;
  (void)ssl;
  return 1;
}

// One handshake, made as gRPC would make it.
class Handshake {
 public:
  Handshake(const ProbedServer& server, const TlsOptions& tls, bool verify)
      : server_(server), tls_(tls), context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    static constexpr uint8_t kAlpn[] = {2, 'h', '2'};
    SSL_CTX_set_alpn_protos(context_.get(), kAlpn, sizeof kAlpn);
    if (verify) Verify();
    own_ = UsePemFiles({.cert = tls.cert_file, .key = tls.key_file}, absl::Now(), context_.get());
    SSL_CTX_set_cert_cb(context_.get(), NoteRequest, &certificate_wanted_);
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_app_data(ssl_.get(), this);
    const bool numeric = IsNumeric(server.host);
    if (!numeric) SSL_set_tlsext_host_name(ssl_.get(), server.host.c_str());
    if (!verify) return;
    X509_VERIFY_PARAM* wanted = SSL_get0_param(ssl_.get());
    if (numeric) {
      X509_VERIFY_PARAM_set1_ip_asc(wanted, server.host.c_str());
    } else {
      X509_VERIFY_PARAM_set1_host(wanted, server.host.c_str(), 0);
    }
  }

  std::string Run(int fd, Patience& patience) {
    SSL_set_fd(ssl_.get(), fd);
    const int made = Finish(ssl_.get(), fd, patience, [&] { return SSL_connect(ssl_.get()); });
    if (made == SSL_ERROR_WANT_READ) return std::string(kSilentServer);
    if (made != SSL_ERROR_NONE) return ExplainHandshake(made);
    // A server that accepts us sends its settings first. One that refuses us ends the connection.
    char byte;
    const int read =
        Finish(ssl_.get(), fd, patience, [&] { return SSL_read(ssl_.get(), &byte, 1); });
    return read == SSL_ERROR_NONE || read == SSL_ERROR_WANT_READ ? "" : ExplainEnd();
  }

  // Returns, after Run(), whether the peer spoke TLS, whatever the outcome.
  bool met_tls() const {
    return X509Ptr(SSL_get1_peer_certificate(ssl_.get())) != nullptr || got_alert_;
  }

 private:
  static bool IsNumeric(const std::string& host) {
    in6_addr ignored;
    return inet_pton(AF_INET, host.c_str(), &ignored) == 1 ||
           inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
  }
  void Verify() {
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, KeepRefused);
    if (tls_.ca_file.empty()) {
      SSL_CTX_set_default_verify_paths(context_.get());
    } else {
      SSL_CTX_load_verify_locations(context_.get(), tls_.ca_file.c_str(), nullptr);
    }
  }
  // Keeps the refused certificate, because OpenSSL does not give it out after a failed handshake.
  static int KeepRefused(int accepted, X509_STORE_CTX* chain) {
    if (accepted == 1) return 1;
    auto* ssl =
        static_cast<SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
    X509* certificate = X509_STORE_CTX_get_current_cert(chain);
    if (certificate == nullptr) certificate = X509_STORE_CTX_get0_cert(chain);
    X509_up_ref(certificate);
    const int depth = X509_STORE_CTX_get_error_depth(chain);
    static_cast<Handshake*>(SSL_get_app_data(ssl))->refused_ = {
        X509Ptr(certificate), depth, depth < X509_STORE_CTX_get_num_untrusted(chain)};
    return 0;
  }

  std::string ExplainHandshake(int error) {
    if (refused_.certificate != nullptr) {
      return ExplainVerification(SSL_get_verify_result(ssl_.get()), refused_, server_, tls_);
    }
    if (error != SSL_ERROR_SSL) return certificate_wanted_ ? ExplainEnd() : "";
    const int reason = ERR_GET_REASON(ERR_peek_error());
    got_alert_ = reason >= SSL_AD_REASON_OFFSET;
    if (certificate_wanted_ || reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) return ExplainEnd();
    if (!got_alert_) {
      return "the server does not speak TLS; drop --tls, or start the server with --tls-cert and "
             "--tls-key";
    }
    return absl::StrCat("the server refused the TLS handshake: ",
                        ERR_reason_error_string(ERR_peek_error()));
  }

  // Explains why the connection ended although we accept the server.
  std::string ExplainEnd() const {
    if (!certificate_wanted_) return "";
    if (tls_.cert_file.empty()) {
      return "the server wants a client certificate (its --tls-client-ca); give --tls-cert and "
             "--tls-key";
    }
    if (!own_.ok()) return std::string(own_.status().message());
    for (const std::string& warning : own_->warnings) {
      if (absl::StrContains(warning, "the certificate ")) {
        return absl::StrCat("the server refused this client's certificate: ", warning);
      }
    }
    X509* own = SSL_CTX_get0_certificate(context_.get());
    if (X509_check_purpose(own, X509_PURPOSE_SSL_CLIENT, /*ca=*/0) != 1) {
      return absl::StrCat("the server refused this client's certificate: ", tls_.cert_file,
                          " is not for clients", kUsageAdvice, "clientAuth");
    }
    return absl::StrCat("the server refused this client's certificate ", tls_.cert_file,
                        " (issuer: ", CertificateIssuer(own),
                        "); its CA must be in the server's --tls-client-ca");
  }

  const ProbedServer& server_;
  const TlsOptions& tls_;
  bool certificate_wanted_ = false;
  bool got_alert_ = false;
  RefusedCertificate refused_;
  absl::StatusOr<PemTexts> own_;  // If it is not OK, we showed the server no certificate.
  ContextPtr context_;
  SslPtr ssl_;
};

}  // namespace

std::string ProbeConnection(const ProbedServer& server, const std::optional<TlsOptions>& tls,
                            absl::Duration timeout, std::stop_token stop) {
  const WithoutSigpipe without_sigpipe;
  Patience patience(timeout, std::move(stop));
  if (!tls.has_value()) {
    const absl::StatusOr<UniqueFd> fd = Connect(server.address, patience);
    if (!fd.ok() || !RefusesPlaintext(fd->get(), patience)) return "";
  }
  const absl::StatusOr<UniqueFd> fd = Connect(server.address, patience);
  if (!fd.ok()) return "";
  const TlsOptions none;
  Handshake handshake(server, tls.has_value() ? *tls : none, /*verify=*/tls.has_value());
  std::string cause = handshake.Run(fd->get(), patience);
  if (!tls.has_value()) {
    cause = handshake.met_tls() ? "the server speaks TLS; give --tls" : "";
  }
  ERR_clear_error();
  return cause;
}

std::string ProbeSilence(const ProbedServer& server, absl::Duration timeout) {
  Patience patience(timeout, {});
  const absl::StatusOr<UniqueFd> fd = Connect(server.address, patience);
  if (fd.ok()) return std::string(kSilentServer);
  return absl::IsUnavailable(fd.status()) ? std::string(fd.status().message()) : "";
}

}  // namespace penstock
