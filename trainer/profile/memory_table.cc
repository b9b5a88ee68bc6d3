#include "trainer/profile/memory_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace penstock {
namespace {

double Mebibytes(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::string Columns(const std::vector<uint64_t>& of_rank) {
  std::string text;
  if (of_rank.size() <= kRankColumns) {
    for (uint64_t bytes : of_rank) absl::StrAppendFormat(&text, " %9.1f", Mebibytes(bytes));
    return text;
  }
  const auto [least, most] = std::minmax_element(of_rank.begin(), of_rank.end());
  return absl::StrFormat(" %9.1f %9.1f %9d", Mebibytes(*least), Mebibytes(*most),
                         most - of_rank.begin());
}

std::string Heading(size_t ranks) {
  if (ranks > kRankColumns) return "  smallest   largest   of rank";
  std::string text;
  for (size_t rank = 0; rank < ranks; ++rank) {
    absl::StrAppendFormat(&text, " %9s", absl::StrCat("rank ", rank));
  }
  return text;
}

}  // namespace

std::string MemoryTable(const std::string& title, const std::vector<MemoryUse>& uses) {
  std::string table = title + "\n";
  uint64_t sum = 0;
  for (const MemoryUse& use : uses) {
    absl::StrAppendFormat(&table, "  %-12s %9.1f MiB%s%s\n", use.what, Mebibytes(use.bytes),
                          use.detail.empty() ? "" : "  ", use.detail);
    sum += use.bytes;
  }
  absl::StrAppendFormat(&table, "  %-12s %9.1f MiB\n", "total", Mebibytes(sum));
  return table;
}

std::string RanksMemoryTable(const std::vector<MemoryUse>& uses,
                             const std::vector<std::vector<uint64_t>>& bytes) {
  std::string table = absl::StrFormat("  %-12s%s\n", "memory, MiB", Heading(bytes.size()));
  std::vector<uint64_t> sums(bytes.size());
  for (size_t use = 0; use < uses.size(); ++use) {
    std::vector<uint64_t> of_rank;
    for (size_t rank = 0; rank < bytes.size(); ++rank) {
      of_rank.push_back(bytes[rank][use]);
      sums[rank] += bytes[rank][use];
    }
    const std::string& detail = uses[use].detail;
    absl::StrAppendFormat(&table, "  %-12s%s%s%s\n", uses[use].what, Columns(of_rank),
                          detail.empty() ? "" : "  ", detail);
  }
  absl::StrAppendFormat(&table, "  %-12s%s\n", "total", Columns(sums));
  return table;
}

}  // namespace penstock
