// Commands without effect, for tests of the controller's parts.
#ifndef PENSTOCK_CLIENT_FETCH_TESTING_IDLE_ACTIONS_H_
#define PENSTOCK_CLIENT_FETCH_TESTING_IDLE_ACTIONS_H_

#include <string>
#include <vector>

#include "client/fetch/fetch_actions.h"

namespace penstock {

// Records what was opened, closed, delivered and reported. Not thread-safe.
class IdleActions final : public FetchActions {
 public:
  void OpenStream(StreamId stream, const std::string&) override { opened.push_back(stream); }
  void CloseStream(StreamId stream) override { closed.push_back(stream); }
  void OpenWindow(StreamId, const WindowRequest&) override {}
  void ReleaseWindow(StreamId, uint64_t) override {}
  void Fetch(StreamId, const FetchRequest&) override {}
  void Cancel(StreamId, uint64_t) override {}
  void Deliver(const ReadyStep& step) override { delivered.push_back(step.index); }
  void Finish() override {}
  void Fail(absl::Status) override {}
  void Report(absl::string_view line) override { reports.emplace_back(line); }

  std::vector<StreamId> opened;
  std::vector<StreamId> closed;
  std::vector<uint64_t> delivered;
  std::vector<std::string> reports;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_TESTING_IDLE_ACTIONS_H_
