// What a certificate says, as text for people.
#ifndef PENSTOCK_BASE_TLS_CERTIFICATE_TEXT_H_
#define PENSTOCK_BASE_TLS_CERTIFICATE_TEXT_H_

#include <openssl/types.h>

#include <string>

#include "absl/time/time.h"

namespace penstock {

struct CertificateDates {
  absl::Time not_before;
  absl::Time not_after;
};
CertificateDates DatesOf(const X509* certificate);

// "2026-11-21 15:04:05 UTC".
std::string FormatCertificateTime(absl::Time time);

// The hosts that it is for: "a.example, 10.0.0.1"; its subject where it has no alternative names.
std::string CertificateNames(const X509* certificate);
// "CN = our CA".
std::string CertificateSubject(const X509* certificate);
std::string CertificateIssuer(const X509* certificate);

}  // namespace penstock

#endif  // PENSTOCK_BASE_TLS_CERTIFICATE_TEXT_H_
