// A call that is answered, or refused, as soon as it begins.
#ifndef PENSTOCK_SERVER_ANSWERING_REACTOR_H_
#define PENSTOCK_SERVER_ANSWERING_REACTOR_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "server/grpc_status.h"
#include "server/guard/connection_account.h"

namespace penstock {

// `Base` is gRPC's reactor of that call. Owns itself. A call that the client cancelled counts as
// unanswered: a flood of calls that are reset must not look like work.
template <typename Base>
class AnsweringReactor final : public Base {
 public:
  AnsweringReactor(std::shared_ptr<ConnectionAccount> account, const absl::Status& answer)
      : account_(std::move(account)) {
    this->Finish(ToGrpcStatus(answer));
  }

 private:
  // gRPC calls it before OnDone().
  void OnCancel() override { cancelled_ = true; }
  void OnDone() override {
    if (!cancelled_) account_->OnAnswered();
    delete this;
  }

  const std::shared_ptr<ConnectionAccount> account_;  // Shared with the guard.
  bool cancelled_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_ANSWERING_REACTOR_H_
