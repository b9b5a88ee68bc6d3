// Makes RunRanks() connect ranks as a build without Gloo does.
#include "trainer/comm/socket_communicator.h"
#include "trainer/comm/testing/rank_threads.h"
#include "trainer/comm/testing/unconnected_rank.h"

namespace penstock {
namespace {

[[maybe_unused]] const bool kConnected = [] {
  TestConnection() = ConnectBy(ConnectSockets);
  return true;
}();

}  // namespace
}  // namespace penstock
