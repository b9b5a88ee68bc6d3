// Makes certificate authorities for a test.
#ifndef PENSTOCK_TESTS_TEST_CERTIFICATES_H_
#define PENSTOCK_TESTS_TEST_CERTIFICATES_H_

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"

namespace penstock {

// Writes NAME.pem and NAME.key to a folder; replaces older ones. Not thread-safe.
//
//   TestAuthority ca(folder, "ca");
//   ca.Issue("server", "IP:127.0.0.1");
//   options.tls_cert = ca.cert("server");
class TestAuthority {
 public:
  TestAuthority(std::string folder, const std::string& name)
      : folder_(std::move(folder)), name_(name), key_(EVP_EC_gen("P-256")) {
    certificate_ = Make(name, key_, 30, "");
    Write(name_, certificate_, key_);
  }
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;
  ~TestAuthority() {
    X509_free(certificate_);
    EVP_PKEY_free(key_);
  }

  // `hosts` is an OpenSSL subjectAltName: "IP:127.0.0.1,DNS:a.example". A negative number of days
  // makes an expired certificate.
  void Issue(const std::string& name, const std::string& hosts, int days = 30) {
    Issue(name, hosts, days, EVP_EC_gen("P-256"), EVP_sha256());
  }
  // OpenSSL accepts neither certificate for TLS: one has a short key, the other a signature with
  // SHA-1.
  void IssueShort(const std::string& name, const std::string& hosts) {
    Issue(name, hosts, 30, EVP_RSA_gen(1024), EVP_sha256());
  }
  void IssueSha1(const std::string& name, const std::string& hosts) {
    Issue(name, hosts, 30, EVP_EC_gen("P-256"), EVP_sha1());
  }

  std::string cert() const { return cert(name_); }
  std::string cert(const std::string& name) const {
    return absl::StrCat(folder_, "/", name, ".pem");
  }
  std::string key(const std::string& name) const {
    return absl::StrCat(folder_, "/", name, ".key");
  }

 private:
  // Issues a certificate for `key`, and takes ownership of it.
  void Issue(const std::string& name, const std::string& hosts, int days, EVP_PKEY* key,
             const EVP_MD* digest) {
    X509* certificate = Make(name, key, days, hosts, digest);
    Write(name, certificate, key);
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
  X509* Make(const std::string& name, EVP_PKEY* key, int days, const std::string& hosts,
             const EVP_MD* digest = EVP_sha256()) {
    X509* made = X509_new();
    X509_set_version(made, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made), ++serial_);
    X509_gmtime_adj(X509_getm_notBefore(made), -86400L * 60);
    X509_gmtime_adj(X509_getm_notAfter(made), 86400L * days);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC,
                               reinterpret_cast<const uint8_t*>(name.c_str()), -1, -1, 0);
    X509_set_pubkey(made, key);
    X509_set_issuer_name(made, X509_get_subject_name(hosts.empty() ? made : certificate_));
    Extend(made, hosts.empty() ? NID_basic_constraints : NID_subject_alt_name,
           hosts.empty() ? "critical,CA:TRUE" : hosts);
    X509_sign(made, key_, digest);
    return made;
  }
  static void Extend(X509* certificate, int nid, const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }
  void Write(const std::string& name, X509* certificate, EVP_PKEY* key) const {
    std::FILE* file = std::fopen(cert(name).c_str(), "w");
    PEM_write_X509(file, certificate);
    std::fclose(file);
    file = std::fopen(this->key(name).c_str(), "w");
    PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(file);
  }

  const std::string folder_;
  const std::string name_;
  EVP_PKEY* const key_;
  X509* certificate_ = nullptr;
  long serial_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_TEST_CERTIFICATES_H_
