// Describes certificates as text for people.
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

// Formats a time as "2026-11-21 15:04:05 UTC".
std::string FormatCertificateTime(absl::Time time);

// Returns the hosts that the certificate is for: "a.example, 10.0.0.1". If it has no alternative
// names, returns its subject.
std::string CertificateNames(const X509* certificate);
// These return the subject and the issuer, each on one line: "CN = our CA".
std::string CertificateSubject(const X509* certificate);
std::string CertificateIssuer(const X509* certificate);

}  // namespace penstock

#endif  // PENSTOCK_BASE_TLS_CERTIFICATE_TEXT_H_
