#include "base/sha256.h"

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

}  // namespace
}  // namespace penstock
