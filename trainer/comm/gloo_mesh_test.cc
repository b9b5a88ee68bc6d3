#include "trainer/comm/gloo_mesh.h"

#include "gloo/transport/tcp/device.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/comm/gloo_communicator.h"
#include "trainer/comm/testing/unconnected_rank.h"

namespace penstock {
namespace {

// With two addresses, Gloo makes the larger one connect, so that the other ranks wait for this one.
std::shared_ptr<gloo::transport::Device> LargestAddress() {
  gloo::transport::tcp::attr attributes;
  attributes.hostname = "127.0.0.9";
  return gloo::transport::tcp::CreateDevice(attributes);
}

TEST(GlooMeshTest, ARankThatEndsWhileOthersWaitForItsConnectionEndsThem) {
  ExpectThatAnEndEndsConnecting(
      ConnectBy(ConnectGloo), "gloo", [](const RankInfo& info, StoreClient& store) {
        GlooMesh mesh(info);
        EXPECT_TRUE(absl::IsCancelled(mesh.Connect(LargestAddress(), store, absl::Hours(1))));
      });
}

TEST(GlooMeshTest, ARankThatDoesNotComeIsNamed) {
  ExpectThatOneWhoDoesNotComeIsNamed(ConnectBy(ConnectGloo));
}

}  // namespace
}  // namespace penstock
