#include "base/tls/pem_files.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <cstddef>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/io/text_file.h"
#include "base/status.h"
#include "base/tls/certificate_text.h"

namespace penstock {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{1} << 20;

template <auto Free>
struct Freer {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using X509Ptr = std::unique_ptr<X509, Freer<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using ContextPtr = std::unique_ptr<SSL_CTX, Freer<SSL_CTX_free>>;
using BioPtr = std::unique_ptr<BIO, Freer<BIO_free>>;

absl::StatusOr<std::string> ReadText(const std::string& path) {
  return ReadTextFile(path, kMaxFileBytes, "a PEM file has at most");
}

BioPtr Reader(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Never prompts at the terminal.
int NoPassphrase(char*, int, int, void*) { return -1; }

// Returns the first error in the queue, which has the cause. Later errors say where it was found.
std::string TakeOpenSslError() {
  const char* reason = ERR_reason_error_string(ERR_peek_error());
  ERR_clear_error();
  return reason != nullptr ? reason : "OpenSSL does not say why";
}

bool AtEndOfPem() {
  const unsigned long error = ERR_peek_last_error();
  return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

// The number of lines that end a certificate. If a certificate's first line is damaged, OpenSSL
// takes the certificate for text between others.
size_t CountEnds(absl::string_view text) {
  constexpr absl::string_view kEnd = "\n-----END CERTIFICATE-----";
  size_t count = 0;
  for (size_t at = 0; (at = text.find(kEnd, at)) != text.npos; at += kEnd.size()) ++count;
  return count;
}

// Returns all certificates of the file, at least one. A damaged one is an error, because gRPC 1.51
// drops it and all certificates after it.
absl::StatusOr<std::vector<X509Ptr>> ParseCertificates(const std::string& text,
                                                       const std::string& path) {
  ERR_clear_error();  // gRPC leaves some errors of its connections behind.
  std::vector<X509Ptr> all;
  const BioPtr reader = Reader(text);
  while (X509* next = PEM_read_bio_X509(reader.get(), nullptr, NoPassphrase, nullptr)) {
    all.emplace_back(next);
  }
  if (!AtEndOfPem()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": certificate ", all.size() + 1,
                                                   " cannot be read (", TakeOpenSslError(),
                                                   "): the file is damaged, write it again"));
  }
  ERR_clear_error();
  if (all.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        ": holds no PEM certificate (\"-----BEGIN CERTIFICATE-----\") that OpenSSL can read"));
  }
  const size_t ends = CountEnds(text);
  if (ends <= all.size()) return all;
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": has ", ends, " lines \"-----END CERTIFICATE-----\", but only ", all.size(),
      " certificates: a line \"-----BEGIN CERTIFICATE-----\" is damaged; write the "
      "file again"));
}

absl::StatusOr<KeyPtr> ParseKey(const std::string& text, const std::string& path) {
  KeyPtr key(PEM_read_bio_PrivateKey(Reader(text).get(), nullptr, NoPassphrase, nullptr));
  ERR_clear_error();
  if (key != nullptr) return key;
  return absl::InvalidArgumentError(
      absl::StrCat(path,
                   ": holds no PEM private key (\"-----BEGIN PRIVATE KEY-----\") that OpenSSL "
                   "can read without a passphrase"));
}

void WarnOfDates(X509* certificate, const std::string& path, absl::Time now, PemTexts& texts) {
  const CertificateDates dates = DatesOf(certificate);
  if (now > dates.not_after) {
    texts.warnings.push_back(absl::StrCat(path, ": the certificate expired on ",
                                          FormatCertificateTime(dates.not_after)));
  } else if (now < dates.not_before) {
    texts.warnings.push_back(absl::StrCat(path, ": the certificate is valid only from ",
                                          FormatCertificateTime(dates.not_before)));
  }
}

void WarnOfReaders(const std::string& path, PemTexts& texts) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || (info.st_mode & S_IROTH) == 0) return;
  texts.warnings.push_back(
      absl::StrCat(path, ": every user of this machine can read this key; chmod 600 it"));
}

absl::Status Refused(const std::string& path, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": OpenSSL refuses ", what, ": ", TakeOpenSslError(),
                   "; issue it with a key of P-256, or RSA of 2048 bits, and SHA-256"));
}

// OpenSSL can read more than it accepts for TLS: its security level requires long keys and good
// digests.
absl::Status UsePair(const std::vector<X509Ptr>& chain, EVP_PKEY* key, const PemPaths& paths,
                     SSL_CTX* context) {
  if (context == nullptr) {
    ERR_clear_error();
    return absl::InternalError(
        absl::StrCat(paths.cert, ": OpenSSL cannot create a TLS context; check openssl.cnf"));
  }
  for (size_t i = 0; i < chain.size(); ++i) {
    X509* certificate = chain[i].get();
    const long used = i == 0 ? SSL_CTX_use_certificate(context, certificate)
                             : SSL_CTX_add1_chain_cert(context, certificate);
    if (used != 1) return Refused(paths.cert, absl::StrCat("certificate ", i + 1));
  }
  if (SSL_CTX_use_PrivateKey(context, key) != 1) return Refused(paths.key, "the key");
  return absl::OkStatus();
}

absl::Status LoadPair(const PemPaths& paths, absl::Time now, SSL_CTX* context, PemTexts& texts) {
  PENSTOCK_ASSIGN_OR_RETURN(texts.cert, ReadText(paths.cert));
  PENSTOCK_ASSIGN_OR_RETURN(texts.key, ReadText(paths.key));
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<X509Ptr> chain, ParseCertificates(texts.cert, paths.cert));
  PENSTOCK_ASSIGN_OR_RETURN(KeyPtr key, ParseKey(texts.key, paths.key));
  X509* certificate = chain.front().get();
  const bool fit = X509_check_private_key(certificate, key.get()) == 1;
  ERR_clear_error();
  if (!fit) {
    return absl::InvalidArgumentError(
        absl::StrCat(paths.key, ": is not the key of the certificate ", paths.cert));
  }
  PENSTOCK_RETURN_IF_ERROR(UsePair(chain, key.get(), paths, context));
  WarnOfDates(certificate, paths.cert, now, texts);
  WarnOfReaders(paths.key, texts);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PemTexts> LoadPemFiles(const PemPaths& paths, absl::Time now) {
  const ContextPtr trial(paths.cert.empty() ? nullptr : SSL_CTX_new(TLS_method()));
  return UsePemFiles(paths, now, trial.get());
}

absl::StatusOr<PemTexts> UsePemFiles(const PemPaths& paths, absl::Time now, SSL_CTX* context) {
  PemTexts texts;
  if (!paths.ca.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(texts.ca, ReadText(paths.ca));
    PENSTOCK_ASSIGN_OR_RETURN(std::vector<X509Ptr> authorities,
                              ParseCertificates(texts.ca, paths.ca));
    WarnOfDates(authorities.front().get(), paths.ca, now, texts);
  }
  // The pair comes last, so that `context` stays unchanged if the other file is bad.
  if (!paths.cert.empty()) PENSTOCK_RETURN_IF_ERROR(LoadPair(paths, now, context, texts));
  return texts;
}

absl::StatusOr<absl::Time> CertificateExpiry(const std::string& path) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<X509Ptr> chain, ParseCertificates(text, path));
  absl::Time first = absl::InfiniteFuture();
  for (const X509Ptr& certificate : chain) {
    first = std::min(first, DatesOf(certificate.get()).not_after);
  }
  return first;
}

std::array<FileStamp, 3> PemWatcher::Stamps() const {
  return {FileStamp::At(paths_.cert), FileStamp::At(paths_.key), FileStamp::At(paths_.ca)};
}

absl::StatusOr<std::optional<PemTexts>> PemWatcher::Poll() {
  const auto stamps = Stamps();  // Before reading: a change during the read is seen next time.
  if (seen_ == stamps) return std::nullopt;
  PENSTOCK_ASSIGN_OR_RETURN(PemTexts texts, LoadPemFiles(paths_, absl::Now()));
  seen_ = stamps;
  return texts;
}

}  // namespace penstock
