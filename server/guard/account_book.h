// Keeps the accounts of open connections, by the peer's address.
#ifndef PENSTOCK_SERVER_GUARD_ACCOUNT_BOOK_H_
#define PENSTOCK_SERVER_GUARD_ACCOUNT_BOOK_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"
#include "server/guard/connection_account.h"

namespace penstock {

// Accounts are shared by the guard, which opens and closes them, and by calls, which may outlive
// their connection. Thread-safe.
class AccountBook {
 public:
  std::shared_ptr<ConnectionAccount> Open(const std::string& peer, const WatchedSocket& socket,
                                          uint64_t max_waiting_calls) {
    auto account = std::make_shared<ConnectionAccount>(socket, max_waiting_calls);
    MutexLock lock(&mutex_);
    accounts_.insert_or_assign(peer, account);
    return account;
  }

  // Returns the account of a peer, named as gRPC names it: "ipv4:10.0.0.1:4711". For a connection
  // that is not watched it returns an account that nobody reads.
  std::shared_ptr<ConnectionAccount> Find(absl::string_view peer) const {
    {
      MutexLock lock(&mutex_);
      const auto found = accounts_.find(peer);
      if (found != accounts_.end()) return found->second;
    }
    return std::make_shared<ConnectionAccount>(WatchedSocket(), UINT64_MAX);
  }

  // Closes the account unless another connection has come from the same address since.
  void Close(const std::string& peer, const ConnectionAccount& account) {
    MutexLock lock(&mutex_);
    const auto found = accounts_.find(peer);
    if (found != accounts_.end() && found->second.get() == &account) accounts_.erase(found);
  }

 private:
  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<ConnectionAccount>> accounts_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_GUARD_ACCOUNT_BOOK_H_
