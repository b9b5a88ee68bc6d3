#include "server/descriptor_watch.h"

#include "absl/strings/str_cat.h"
#include "records/base/process_stats.h"
#include "spdlog/spdlog.h"

namespace penstock {
namespace {

constexpr std::chrono::seconds kLookEvery{5};
constexpr std::chrono::seconds kSayEvery{60};

}  // namespace

std::optional<std::string> DescriptorAlarm::Look(uint32_t open, uint32_t limit,
                                                 Clock::time_point now) {
  const uint64_t tenths = limit == 0 ? 0 : uint64_t{10} * open / limit;
  const std::string numbers = absl::StrCat(" open=", open, " limit=", limit);
  if (raised_ && tenths < 8) {
    raised_ = false;
    return absl::StrCat("descriptors are free again", numbers);
  }
  if (tenths < 9 || (raised_ && now - said_ < kSayEvery)) return std::nullopt;
  raised_ = true;
  said_ = now;
  return absl::StrCat("out of descriptors soon", numbers,
                      " help=\"raise ulimit -n or LimitNOFILE, or use more servers\"");
}

DescriptorWatch::DescriptorWatch() : thread_([this] { Run(); }) {}

DescriptorWatch::~DescriptorWatch() {
  MutexLock lock(&mutex_);
  ending_ = true;
  changed_.NotifyAll();
}

void DescriptorWatch::Run() {
  DescriptorAlarm alarm;
  MutexLock lock(&mutex_);
  while (!ending_) {
    const ProcessStats process = ReadProcessStats();
    const auto now = DescriptorAlarm::Clock::now();
    if (auto line = alarm.Look(process.open_files, process.open_files_limit, now)) {
      spdlog::log(alarm.raised() ? spdlog::level::warn : spdlog::level::info, "{}", *line);
    }
    changed_.WaitUntil(&mutex_, now + kLookEvery);
  }
}

}  // namespace penstock
