// Real servers in this process, for tests of the layers above them.
#ifndef PENSTOCK_TESTS_TEST_CLUSTER_H_
#define PENSTOCK_TESTS_TEST_CLUSTER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/server.h"
#include "tests/reserved_port.h"

namespace penstock {

// Servers of one folder, each with its own loopback port and its own engine.
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
    servers_.push_back({.memory_budget = memory_budget});
    return Restart(servers_.size() - 1);
  }
  // Ends a server, which breaks all of its streams at once.
  void Kill(size_t i) { servers_[i].server.reset(); }
  // Restarts a server on its old port. REQUIRES: it was killed.
  absl::Status Restart(size_t i) {
    auto server = Server::Start({.listen = address(i),
                                 .data_root = data_root_,
                                 .threads = 2,
                                 .memory_budget = servers_[i].memory_budget});
    if (!server.ok()) return server.status();
    servers_[i].server = *std::move(server);
    return absl::OkStatus();
  }

  Server& server(size_t i) { return *servers_[i].server; }
  const std::string& address(size_t i) const { return servers_[i].port.address(); }
  // Returns "127.0.0.1:1,127.0.0.1:2", for LoaderOptions::servers.
  std::string addresses() const {
    std::string all;
    for (const Member& member : servers_) {
      absl::StrAppend(&all, all.empty() ? "" : ",", member.port.address());
    }
    return all;
  }

 private:
  struct Member {
    uint64_t memory_budget = 0;
    ReservedPort port = {};
    std::unique_ptr<Server> server = nullptr;
  };

  const std::string data_root_;
  std::vector<Member> servers_;
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_TEST_CLUSTER_H_
