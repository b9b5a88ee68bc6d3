#include "base/io/loopback.h"

#include "gtest/gtest.h"

namespace penstock {
namespace {

TEST(LoopbackTest, NamesThatLookLikeItAreNot) {
  for (const char* host : {"localhost", "::1", "127.0.0.1", "127.9.8.7"}) {
    EXPECT_TRUE(IsLoopbackHost(host)) << host;
  }
  for (const char* host : {"127.example.com", "127.1", "127.0.0.1.example.com", "127.0.0.a", "",
                           "128.0.0.1", "0.0.0.0", "::", "localhost.example.com"}) {
    EXPECT_FALSE(IsLoopbackHost(host)) << host;
  }
}

}  // namespace
}  // namespace penstock
