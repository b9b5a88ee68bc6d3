#include "records/decode/bit_table.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

namespace penstock {
namespace {

constexpr size_t kLane = 16;
constexpr size_t kMaxPeriod = 64;

uint32_t ByteOf(const BitSource& element) { return element.bit / 8; }
uint8_t MaskOf(const BitSource& element) { return uint8_t{0x80} >> (element.bit % 8); }

// Returns the lowest and highest byte that the elements come from.
std::pair<uint32_t, uint32_t> ByteRange(std::span<const BitSource> elements) {
  uint32_t low = ByteOf(elements[0]);
  uint32_t high = low;
  for (const BitSource& element : elements) {
    low = std::min(low, ByteOf(element));
    high = std::max(high, ByteOf(element));
  }
  return {low, high};
}

BitBlock MakeBlock(std::span<const BitSource> elements) {
  const auto [low, high] = ByteRange(elements);
  BitBlock block = {};
  block.base = low;
  block.span = high - low + 1;
  for (size_t i = 0; i < elements.size(); ++i) {
    block.offset[i] = ByteOf(elements[i]) - low;
    block.index[i] = static_cast<uint8_t>(block.offset[i]);
    block.mask[i] = MaskOf(elements[i]);
    block.value[i] = elements[i].negative ? -1 : 1;
    block.negative |= uint64_t{elements[i].negative} << i;
  }
  return block;
}

// Whether `later` is `first` with all bytes moved by `shift`.
bool IsMoved(std::span<const BitSource> first, std::span<const BitSource> later, size_t shift) {
  for (size_t i = 0; i < first.size(); ++i) {
    if (later[i].bit != first[i].bit + 8 * shift || later[i].negative != first[i].negative) {
      return false;
    }
  }
  return true;
}

// Returns the number of bytes between repeats, if the row repeats after `period` blocks.
std::optional<size_t> StrideOfPeriod(std::span<const BitSource> whole, size_t period) {
  const size_t step = period * kBitBlock;
  if (whole.size() <= step || whole[step].bit < whole[0].bit) return std::nullopt;
  const size_t bits = whole[step].bit - whole[0].bit;
  if (bits % 8 != 0) return std::nullopt;
  if (!IsMoved(whole.first(whole.size() - step), whole.subspan(step), bits / 8)) {
    return std::nullopt;
  }
  return bits / 8;
}

void ChoosePeriod(std::span<const BitSource> whole, BitTable& table) {
  const size_t blocks = whole.size() / kBitBlock;
  size_t period = blocks;
  table.repeats = blocks == 0 ? 0 : 1;
  for (size_t candidate = 1; candidate <= std::min(kMaxPeriod, blocks); ++candidate) {
    if (blocks % candidate != 0) continue;
    if (const std::optional<size_t> stride = StrideOfPeriod(whole, candidate)) {
      period = candidate;
      table.stride = *stride;
      table.repeats = blocks / candidate;
      break;
    }
  }
  table.period.reserve(period);
  for (size_t p = 0; p < period; ++p) {
    table.period.push_back(MakeBlock(whole.subspan(p * kBitBlock, kBitBlock)));
  }
}

// Chooses the base of a lane so that the 16 bytes from there cover the lane's bytes, and lie inside
// the row for all repeats, from the first (moved by 0) to the last (moved by `last_move`).
bool PlaceLane(size_t lane, size_t last_move, uint32_t row_bytes, BitBlock& block) {
  int64_t low = INT64_MAX;
  int64_t high = 0;
  for (size_t i = lane * kLane; i < (lane + 1) * kLane; ++i) {
    if (block.mask[i] == 0) continue;
    low = std::min<int64_t>(low, block.offset[i]);
    high = std::max<int64_t>(high, block.offset[i]);
  }
  if (low == INT64_MAX) low = 0;  // A lane without elements: any place inside the row will do.
  const int64_t origin = block.base;
  const int64_t end = int64_t{row_bytes} - static_cast<int64_t>(last_move) - 16 - origin;
  const int64_t base = std::min(low, end);
  if (base < -origin || high >= base + 16) return false;
  block.lane_base[lane] = static_cast<int32_t>(base);
  for (size_t i = lane * kLane; i < (lane + 1) * kLane; ++i) {
    block.lane_index[i] = block.mask[i] ? static_cast<uint8_t>(block.offset[i] - base) : 0;
  }
  return true;
}

void PlaceLanes(size_t last_move, uint32_t row_bytes, BitBlock& block) {
  block.lanes = true;
  for (size_t lane = 0; lane < 4; ++lane) {
    if (!PlaceLane(lane, last_move, row_bytes, block)) block.lanes = false;
  }
}

// The effect of one source byte on eight elements. Each entry is for one bit, most significant
// first: the elements that become +1 and the elements that become -1.
using ByteUse = std::array<std::pair<uint8_t, uint8_t>, 8>;

std::array<uint64_t, 256> MakeByteTable(const ByteUse& use) {
  std::array<uint64_t, 256> table;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    std::array<int8_t, 8> out = {};
    for (size_t bit = 0; bit < 8; ++bit) {
      if ((byte & (0x80u >> bit)) == 0) continue;
      for (size_t i = 0; i < 8; ++i) {
        if (use[bit].first >> i & 1) out[i] = 1;
        if (use[bit].second >> i & 1) out[i] = -1;
      }
    }
    std::memcpy(&table[byte], out.data(), 8);
  }
  return table;
}

// Shares byte tables between groups.
class ByteTables {
 public:
  ByteTables(size_t most, std::vector<std::array<uint64_t, 256>>& tables)
      : most_(most), tables_(tables) {}

  std::optional<uint32_t> Find(const ByteUse& use) {
    if (const auto it = known_.find(use); it != known_.end()) return it->second;
    if (tables_.size() == most_) return std::nullopt;
    tables_.push_back(MakeByteTable(use));
    return known_[use] = static_cast<uint32_t>(tables_.size() - 1);
  }

 private:
  const size_t most_;
  std::vector<std::array<uint64_t, 256>>& tables_;
  std::map<ByteUse, uint32_t> known_;
};

std::map<uint32_t, ByteUse> UsesOfGroup(const BitBlock& block, size_t group) {
  std::map<uint32_t, ByteUse> uses;
  for (size_t i = 0; i < 8; ++i) {
    const size_t element = group * 8 + i;
    if (block.mask[element] == 0) continue;
    const int bit = __builtin_clz(uint32_t{block.mask[element]} << 24);
    auto& [positive, negative] = uses[block.offset[element]][static_cast<size_t>(bit)];
    (block.value[element] < 0 ? negative : positive) |= static_cast<uint8_t>(1u << i);
  }
  return uses;
}

void FillGroups(ByteTables& tables, BitBlock& block) {
  for (size_t g = 0; g < block.groups.size(); ++g) {
    const std::map<uint32_t, ByteUse> uses = UsesOfGroup(block, g);
    if (uses.size() > ByteGroup::kMaxBytes) continue;
    ByteGroup group;
    for (const auto& [offset, use] : uses) {
      const std::optional<uint32_t> table = tables.Find(use);
      if (!table) {
        group.num_bytes = 0;
        break;
      }
      group.offset[group.num_bytes] = offset;
      group.table[group.num_bytes++] = *table;
    }
    block.groups[g] = group;
  }
}

}  // namespace

size_t BitTable::bytes() const {
  return sizeof(BitTable) + period.capacity() * sizeof(BitBlock) +
         byte_tables.capacity() * sizeof(byte_tables[0]);
}

BitTable BuildBitTable(std::span<const BitSource> elements, uint32_t row_bytes,
                       size_t max_byte_tables) {
  BitTable table;
  table.size = elements.size();
  table.tail_size = elements.size() % kBitBlock;
  ChoosePeriod(elements.first(elements.size() - table.tail_size), table);
  table.tail = table.tail_size == 0 ? BitBlock{} : MakeBlock(elements.last(table.tail_size));

  const size_t last_move = table.repeats == 0 ? 0 : (table.repeats - 1) * table.stride;
  ByteTables byte_tables(max_byte_tables, table.byte_tables);
  for (BitBlock& block : table.period) {
    PlaceLanes(last_move, row_bytes, block);
    FillGroups(byte_tables, block);
  }
  PlaceLanes(0, row_bytes, table.tail);
  FillGroups(byte_tables, table.tail);
  table.byte_tables.shrink_to_fit();
  return table;
}

}  // namespace penstock
