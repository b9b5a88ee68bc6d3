// How well the plan mixes against a 10,000-record shuffle buffer and a full permutation: the
// variance of a batch mean relative to a full permutation's expectation, as JSON. Deterministic.
//
//   mixing_bench [CHUNKS]     default 8192 chunks of 1,220 records
#include <cstdio>
#include <cstdlib>

#include "client/plan/testing/mixing.h"

namespace penstock {
namespace {

constexpr uint64_t kBatch = 512;
constexpr uint64_t kBuffer = 10000;
constexpr uint32_t kChunkRows = 1220;

void Print(const char* name, const GroupedData& data, const char* separator) {
  const std::vector<float> values = data.Values(/*seed=*/1);
  const double plan = RelativeVariance(PlanOrder(data, values, {}, /*epoch=*/0), kBatch);
  const double buffer = RelativeVariance(ShuffleBufferOrder(values, kBuffer, /*seed=*/2), kBatch);
  const double permuted = RelativeVariance(PermutedOrder(values, /*seed=*/3), kBatch);
  std::printf(
      "  \"%s\": {\"records\": %llu, \"records_of_one_value\": %u, \"plan\": %.3f, "
      "\"shuffle_buffer_10000\": %.3f, \"full_permutation\": %.3f}%s\n",
      name, static_cast<unsigned long long>(data.rows()), data.group_rows, plan, buffer, permuted,
      separator);
}

int Main(int argc, char** argv) {
  const uint32_t chunks = argc > 1 ? static_cast<uint32_t>(std::atoi(argv[1])) : 8192;
  if (chunks == 0) {
    std::fprintf(stderr, "usage: mixing_bench [CHUNKS]\n");
    return 2;
  }
  std::printf("{\n  \"batch\": %llu,\n", static_cast<unsigned long long>(kBatch));
  Print("homogeneous_chunks", {chunks, kChunkRows, kChunkRows}, ",");
  Print("games_of_80", {chunks, kChunkRows, 80}, "");
  std::printf("}\n");
  return 0;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) { return penstock::Main(argc, argv); }
