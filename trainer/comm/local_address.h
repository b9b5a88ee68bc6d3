// The address at which the other ranks reach this host.
#ifndef PENSTOCK_TRAINER_COMM_LOCAL_ADDRESS_H_
#define PENSTOCK_TRAINER_COMM_LOCAL_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "trainer/comm/rank_info.h"

namespace penstock {

// The numeric address that this host uses towards info.rendezvous. It is a loopback address only if
// the rendezvous names a loopback address, or if this host has no other address and all ranks are
// on it. Debian resolves a host's own name to 127.0.1.1.
absl::StatusOr<std::string> LocalAddress(const RankInfo& info);

// The numeric address of a network interface; IPv4 if it has one. kUnavailable: there is no such
// interface, or it has only a link-local address.
absl::StatusOr<std::string> InterfaceAddress(const std::string& interface);

// This host's own name, or "this host".
std::string LocalHostName();

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_LOCAL_ADDRESS_H_
