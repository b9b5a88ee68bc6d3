#include "base/sha256.h"

#include <openssl/crypto.h>
#include <unistd.h>

#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

// The example of FIPS 180-4.
TEST(Sha256Test, MatchesThePublishedExample) {
  Sha256 hash;
  const uint8_t abc[] = {'a', 'b', 'c'};
  hash.Update(abc);
  EXPECT_EQ(hash.Hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256Test, OfAWholeIsTheSame) {
  Sha256 hash;
  const uint8_t bytes[] = {1, 2, 3, 4};
  EXPECT_EQ(Sha256::Of({}), hash.Finish());
  hash.Update(bytes);
  EXPECT_EQ(Sha256::Of(bytes), hash.Finish());
  EXPECT_EQ(Sha256::Hex(Sha256::Of(bytes)), hash.Hex());
}

TEST(Sha256Test, GoesOnAfterFinish) {
  Sha256 once, twice;
  const uint8_t bytes[] = {1, 2, 3, 4};
  once.Update(bytes);
  twice.Update(std::span(bytes).first(2));
  (void)twice.Finish();  // Shows that Finish() changes nothing.
  twice.Update(std::span(bytes).last(2));
  EXPECT_EQ(once.Hex(), twice.Hex());
}

// Initializes OpenSSL as its first user does, and reports when OpenSSL frees its memory.
void StartOpenssl() {
  OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CRYPTO_STRINGS, nullptr);
  OPENSSL_atexit([] { (void)!write(STDERR_FILENO, "cleaned", 7); });
}

// Each process that it starts has not used OpenSSL yet.
TEST(Sha256DeathTest, AThreadMayHashWhileTheProcessExits) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto end = [](bool clean) {
    StartOpenssl();
    if (clean) OPENSSL_cleanup();
    std::exit(0);
  };
  EXPECT_EXIT(end(false), ::testing::ExitedWithCode(0),
              ::testing::Not(::testing::HasSubstr("cleaned")));
  EXPECT_EXIT(end(true), ::testing::ExitedWithCode(0), ::testing::HasSubstr("cleaned"));
}

}  // namespace
}  // namespace penstock
