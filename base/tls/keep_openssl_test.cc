#include "base/tls/keep_openssl.h"

#include <openssl/crypto.h>
#include <unistd.h>

#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Initializes OpenSSL, as its first user does.
void StartOpenssl() {
  OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CRYPTO_STRINGS, nullptr);
  OPENSSL_atexit([] { (void)!write(STDERR_FILENO, "cleaned", 7); });
}

// Each test runs in a process of its own that has not used OpenSSL yet.
class KeepOpensslTest : public ::testing::Test {
 protected:
  KeepOpensslTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(KeepOpensslTest, NothingIsFreedAtTheEnd) {
  const auto use = [] {
    KeepOpensslUntilTheEnd();
    StartOpenssl();
    std::exit(0);
  };
  EXPECT_EXIT(use(), ::testing::ExitedWithCode(0), Not(HasSubstr("cleaned")));
}

TEST_F(KeepOpensslTest, ItIsByItself) {
  const auto use = [] {
    StartOpenssl();
    std::exit(0);
  };
  EXPECT_EXIT(use(), ::testing::ExitedWithCode(0), HasSubstr("cleaned"));
}

}  // namespace
}  // namespace penstock
