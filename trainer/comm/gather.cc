#include "trainer/comm/gather.h"

#include <vector>

namespace penstock {

absl::Status GatherRows(Communicator& ranks, size_t rows,
                        std::span<const std::span<float>> arrays) {
  if (rows == 0) return absl::OkStatus();
  std::vector<Communicator::Outgoing> out;
  std::vector<Communicator::Incoming> in;
  for (const std::span<float> array : arrays) {
    const size_t width = array.size() / rows;
    auto part = [&](size_t rank) {
      const size_t first = FirstRowOf(rank, ranks.size(), rows);
      const size_t last = FirstRowOf(rank + 1, ranks.size(), rows);
      return AsBytes(array.subspan(first * width, (last - first) * width));
    };
    for (size_t r = 0; r < ranks.size(); ++r) {
      if (r == ranks.rank()) continue;
      out.push_back({r, part(ranks.rank())});
      in.push_back({r, part(r)});
    }
  }
  return ranks.Exchange(out, in);
}

}  // namespace penstock
