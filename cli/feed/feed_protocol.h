// The messages between `penstock feed` and the process that started it
// (docs/reference/feed_protocol.md). Numbers are little-endian, like those of every machine for
// which this is built.
#ifndef PENSTOCK_CLI_FEED_FEED_PROTOCOL_H_
#define PENSTOCK_CLI_FEED_FEED_PROTOCOL_H_

#include <cstdint>

namespace penstock::feed {

inline constexpr uint32_t kProtocol = 1;

enum class ToConsumer : uint32_t { kReady = 1, kBatch = 2, kEnd = 3, kError = 4, kStats = 5 };

// The bit of BatchMessage::flags for the last batch that begins in its epoch.
inline constexpr uint32_t kLastOfEpoch = 1;

// Begins every message to the consumer. In kinds other than kBatch, only `generation` and `rows`
// have a meaning: `rows` is the number of bytes of text that follow.
struct BatchMessage {
  ToConsumer kind = ToConsumer::kBatch;
  uint32_t generation = 0;
  uint32_t slot = 0;
  uint32_t flags = 0;
  uint64_t step = 0;
  uint64_t epoch = 0;
  uint64_t position = 0;
  uint64_t first_row = 0;
  uint32_t rows = 0;
  uint32_t global_rows = 0;
  uint64_t end_epoch = 0;
  uint64_t end_position = 0;
};
static_assert(sizeof(BatchMessage) == 72);

enum class ToFeed : uint32_t { kStart = 1, kRelease = 2, kWaiting = 3, kStats = 4 };

// The `value` of kStats that also asks for the page of metrics.
inline constexpr uint64_t kWithMetrics = 1;

// Begins every message from the consumer. In kStart, `value` is the number of bytes of text that
// follow.
struct RequestMessage {
  ToFeed kind = ToFeed::kRelease;
  uint32_t generation = 0;
  uint64_t value = 0;
};
static_assert(sizeof(RequestMessage) == 16);

inline constexpr uint64_t kMaxStartBytes = 4096;

}  // namespace penstock::feed

#endif  // PENSTOCK_CLI_FEED_FEED_PROTOCOL_H_
