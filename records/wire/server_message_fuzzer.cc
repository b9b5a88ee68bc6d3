// Tests both ways in which a client reads: parts by hand, compared with protobuf, and all other
// messages.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/stubs/logging.h"
#include "proto/pieces.pb.h"
#include "records/wire/part_header.h"
#include "records/wire/server_message.h"

namespace {

void CheckAgainstProtobuf(const uint8_t* data, size_t size,
                          const penstock::wire::ParsedPartHeader& parsed) {
  if (parsed.data_offset + parsed.header.data_size != size) abort();
  penstock::v1::ServerMessage message;
  // Protobuf also parses the fields that our reader skips.
  if (!message.ParseFromArray(data, static_cast<int>(size))) return;
  const penstock::v1::Part& part = message.part();
  if (part.request() != parsed.header.request || part.first_row() != parsed.header.first_row ||
      part.rows() != parsed.header.rows || part.has_crc32c() != parsed.header.crc32c.has_value() ||
      part.crc32c() != parsed.header.crc32c.value_or(0) ||
      part.shared_offset() != parsed.header.shared_offset ||
      part.shared_size() != parsed.header.shared_size ||
      part.data().size() != parsed.header.data_size) {
    abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);  // It would log every string that is not UTF-8.
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  size_t seen = std::min(size, penstock::wire::kPartHeaderWindow);
  auto header = penstock::wire::ParsePartHeader({data, seen}, size);
  if (header.ok() && header->has_value()) CheckAgainstProtobuf(data, size, **header);

  google::protobuf::io::ArrayInputStream input(data, static_cast<int>(size));
  auto message = penstock::wire::ParseServerMessage(input);
  if (message.ok()) (void)penstock::wire::Encode(*message);
  return 0;
}
