#include "records/wire/client_message.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "proto/pieces.pb.h"
#include "records/engine/decoding.h"

namespace penstock::wire {
namespace {

// An engine has one program for each wire dtype, indexed by its number.
static_assert(v1::PieceDtype_MAX == kNumWireDtypes);

void ToProto(const ClientHello& hello, v1::ClientMessage& message) {
  v1::ClientHello& out = *message.mutable_hello();
  out.set_protocol_version(hello.protocol_version);
  *out.mutable_spec() = hello.options.spec;
  out.set_record_ids(hello.options.record_ids);
  if (hello.options.holdout_threshold != 0) {
    out.mutable_holdout()->set_feature(hello.options.holdout_feature);
    out.mutable_holdout()->set_threshold(hello.options.holdout_threshold);
  }
  out.set_client(hello.options.client);
  out.set_checksums(hello.options.checksums);
  out.set_replace_undecodable(hello.options.replace_undecodable);
}

void ToProto(const ShardRef& shard, v1::ShardRef& out) {
  out.set_path(shard.path);
  out.set_container(static_cast<v1::Container>(shard.container));
  out.set_size(shard.size);
  out.set_label(shard.label);
}

void ToProto(const ChunkRef& chunk, v1::ChunkRef& out) {
  out.set_shard(chunk.shard);
  out.set_offset(chunk.offset);
  out.set_size(chunk.size);
  out.set_raw_size(chunk.raw_size);
  out.set_records(chunk.records);
  out.set_holdout(chunk.holdout);
  out.set_crc32c(chunk.crc32c);
  out.set_ordinal(chunk.ordinal);
}

void ToProto(const DamagedRecord& damaged, uint32_t chunk, v1::DamagedRecord& out) {
  out.set_chunk(chunk);
  out.set_record(damaged.record);
  out.set_rest_of_chunk(damaged.rest_of_chunk);
}

void ToProto(const OpenWindow& window, v1::ClientMessage& message) {
  v1::OpenWindow& out = *message.mutable_open_window();
  out.set_window(window.window);
  for (const ShardRef& shard : window.shards) ToProto(shard, *out.add_shard());
  const size_t row_chunks = window.num_row_chunks();
  for (size_t i = 0; i < row_chunks; ++i) ToProto(window.chunks[i], *out.add_chunk());
  if (window.has_spare) ToProto(window.chunks.back(), *out.mutable_spare());
  out.set_split(static_cast<v1::Split>(window.split));
  out.set_shuffle(window.shuffle);
  out.set_key(window.key);
  out.set_rows(window.rows);
  out.set_needed_at(window.needed_at);
  out.set_augmentation_key(window.augmentation_key);
  for (const DamagedRecord& damaged : window.damaged) {
    if (damaged.chunk < row_chunks) {
      ToProto(damaged, damaged.chunk, *out.add_damaged());
    } else {
      ToProto(damaged, 0, *out.add_spare_damaged());
    }
  }
}

void ToProto(const Fetch& fetch, v1::ClientMessage& message) {
  v1::Fetch& out = *message.mutable_fetch();
  out.set_request(fetch.request);
  out.set_window(fetch.window);
  out.set_first_row(fetch.first_row);
  out.set_rows(fetch.rows);
  out.set_stride(fetch.stride);
  out.set_count(fetch.count);
  out.set_dtype(static_cast<v1::PieceDtype>(fetch.dtype));
  out.set_needed_at(fetch.needed_at);
}

void ToProto(const Cancel& cancel, v1::ClientMessage& message) {
  message.mutable_cancel()->set_request(cancel.request);
}

void ToProto(const Release& release, v1::ClientMessage& message) {
  message.mutable_release()->set_window(release.window);
}

void ToProto(const Ack& ack, v1::ClientMessage& message) {
  message.mutable_ack()->set_offset(ack.offset);
}

void ToProto(const SharedMemoryMapped&, v1::ClientMessage& message) {
  message.mutable_shared_memory_mapped();
}

absl::StatusOr<ClientMessage> FromProto(v1::ClientHello& hello) {
  if (hello.spec().tensor_size() > kMaxTensors) {
    return absl::InvalidArgumentError(absl::StrCat("Hello: spec of ", hello.spec().tensor_size(),
                                                   " tensors; at most ", kMaxTensors));
  }
  if (hello.client().size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(absl::StrCat("Hello: client name of ", hello.client().size(),
                                                   " bytes; at most ", kMaxNameBytes));
  }
  ClientHello out;
  out.protocol_version = hello.protocol_version();
  out.options.spec = std::move(*hello.mutable_spec());
  out.options.record_ids = hello.record_ids();
  out.options.holdout_feature = hello.holdout().feature();
  out.options.holdout_threshold = hello.holdout().threshold();
  out.options.client = hello.client();
  out.options.checksums = hello.checksums();
  out.options.replace_undecodable = hello.replace_undecodable();
  return out;
}

absl::StatusOr<ShardRef> FromProto(v1::ShardRef& shard) {
  if (!v1::Container_IsValid(shard.container())) {
    return absl::InvalidArgumentError(
        absl::StrCat("container ", static_cast<int>(shard.container()), " is not known"));
  }
  if (shard.path().size() > kMaxPathBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("shard path of ", shard.path().size(), " bytes; at most ", kMaxPathBytes));
  }
  return ShardRef{.path = std::move(*shard.mutable_path()),
                  .container = static_cast<Container>(shard.container()),
                  .size = shard.size(),
                  .label = shard.label()};
}

ChunkRef FromProto(const v1::ChunkRef& chunk) {
  return {.shard = chunk.shard(),
          .offset = chunk.offset(),
          .size = chunk.size(),
          .raw_size = chunk.raw_size(),
          .records = chunk.records(),
          .holdout = chunk.holdout(),
          .crc32c = chunk.crc32c(),
          .ordinal = chunk.ordinal()};
}

absl::Status CheckChunk(const v1::OpenWindow& window, const v1::ChunkRef& chunk) {
  if (chunk.shard() < static_cast<uint32_t>(window.shard_size())) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("window ", window.window(), ": a chunk refers to shard ", chunk.shard(),
                   ", but the window has ", window.shard_size(), " shards"));
}

absl::Status CheckCounts(const v1::OpenWindow& window) {
  const int spares = window.has_spare() ? 1 : 0;  // A spare may be in a shard of its own.
  if (window.chunk_size() > kMaxChunksPerWindow ||
      window.shard_size() > kMaxChunksPerWindow + spares) {
    return absl::InvalidArgumentError(
        absl::StrCat("window ", window.window(), ": ", window.chunk_size(), " chunks of ",
                     window.shard_size(), " shards; at most ", kMaxChunksPerWindow, " of each"));
  }
  if (!v1::Split_IsValid(window.split())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "window ", window.window(), ": split ", static_cast<int>(window.split()), " is not known"));
  }
  if (const int64_t damaged = int64_t{window.damaged_size()} + window.spare_damaged_size();
      damaged > kMaxDamagedRecords) {
    return absl::InvalidArgumentError(absl::StrCat("window ", window.window(), ": ", damaged,
                                                   " damaged records; at most ",
                                                   kMaxDamagedRecords));
  }
  for (const v1::ChunkRef& chunk : window.chunk()) {
    PENSTOCK_RETURN_IF_ERROR(CheckChunk(window, chunk));
  }
  return spares == 0 ? absl::OkStatus() : CheckChunk(window, window.spare());
}

// Returns the damaged records of the chunks, then those of the spare. The first list must not name
// the spare.
absl::StatusOr<std::vector<DamagedRecord>> DamagedOf(const v1::OpenWindow& window) {
  std::vector<DamagedRecord> out;
  out.reserve(window.damaged_size() + window.spare_damaged_size());
  const auto chunks = static_cast<uint32_t>(window.chunk_size());
  for (const v1::DamagedRecord& damaged : window.damaged()) {
    if (damaged.chunk() >= chunks) {
      return absl::InvalidArgumentError(
          absl::StrCat("window ", window.window(), ": record ", damaged.record(), " of chunk ",
                       damaged.chunk(), " is listed as damaged, but there is none"));
    }
    out.push_back({damaged.chunk(), damaged.record(), damaged.rest_of_chunk()});
  }
  for (const v1::DamagedRecord& damaged : window.spare_damaged()) {
    if (!window.has_spare()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "window ", window.window(), ": lists damaged records of a spare, but has no spare"));
    }
    out.push_back({chunks, damaged.record(), damaged.rest_of_chunk()});
  }
  return out;
}

absl::StatusOr<ClientMessage> FromProto(v1::OpenWindow& window) {
  PENSTOCK_RETURN_IF_ERROR(CheckCounts(window));
  OpenWindow out;
  out.window = window.window();
  out.shards.reserve(window.shard_size());
  for (v1::ShardRef& shard : *window.mutable_shard()) {
    absl::StatusOr<ShardRef> parsed = FromProto(shard);
    if (!parsed.ok()) {
      return Annotate(parsed.status(), absl::StrCat("window ", window.window()));
    }
    out.shards.push_back(*std::move(parsed));
  }
  out.chunks.reserve(window.chunk_size() + (window.has_spare() ? 1 : 0));
  for (const v1::ChunkRef& chunk : window.chunk()) out.chunks.push_back(FromProto(chunk));
  out.has_spare = window.has_spare();
  if (out.has_spare) out.chunks.push_back(FromProto(window.spare()));
  out.split = static_cast<Split>(window.split());
  out.shuffle = window.shuffle();
  out.key = window.key();
  out.rows = window.rows();
  out.needed_at = window.needed_at();
  out.augmentation_key = window.augmentation_key();
  PENSTOCK_ASSIGN_OR_RETURN(out.damaged, DamagedOf(window));
  return out;
}

absl::StatusOr<ClientMessage> FromProto(const v1::Fetch& fetch) {
  if (!v1::PieceDtype_IsValid(fetch.dtype()) || fetch.dtype() == v1::UNSPECIFIED) {
    return absl::InvalidArgumentError(absl::StrCat(
        "request ", fetch.request(), ": dtype ", static_cast<int>(fetch.dtype()), " is not known"));
  }
  return Fetch{.request = fetch.request(),
               .window = fetch.window(),
               .first_row = fetch.first_row(),
               .rows = fetch.rows(),
               .stride = fetch.stride(),
               .count = fetch.count(),
               .dtype = static_cast<WireDtype>(fetch.dtype()),
               .needed_at = fetch.needed_at()};
}

}  // namespace

uint32_t ProtocolVersionOf(const StreamOptions& options) {
  const auto& tensors = options.spec.tensor();
  const bool images = std::any_of(tensors.begin(), tensors.end(),
                                  [](const v1::TensorSpec& tensor) { return tensor.has_image(); });
  const bool by_one_value = !options.holdout_feature.empty() && options.holdout_by_one_value;
  const bool by_more = options.holdout_threshold != 0 && !by_one_value;
  if (!options.only_frames) return 3;
  const bool second = images || by_more || options.replace_undecodable;
  return second ? 2 : kFirstProtocolVersion;
}

std::string Encode(const ClientMessage& message) {
  v1::ClientMessage out;
  std::visit([&out](const auto& body) { ToProto(body, out); }, message);
  return out.SerializeAsString();
}

absl::StatusOr<ClientMessage> ParseClientMessage(google::protobuf::io::ZeroCopyInputStream& bytes) {
  v1::ClientMessage message;
  if (!message.ParseFromZeroCopyStream(&bytes)) {
    return absl::InvalidArgumentError("the bytes are not a ClientMessage");
  }
  switch (message.message_case()) {
    case v1::ClientMessage::kHello:
      return FromProto(*message.mutable_hello());
    case v1::ClientMessage::kOpenWindow:
      return FromProto(*message.mutable_open_window());
    case v1::ClientMessage::kFetch:
      return FromProto(message.fetch());
    case v1::ClientMessage::kCancel:
      return Cancel{message.cancel().request()};
    case v1::ClientMessage::kRelease:
      return Release{message.release().window()};
    case v1::ClientMessage::kAck:
      return Ack{message.ack().offset()};
    case v1::ClientMessage::kSharedMemoryMapped:
      return SharedMemoryMapped{};
    case v1::ClientMessage::MESSAGE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      "a ClientMessage without a message, or with one that this version does not know");
}

}  // namespace penstock::wire
