// The limits of what each side accepts from the other. docs/reference/limits.md lists them.
#ifndef PENSTOCK_RECORDS_WIRE_LIMITS_H_
#define PENSTOCK_RECORDS_WIRE_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace penstock::wire {

// Version 2 adds images, rows that are replaced because they cannot be decoded, and holdout splits
// by the whole payload. Version 3 adds shards without TFRecord frames. Servers speak all versions.
// A client requests the lowest version that supports what its stream needs, and the server answers
// with the same.
inline constexpr uint32_t kFirstProtocolVersion = 1;
inline constexpr uint32_t kProtocolVersion = 3;

inline constexpr size_t kMaxClientMessageBytes = size_t{4} << 20;
inline constexpr size_t kMaxHelloBytes = size_t{256} << 10;
// A part of 1 MiB and its header, with room for other servers that send larger parts.
inline constexpr size_t kMaxServerMessageBytes = size_t{4} << 20;

inline constexpr int kMaxChunksPerWindow = 4096;
inline constexpr int kMaxDamagedRecords = 4096;
inline constexpr int kMaxTensors = 1024;
inline constexpr size_t kMaxPathBytes = 4096;
inline constexpr size_t kMaxNameBytes = 256;

}  // namespace penstock::wire

#endif  // PENSTOCK_RECORDS_WIRE_LIMITS_H_
