#include "trainer/comm/late_watch.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/process/start_thread.h"
#include "base/status.h"

namespace penstock {
namespace {

using std::chrono::milliseconds;

// Rank 0 sends every rank a message with an entry per rank, so it sends less often if there are
// many.
std::chrono::steady_clock::duration IntervalFor(const RankInfo& info, milliseconds late_after) {
  const milliseconds often{2000 * std::max<uint32_t>(1, info.world_size / 16)};
  return std::max(milliseconds(1), std::min(often, late_after / 4));
}

auto Place(const RankProgress& progress) { return std::tie(progress.step, progress.bucket); }

std::string PlaceText(const RankProgress& progress) {
  return absl::StrCat("step ", progress.step, ", bucket ", progress.bucket);
}

using Progresses = std::span<const std::optional<RankProgress>>;

// Returns the ranks that do not wait or are unknown; if all wait, those that are behind the others.
std::vector<size_t> LateOnes(Progresses ranks) {
  std::vector<size_t> late, behind;
  const RankProgress *first = nullptr, *last = nullptr;
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (!ranks[r].has_value() || !ranks[r]->waiting.has_value()) {
      late.push_back(r);
      continue;
    }
    if (first == nullptr || Place(*ranks[r]) < Place(*first)) first = &*ranks[r];
    if (last == nullptr || Place(*ranks[r]) > Place(*last)) last = &*ranks[r];
  }
  if (!late.empty() || Place(*first) == Place(*last)) return late;
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (Place(*ranks[r]) == Place(*first)) behind.push_back(r);
  }
  return behind;
}

const RankProgress* LongestWait(Progresses ranks, milliseconds at_least) {
  const RankProgress* longest = nullptr;
  for (const auto& rank : ranks) {
    if (!rank.has_value() || !rank->waiting.has_value() || *rank->waiting < at_least) continue;
    if (longest == nullptr || *rank->waiting > *longest->waiting) longest = &*rank;
  }
  return longest;
}

}  // namespace

std::string RankProgress::ToText() const {
  return absl::StrCat(step, " ", bucket,
                      waiting.has_value() ? absl::StrCat(" ", waiting->count()) : std::string());
}

std::optional<RankProgress> RankProgress::FromText(absl::string_view text) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ');
  RankProgress progress;
  int64_t waiting_ms = 0;
  if (words.size() < 2 || words.size() > 3 || !absl::SimpleAtoi(words[0], &progress.step) ||
      !absl::SimpleAtoi(words[1], &progress.bucket)) {
    return std::nullopt;
  }
  if (words.size() == 3) {
    if (!absl::SimpleAtoi(words[2], &waiting_ms)) return std::nullopt;
    progress.waiting = milliseconds(waiting_ms);
  }
  return progress;
}

std::string DescribeLate(Progresses ranks, milliseconds late_after) {
  const RankProgress* longest = LongestWait(ranks, late_after);
  if (longest == nullptr) return "";
  const std::vector<size_t> late = LateOnes(ranks);
  if (late.empty()) {
    return absl::StrCat("all ranks wait for each other at ", PlaceText(*longest),
                        ": a device or the network between the ranks hangs");
  }
  std::vector<std::string> names;
  for (const size_t r : late) {
    names.push_back(absl::StrCat(
        "rank ", r, ranks[r].has_value() ? absl::StrCat(" at ", PlaceText(*ranks[r])) : ""));
  }
  const std::string since =
      late_after.count() == 0
          ? std::string()
          : absl::StrCat(" for ", absl::FormatDuration(absl::FromChrono(late_after)), " or longer");
  return absl::StrCat(absl::StrJoin(names, ", "), late.size() == 1 ? " is" : " are",
                      " late: others wait at ", PlaceText(*longest), since,
                      "; check the output of the late ", late.size() == 1 ? "rank" : "ranks");
}

absl::StatusOr<std::unique_ptr<LateWatch>> LateWatch::Start(const RankInfo& info,
                                                            StoreClient& store,
                                                            LateWatchOptions options) {
  std::unique_ptr<LateWatch> watch(new LateWatch(info, store, std::move(options)));
  PENSTOCK_ASSIGN_OR_RETURN(
      watch->thread_,
      StartThread("that watches for late ranks",
                  [it = watch.get()](const std::stop_token& stop) { it->Watch(stop); }));
  return watch;
}

LateWatch::LateWatch(const RankInfo& info, StoreClient& store, LateWatchOptions options)
    : info_(info),
      store_(store),
      options_(std::move(options)),
      interval_(IntervalFor(info, options_.late_after)),
      stale_after_(std::max<Clock::duration>(2 * interval_, options_.late_after / 2)),
      words_(info.world_size) {}

LateWatch::~LateWatch() {
  thread_.request_stop();
  // Holds the lock, so that the notification cannot fall between the check of `stop` and the wait.
  MutexLock lock(&mutex_);
  changed_.NotifyAll();
}

void LateWatch::Mark(uint64_t step, uint32_t bucket) {
  MutexLock lock(&mutex_);
  own_.step = step;
  own_.bucket = bucket;
}

void LateWatch::Begin() {
  MutexLock lock(&mutex_);
  since_ = Clock::now();
}

void LateWatch::End() {
  MutexLock lock(&mutex_);
  since_.reset();
}

RankProgress LateWatch::Own() const {
  MutexLock lock(&mutex_);
  RankProgress own = own_;
  if (since_.has_value()) {
    own.waiting = std::chrono::duration_cast<milliseconds>(Clock::now() - *since_);
  }
  return own;
}

std::string LateWatch::Key(absl::string_view whose) const {
  return absl::StrCat("progress/", options_.name, "/", whose);
}

// If the store is gone, others report that.
void LateWatch::Publish() {
  if (info_.rank == 0) return ShareAll();
  std::string text = Own().ToText();
  if (text != published_) (void)store_.PutFor(0, Key(absl::StrCat(info_.rank)), text);
  published_ = std::move(text);
}

void LateWatch::ShareAll() {
  std::string text =
      absl::StrJoin(All(), ",", [](std::string* out, const std::optional<RankProgress>& rank) {
        if (rank.has_value()) out->append(rank->ToText());
      });
  if (text != shared_) (void)store_.Put(Key("all"), text);
  shared_ = std::move(text);
}

std::vector<std::optional<RankProgress>> LateWatch::ToldToRank0() const {
  std::vector<std::optional<RankProgress>> ranks(info_.world_size);
  for (size_t r = 0; r < ranks.size(); ++r) {
    const auto text = store_.Get(Key(absl::StrCat(r)), absl::ZeroDuration());
    if (text.ok()) ranks[r] = Read(r, *text);
  }
  return ranks;
}

// A waiting rank reports how long it has waited, which changes every time. A rank that repeats the
// same text is not running, and its wait is out of date.
std::optional<RankProgress> LateWatch::Read(size_t rank, absl::string_view word) const {
  std::optional<RankProgress> progress = RankProgress::FromText(word);
  const Clock::time_point now = Clock::now();
  MutexLock lock(&mutex_);
  if (words_[rank].text != word) words_[rank] = {std::string(word), now};
  if (progress.has_value() && now - words_[rank].since > stale_after_) progress->waiting.reset();
  return progress;
}

std::vector<std::optional<RankProgress>> LateWatch::All() const {
  std::vector<std::optional<RankProgress>> ranks;
  if (info_.rank == 0) {
    ranks = ToldToRank0();
  } else if (const auto all = store_.Get(Key("all"), absl::ZeroDuration()); all.ok()) {
    for (absl::string_view text : absl::StrSplit(*all, ',')) {
      // Rank 0 has already judged the words of the other ranks.
      ranks.push_back(ranks.empty() ? Read(0, text) : RankProgress::FromText(text));
    }
  }
  ranks.resize(info_.world_size);
  ranks[info_.rank] = Own();
  return ranks;
}

std::string LateWatch::Late() const { return DescribeLate(All(), milliseconds(0)); }

void LateWatch::Look() {
  std::string late = DescribeLate(All(), options_.late_after);
  if (!late.empty() && late != told_) options_.report(late);
  told_ = std::move(late);
}

// Polls instead of being woken at every wait: waits are frequent, late ranks are rare.
void LateWatch::Watch(const std::stop_token& stop) {
  while (true) {
    {
      MutexLock lock(&mutex_);
      if (!stop.stop_requested()) changed_.WaitUntil(&mutex_, Clock::now() + interval_);
      if (stop.stop_requested()) return;
    }
    Publish();
    if (options_.report) Look();
  }
}

}  // namespace penstock
