#include "cli/short_address.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
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
}  // namespace penstock
