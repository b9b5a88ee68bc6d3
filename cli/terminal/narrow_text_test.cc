#include "cli/terminal/narrow_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

TEST(ShortNumberTest, CountsHaveThreeDigits) {
  EXPECT_EQ(ShortCount(0), "0");
  EXPECT_EQ(ShortCount(999), "999");
  EXPECT_EQ(ShortCount(999.6), "1.00k");
  EXPECT_EQ(ShortCount(12345), "12.3k");
  EXPECT_EQ(ShortCount(999'900), "1.00M");
  EXPECT_EQ(ShortCount(1.5e9), "1.50G");
  EXPECT_EQ(ShortCount(123e12), "123T");
}

TEST(ShortNumberTest, BytesAreInBinaryUnits) {
  EXPECT_EQ(ShortBytes(0), "0");
  EXPECT_EQ(ShortBytes(999), "999");
  EXPECT_EQ(ShortBytes(1000), "1.0Ki");
  EXPECT_EQ(ShortBytes(1024 * 9.96), "10Ki");
  EXPECT_EQ(ShortBytes(64 << 20), "64Mi");
  EXPECT_EQ(ShortBytes(6.3e9), "5.9Gi");
  EXPECT_EQ(ShortBytes(999.6 * (1 << 20)), "1.0Gi");
}

TEST(ShortNumberTest, WholeNumbersHaveFourColumns) {
  EXPECT_EQ(ShortWhole(9999), "9999");
  EXPECT_EQ(ShortWhole(10'400), "10k");
}

TEST(ShortNumberTest, CoresHaveATenthUpToAHundred) {
  EXPECT_EQ(ShortCores(0.52), "0.5");
  EXPECT_EQ(ShortCores(99.9), "99.9");
  EXPECT_EQ(ShortCores(212), "212");
}

}  // namespace

namespace {

using ::testing::ElementsAre;

TEST(ShortAddressTest, WhatFitsStaysAsItIs) {
  EXPECT_THAT(ShortAddresses({"a.example.org:7070", "b.example.org:7070"}, 21),
              ElementsAre("a.example.org:7070", "b.example.org:7070"));
}

TEST(ShortAddressTest, NamesLoseTheDomainThatAllShare) {
  EXPECT_THAT(ShortAddresses({"node1.rack1.cluster.example.org:7070",
                              "node1.rack2.cluster.example.org:7070", "10.0.0.1:7070"},
                             21),
              ElementsAre("node1.rack1:7070", "node1.rack2:7070", "10.0.0.1:7070"));
  EXPECT_THAT(ShortAddresses({"a.cluster.example.org:7070", "a.cluster.example.org:7071"}, 21),
              ElementsAre("a:7070", "a:7071"));
}

TEST(ShortAddressTest, AHostOfTheDomainsNameKeepsAName) {
  EXPECT_THAT(ShortAddresses({"node1.cluster.example.org:1", "cluster.example.org:1"}, 21),
              ElementsAre("node1.cluster:1", "cluster:1"));
}

TEST(ShortAddressTest, WithoutASharedDomainTheMiddleIsCut) {
  EXPECT_THAT(ShortAddresses({"node1.cluster.example.org:7070", "localhost:7070",
                              "[2001:db8:1234:5678::17]:7070"},
                             21),
              ElementsAre("node1.clu..e.org:7070", "localhost:7070", "[2001:db8..::17]:7070"));
  EXPECT_THAT(ShortAddresses({"node1.example.org:7070", "node2.example.com:7070"}, 21),
              ElementsAre("node1.exa..e.org:7070", "node2.exa..e.com:7070"));
}

TEST(ShortAddressTest, ALongNameKeepsItsBeginningAndItsNumber) {
  EXPECT_THAT(ShortAddresses({"preprocessing-server-16.penstock.default.svc.cluster.local:7070",
                              "preprocessing-server-17.penstock.default.svc.cluster.local:7070"},
                             21),
              ElementsAre("preproces..er-16:7070", "preproces..er-17:7070"));
}

TEST(ShortAddressTest, CutsTheMiddle) {
  EXPECT_EQ(CutInTheMiddle("0123456789", 10), "0123456789");
  EXPECT_EQ(CutInTheMiddle("0123456789", 9), "012..6789");
  EXPECT_EQ(CutInTheMiddle("0123456789", 8), "012..789");
}

}  // namespace

namespace {

using ::testing::ElementsAre;

TEST(FirstLinesTest, SayThatThereIsMore) {
  const std::vector<std::string> lines = {"one", "three", "four"};
  EXPECT_THAT(FirstLines(lines, 3, 5), ElementsAre("one", "three", "four"));
  EXPECT_THAT(FirstLines(lines, 2, 5), ElementsAre("one", "thr.."));
  EXPECT_THAT(FirstLines(lines, 1, 5), ElementsAre("one.."));
}

}  // namespace

}  // namespace penstock
