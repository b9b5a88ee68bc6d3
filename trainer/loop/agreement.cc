#include "trainer/loop/agreement.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/sha256.h"
#include "base/status.h"
#include "trainer/comm/gather.h"

namespace penstock {
namespace {

// A rank's intent in the form in which it is sent. A longer message is cut.
struct Vote {
  uint64_t position = 0;
  uint64_t batches = 0;
  Intent intent = Intent::kGo;
  char message[247] = {};
};

// A rank's message in AgreeOnBatches().
struct Offer {
  uint64_t position = 0;
  uint64_t batches = 0;
};

bool Has(const std::vector<Vote>& votes, Intent intent) {
  return std::any_of(votes.begin(), votes.end(),
                     [&](const Vote& vote) { return vote.intent == intent; });
}

absl::Status NotTogether(size_t rank, const Vote& zero, const Vote& other) {
  auto place = [](const Vote& vote) {
    return vote.intent == Intent::kEnd ? std::string("the end of its data")
                                       : absl::StrCat("position ", vote.position);
  };
  return absl::InternalError(absl::StrCat("rank 0 is at ", place(zero), ", but rank ", rank, " at ",
                                          place(other), ": give all ranks the same data"));
}

// Returns the first bytes of `text`, cut before a UTF-8 character, not within one.
absl::string_view CutTo(absl::string_view text, size_t size) {
  if (text.size() <= size) return text;
  while (size > 0 && (text[size] & 0xC0) == 0x80) --size;
  return text.substr(0, size);
}

std::span<const uint8_t> Bytes(const std::vector<float>& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float)};
}

}  // namespace

absl::StatusOr<Agreed> Agree(Communicator& ranks, Intent intent, uint64_t position,
                             const absl::Status& status, uint64_t batches) {
  Vote own{.position = intent == Intent::kGo ? position : 0, .batches = batches, .intent = intent};
  const absl::string_view message = CutTo(status.message(), sizeof(own.message) - 1);
  std::copy(message.begin(), message.end(), own.message);
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<Vote> votes, GatherOne(ranks, own));
  for (size_t r = 0; r < votes.size(); ++r) {
    if (votes[r].intent != Intent::kFailed) continue;
    const std::string why(votes[r].message, strnlen(votes[r].message, sizeof(votes[r].message)));
    return Agreed{Intent::kFailed, absl::StrCat("rank ", r, " failed: ", why)};
  }
  if (Has(votes, Intent::kStop)) return Agreed{Intent::kStop, ""};
  for (size_t r = 1; r < votes.size(); ++r) {
    if (votes[r].intent != votes[0].intent || votes[r].position != votes[0].position) {
      return NotTogether(r, votes[0], votes[r]);
    }
  }
  for (const Vote& vote : votes) batches = std::min(batches, vote.batches);
  return Agreed{intent, "", batches};
}

absl::StatusOr<uint64_t> AgreeOnBatches(Communicator& ranks, uint64_t position, uint64_t batches) {
  if (ranks.size() == 1) return batches;
  const Offer own{position, batches};
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<Offer> offers, GatherOne(ranks, own));
  for (const Offer& offer : offers) batches = std::min(batches, offer.batches);
  if (batches == 0) return 0;
  for (size_t r = 1; r < offers.size(); ++r) {
    if (offers[r].position == offers[0].position) continue;
    return NotTogether(r, {.position = offers[0].position}, {.position = offers[r].position});
  }
  return batches;
}

absl::Status CompareStates(Communicator& ranks, const TrainState& state) {
  if (ranks.size() == 1) return absl::OkStatus();
  Sha256 hash;
  for (const auto* arena : {&state.parameters, &state.m, &state.v}) hash.Update(Bytes(*arena));
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<Sha256::Digest> digests,
                            GatherOne(ranks, hash.Finish()));
  std::vector<size_t> different;
  for (size_t r = 1; r < digests.size(); ++r) {
    if (digests[r] != digests[0]) different.push_back(r);
  }
  if (different.empty()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      "after step ", state.step, ": the weights of rank ", absl::StrJoin(different, ", "),
      " differ from those of rank 0; this state is not saved; check the memory of these hosts, and "
      "resume from the last checkpoint"));
}

Intent ReadBatch(Input& input, const std::function<bool()>& should_stop, InputBatch& batch,
                 absl::Status& status) {
  const auto stops = [&] { return should_stop && should_stop(); };
  if (stops()) return Intent::kStop;
  const absl::StatusOr<bool> more = input.Next(batch);
  if (more.ok()) return *more ? Intent::kGo : Intent::kEnd;
  if (absl::IsCancelled(more.status()) && stops()) return Intent::kStop;
  status = more.status();
  return Intent::kFailed;
}

}  // namespace penstock
