#include "records/tls/pem_files.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "records/base/status.h"
#include "records/io/file_source.h"
#include "records/tls/certificate_text.h"

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
using BioPtr = std::unique_ptr<BIO, Freer<BIO_free>>;

absl::StatusOr<std::string> ReadText(const std::string& path) {
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> file, FileSource::Open(path));
  if (file->size() > kMaxFileBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", file->size(), " bytes; a PEM file has at most ", kMaxFileBytes));
  }
  std::string text(file->size(), '\0');
  PENSTOCK_RETURN_IF_ERROR(file->ReadAt(0, {reinterpret_cast<uint8_t*>(text.data()), text.size()}));
  return text;
}

BioPtr Reader(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Never asks at the terminal.
int NoPassphrase(char*, int, int, void*) { return -1; }

absl::StatusOr<X509Ptr> ParseCertificate(const std::string& text, const std::string& path) {
  X509Ptr certificate(PEM_read_bio_X509(Reader(text).get(), nullptr, NoPassphrase, nullptr));
  ERR_clear_error();
  if (certificate != nullptr) return certificate;
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": holds no PEM certificate (\"-----BEGIN CERTIFICATE-----\") that OpenSSL can read"));
}

absl::StatusOr<KeyPtr> ParseKey(const std::string& text, const std::string& path) {
  KeyPtr key(PEM_read_bio_PrivateKey(Reader(text).get(), nullptr, NoPassphrase, nullptr));
  ERR_clear_error();
  if (key != nullptr) return key;
  return absl::InvalidArgumentError(
      absl::StrCat(path,
                   ": holds no PEM private key (\"-----BEGIN PRIVATE KEY-----\") without a "
                   "passphrase that OpenSSL can read"));
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

absl::Status LoadPair(const PemPaths& paths, absl::Time now, PemTexts& texts) {
  PENSTOCK_ASSIGN_OR_RETURN(texts.cert, ReadText(paths.cert));
  PENSTOCK_ASSIGN_OR_RETURN(texts.key, ReadText(paths.key));
  PENSTOCK_ASSIGN_OR_RETURN(X509Ptr certificate, ParseCertificate(texts.cert, paths.cert));
  PENSTOCK_ASSIGN_OR_RETURN(KeyPtr key, ParseKey(texts.key, paths.key));
  const bool fit = X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (!fit) {
    return absl::InvalidArgumentError(
        absl::StrCat(paths.key, ": is not the key of the certificate ", paths.cert));
  }
  WarnOfDates(certificate.get(), paths.cert, now, texts);
  WarnOfReaders(paths.key, texts);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PemTexts> LoadPemFiles(const PemPaths& paths, absl::Time now) {
  PemTexts texts;
  if (!paths.cert.empty()) PENSTOCK_RETURN_IF_ERROR(LoadPair(paths, now, texts));
  if (!paths.ca.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(texts.ca, ReadText(paths.ca));
    PENSTOCK_ASSIGN_OR_RETURN(X509Ptr authority, ParseCertificate(texts.ca, paths.ca));
    WarnOfDates(authority.get(), paths.ca, now, texts);
  }
  return texts;
}

std::array<PemWatcher::Stamp, 3> PemWatcher::Stamps() const {
  std::array<Stamp, 3> stamps{};
  const std::string* paths[] = {&paths_.cert, &paths_.key, &paths_.ca};
  for (size_t i = 0; i < stamps.size(); ++i) {
    struct stat info;
    if (paths[i]->empty() || stat(paths[i]->c_str(), &info) != 0) continue;
    auto ns = [](const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; };
    stamps[i] = {static_cast<int64_t>(info.st_dev), static_cast<int64_t>(info.st_ino), info.st_size,
                 ns(info.st_mtim), ns(info.st_ctim)};
  }
  return stamps;
}

absl::StatusOr<std::optional<PemTexts>> PemWatcher::Poll() {
  const std::array<Stamp, 3> stamps = Stamps();  // First: a change while reading is seen next time.
  if (seen_ == stamps) return std::nullopt;
  PENSTOCK_ASSIGN_OR_RETURN(PemTexts texts, LoadPemFiles(paths_, absl::Now()));
  seen_ = stamps;
  return texts;
}

}  // namespace penstock
