// Keeps the commands of a FetchController until its caller carries them out.
#ifndef PENSTOCK_CLIENT_FETCH_COMMAND_BUFFER_H_
#define PENSTOCK_CLIENT_FETCH_COMMAND_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/fetch/fetch_actions.h"
#include "records/engine/messages.h"

namespace penstock {

// Records commands in order. CarryOut() passes them on after the controller's call has returned, so
// the caller may use the controller and its locks freely while it carries them out.
//
// A command stays valid until then: it owns its window's order, and it has the number of damaged
// records instead of a view of them. Allocates nothing for windows, requests and batches once it
// has grown. Not thread-safe.
class CommandBuffer final : public FetchActions {
 public:
  using NameChunksFunction = std::function<std::string(std::span<const uint32_t>)>;

  explicit CommandBuffer(NameChunksFunction name_chunks) : name_chunks_(std::move(name_chunks)) {}

  bool empty() const { return commands_.empty(); }
  // Calls `actions` for every command in order, and forgets them. `damaged` is the current result
  // of the controller's replaced(), a list that only grows. `actions` must not add commands. The
  // caller must hold the locks that `actions` needs, because the lock annotations do not reach
  // through templates.
  template <typename Actions>
  void CarryOut(std::span<const Damage> damaged, Actions& actions) {
    for (Command& command : commands_) {
      std::visit([&](auto& what) { what(damaged, actions); }, command);
    }
    commands_.clear();  // Keeps its memory.
  }

  void OpenStream(StreamId stream, const std::string& address) override {
    commands_.emplace_back(OpenStreamCommand{stream, address});
  }
  void CloseStream(StreamId stream) override { commands_.emplace_back(CloseStreamCommand{stream}); }
  void OpenWindow(StreamId stream, const WindowRequest& window) override {
    commands_.emplace_back(OpenWindowCommand{stream, window, window.damaged.size()});
  }
  void ReleaseWindow(StreamId stream, uint64_t window) override {
    commands_.emplace_back(ReleaseCommand{stream, window});
  }
  void Fetch(StreamId stream, const FetchRequest& fetch) override {
    commands_.emplace_back(FetchCommand{stream, fetch});
  }
  void Cancel(StreamId stream, uint64_t request) override {
    commands_.emplace_back(CancelCommand{stream, request});
  }
  void Deliver(const ReadyStep& step) override { commands_.emplace_back(DeliverCommand{step}); }
  void Finish() override { commands_.emplace_back(FinishCommand{}); }
  void Fail(absl::Status status) override {
    commands_.emplace_back(FailCommand{std::move(status)});
  }
  void Report(absl::string_view line) override {
    commands_.emplace_back(ReportCommand{std::string(line)});
  }
  std::string NameChunks(std::span<const uint32_t> chunks) const override {
    return name_chunks_(chunks);
  }

 private:
  using Damaged = std::span<const Damage>;
  struct OpenStreamCommand {
    StreamId stream;
    std::string address;
    void operator()(Damaged, auto& actions) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      actions.OpenStream(stream, address);
    }
  };
  struct CloseStreamCommand {
    StreamId stream;
    void operator()(Damaged, auto& actions) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      actions.CloseStream(stream);
    }
  };
  struct OpenWindowCommand {
    StreamId stream;
    WindowRequest window;  // Its `damaged` may be out of date.
    size_t num_damaged;    // CarryOut() passes only the first `num_damaged` records instead.
    void operator()(Damaged damaged, auto& actions) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      window.damaged = damaged.first(num_damaged);
      actions.OpenWindow(stream, window);
    }
  };
  struct ReleaseCommand {
    StreamId stream;
    uint64_t window;
    void operator()(Damaged, auto& actions) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      actions.ReleaseWindow(stream, window);
    }
  };
  struct FetchCommand {
    StreamId stream;
    FetchRequest fetch;
    void operator()(Damaged, auto& actions) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      actions.Fetch(stream, fetch);
    }
  };
  struct CancelCommand {
    StreamId stream;
    uint64_t request;
    void operator()(Damaged, auto& actions) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      actions.Cancel(stream, request);
    }
  };
  struct DeliverCommand {
    ReadyStep step;
    void operator()(Damaged, auto& actions) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      actions.Deliver(step);
    }
  };
  struct FinishCommand {
    void operator()(Damaged, auto& actions) ABSL_NO_THREAD_SAFETY_ANALYSIS { actions.Finish(); }
  };
  struct FailCommand {
    absl::Status status;
    void operator()(Damaged, auto& actions) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      actions.Fail(std::move(status));
    }
  };
  struct ReportCommand {
    std::string line;
    void operator()(Damaged, auto& actions) ABSL_NO_THREAD_SAFETY_ANALYSIS { actions.Report(line); }
  };
  using Command = std::variant<OpenStreamCommand, CloseStreamCommand, OpenWindowCommand,
                               ReleaseCommand, FetchCommand, CancelCommand, DeliverCommand,
                               FinishCommand, FailCommand, ReportCommand>;

  const NameChunksFunction name_chunks_;
  std::vector<Command> commands_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_COMMAND_BUFFER_H_
