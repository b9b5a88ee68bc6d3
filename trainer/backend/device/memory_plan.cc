#include "trainer/backend/device/memory_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"

namespace penstock {
namespace {

std::string Mebibytes(uint64_t bytes) {
  return absl::StrFormat("%.1f MiB", double(bytes) / (1 << 20));
}

constexpr char kRemedy[] =
    "use a smaller --global-batch-size, more ranks, --precision bf16 or a smaller --model; more "
    "--virtual-shards need less memory for activations and more for gradients";

}  // namespace

MemoryPlan::Region MemoryPlan::Add(std::string what, size_t bytes, std::string detail) {
  uses_.push_back({std::move(what), bytes, std::move(detail)});
  is_reserved_.push_back(false);
  return uses_.size() - 1;
}

void MemoryPlan::Reserve(std::string what, size_t bytes, std::string detail) {
  Add(std::move(what), bytes, std::move(detail));
  is_reserved_.back() = true;
}

uint64_t MemoryPlan::bytes() const {
  uint64_t sum = 0;
  for (const MemoryUse& use : uses_) sum += use.bytes;
  return sum;
}

std::string MemoryPlan::Needs(const Device& device) const {
  const auto most =
      std::max_element(uses_.begin(), uses_.end(),
                       [](const MemoryUse& a, const MemoryUse& b) { return a.bytes < b.bytes; });
  std::string text = absl::StrCat(device.info().name, ": training takes ", Mebibytes(bytes()));
  if (most != uses_.end()) {
    absl::StrAppend(&text, ", most of it (", Mebibytes(most->bytes), ") for ", most->what);
  }
  return text;
}

absl::Status MemoryPlan::Check(const Device& device, double fraction) const {
  const DeviceInfo& info = device.info();
  const auto budget = static_cast<uint64_t>(fraction * double(info.total_bytes));
  if (bytes() > budget) {
    return absl::ResourceExhaustedError(absl::StrCat(
        Needs(device), ", but --gpu-memory-fraction ", fraction, " allows ", Mebibytes(budget),
        " of ", Mebibytes(info.total_bytes), ": raise it, or ", kRemedy));
  }
  if (bytes() <= info.free_bytes) return absl::OkStatus();
  const std::string others = device.OtherUsers();
  return absl::ResourceExhaustedError(
      absl::StrCat(Needs(device), ", but only ", Mebibytes(info.free_bytes), " of ",
                   Mebibytes(info.total_bytes), " are free",
                   others.empty() ? " (nvidia-smi shows which processes use the rest)"
                                  : absl::StrCat(" (used by others: ", others, ")"),
                   ": end them, choose another GPU (--device cuda:N), or ", kRemedy));
}

absl::Status MemoryPlan::Take(Device& device) {
  for (size_t i = 0; i < uses_.size(); ++i) {
    const MemoryUse& use = uses_[i];
    if (is_reserved_[i]) {
      addresses_.push_back(nullptr);
      continue;
    }
    absl::StatusOr<void*> address = device.Allocate(std::max<uint64_t>(use.bytes, 1));
    if (!address.ok()) {
      const std::string others = device.OtherUsers();
      return absl::Status(
          address.status().code(),
          absl::StrCat(Needs(device), ", but allocating ", Mebibytes(use.bytes), " for ", use.what,
                       " failed: ", address.status().message(),
                       others.empty() ? "" : absl::StrCat(" (used by others: ", others, ")"), "; ",
                       kRemedy));
    }
    addresses_.push_back(*address);
  }
  return absl::OkStatus();
}

}  // namespace penstock
