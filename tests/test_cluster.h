// Real servers in this process, for tests of what stands above them.
#ifndef PENSTOCK_TESTS_TEST_CLUSTER_H_
#define PENSTOCK_TESTS_TEST_CLUSTER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/server.h"

namespace penstock {

// Servers of one folder on free loopback ports, each with an engine of its own.
//
//   TestCluster cluster(folder);
//   ASSERT_OK(cluster.Add());
//   options.servers = cluster.addresses();
//   cluster.Kill(0);
//
// Not thread-safe.
class TestCluster {
 public:
  explicit TestCluster(std::string data_root) : data_root_(std::move(data_root)) {}

  absl::Status Add(uint64_t memory_budget = uint64_t{256} << 20) {
    return Start("127.0.0.1:0", memory_budget, servers_.emplace_back());
  }
  // Every stream of it breaks at once.
  void Kill(size_t i) { servers_[i].server.reset(); }
  // On the port that it had. REQUIRES: killed.
  absl::Status Restart(size_t i) {
    return Start(servers_[i].address, servers_[i].memory_budget, servers_[i]);
  }

  Server& server(size_t i) { return *servers_[i].server; }
  const std::string& address(size_t i) const { return servers_[i].address; }
  // "127.0.0.1:1,127.0.0.1:2", as LoaderOptions::servers has it.
  std::string addresses() const {
    std::string all;
    for (const Member& member : servers_) {
      absl::StrAppend(&all, all.empty() ? "" : ",", member.address);
    }
    return all;
  }

 private:
  struct Member {
    std::unique_ptr<Server> server;
    std::string address;
    uint64_t memory_budget = 0;
  };

  absl::Status Start(const std::string& listen, uint64_t memory_budget, Member& member) {
    auto server = Server::Start(
        {.listen = listen, .data_root = data_root_, .threads = 2, .memory_budget = memory_budget});
    if (!server.ok()) return server.status();
    member.server = *std::move(server);
    member.address = member.server->address();
    member.memory_budget = memory_budget;
    return absl::OkStatus();
  }

  const std::string data_root_;
  std::vector<Member> servers_;
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_TEST_CLUSTER_H_
