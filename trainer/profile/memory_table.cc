#include "trainer/profile/memory_table.h"

#include "absl/strings/str_format.h"

namespace penstock {
namespace {

double Mebibytes(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

std::string MemoryTable(const std::string& title, const std::vector<MemoryUse>& uses) {
  std::string table = title + "\n";
  uint64_t sum = 0;
  for (const MemoryUse& use : uses) {
    absl::StrAppendFormat(&table, "  %-12s %9.1f MiB%s%s\n", use.what, Mebibytes(use.bytes),
                          use.detail.empty() ? "" : "  ", use.detail);
    sum += use.bytes;
  }
  absl::StrAppendFormat(&table, "  %-12s %9.1f MiB\n", "together", Mebibytes(sum));
  return table;
}

}  // namespace penstock
