// Every message that parses must survive encoding and parsing again.
#include <cstdlib>

#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/stubs/logging.h"
#include "records/wire/client_message.h"

namespace {

absl::StatusOr<penstock::wire::ClientMessage> Parse(const void* data, size_t size) {
  google::protobuf::io::ArrayInputStream input(data, static_cast<int>(size));
  return penstock::wire::ParseClientMessage(input);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);  // It would log every string that is not UTF-8.
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto message = Parse(data, size);
  if (!message.ok()) return 0;
  std::string again = penstock::wire::Encode(*message);
  auto parsed = Parse(again.data(), again.size());
  if (!parsed.ok() || penstock::wire::Encode(*parsed) != again) abort();
  return 0;
}
