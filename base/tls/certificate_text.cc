#include "base/tls/certificate_text.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <memory>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

absl::Time ToTime(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return absl::InfinitePast();
  return absl::FromTM(parts, absl::UTCTimeZone());
}

// At most 256 bytes, because the text may come from a peer.
std::string ToText(const X509_NAME* name) {
  BIO* out = BIO_new(BIO_s_mem());
  X509_NAME_print_ex(out, name, 0, XN_FLAG_ONELINE & ~ASN1_STRFLGS_ESC_MSB);
  char text[256];
  int size = BIO_read(out, text, sizeof text);
  BIO_free(out);
  return size > 0 ? std::string(text, static_cast<size_t>(size)) : "(no name)";
}

std::string ToText(const ASN1_STRING* address) {
  char text[INET6_ADDRSTRLEN] = "?";
  const int family = ASN1_STRING_length(address) == 4 ? AF_INET : AF_INET6;
  if (family == AF_INET || ASN1_STRING_length(address) == 16) {
    inet_ntop(family, ASN1_STRING_get0_data(address), text, sizeof text);
  }
  return text;
}

std::string NameText(const GENERAL_NAME& name) {
  if (name.type == GEN_IPADD) return ToText(name.d.iPAddress);
  if (name.type != GEN_DNS) return "";
  const auto* bytes = reinterpret_cast<const char*>(ASN1_STRING_get0_data(name.d.dNSName));
  return std::string(bytes, static_cast<size_t>(ASN1_STRING_length(name.d.dNSName)));
}

}  // namespace

CertificateDates DatesOf(const X509* certificate) {
  return {ToTime(X509_get0_notBefore(certificate)), ToTime(X509_get0_notAfter(certificate))};
}

std::string FormatCertificateTime(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", time, absl::UTCTimeZone());
}

std::string CertificateNames(const X509* certificate) {
  constexpr int kMaxNames = 8;
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  std::string all;
  for (int i = 0; i < sk_GENERAL_NAME_num(names) && i < kMaxNames; ++i) {
    const std::string name = NameText(*sk_GENERAL_NAME_value(names, i)).substr(0, 256);
    if (!name.empty()) absl::StrAppend(&all, all.empty() ? "" : ", ", name);
  }
  if (sk_GENERAL_NAME_num(names) > kMaxNames) absl::StrAppend(&all, ", ...");
  GENERAL_NAMES_free(names);
  return all.empty() ? CertificateSubject(certificate) : all;
}

std::string CertificateSubject(const X509* certificate) {
  return ToText(X509_get_subject_name(certificate));
}

std::string CertificateIssuer(const X509* certificate) {
  return ToText(X509_get_issuer_name(certificate));
}

}  // namespace penstock
