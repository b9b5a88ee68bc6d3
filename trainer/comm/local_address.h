// By which address the other ranks reach this host.
#ifndef PENSTOCK_TRAINER_COMM_LOCAL_ADDRESS_H_
#define PENSTOCK_TRAINER_COMM_LOCAL_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "trainer/comm/rank_info.h"

namespace penstock {

// The numeric address that this host uses towards info.rendezvous. It is a loopback one only where
// that is, in so many words, or this host has no other and all ranks: Debian gives a host's own
// name 127.0.1.1.
absl::StatusOr<std::string> LocalAddress(const RankInfo& info);

// The numeric address of a network interface, of IPv4 if it has one. kUnavailable: it has none but
// a link-local one, or there is no such interface.
absl::StatusOr<std::string> InterfaceAddress(const std::string& interface);

// This host's own name, or "this host".
std::string LocalHostName();

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_LOCAL_ADDRESS_H_
