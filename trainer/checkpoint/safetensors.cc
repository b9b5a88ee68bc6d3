#include "trainer/checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/bfloat16.h"
#include "base/bytes_of.h"
#include "base/io/atomic_file.h"
#include "base/io/file_source.h"
#include "base/status.h"
#include "base/text.h"
#include "nlohmann/json.hpp"

namespace penstock {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint64_t kMaxHeader = 100'000'000;  // The format's own limit.

struct Tensor {
  std::string dtype;
  std::vector<uint64_t> shape;
  uint64_t begin = 0;  // Offsets in the file.
  uint64_t end = 0;
};

using Contents = std::map<std::string, Tensor>;  // Tensors by name.

std::string HeaderOf(const ParameterTable& table,
                     const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header;
  header["__metadata__"] = metadata;
  uint64_t at = 0;
  for (const Parameter& parameter : table.parameters()) {
    const uint64_t end = at + parameter.count * sizeof(float);
    header[parameter.name] = {
        {"dtype", "F32"}, {"shape", parameter.shape}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

// Parses the header. Turns its offsets, which count from `base`, into offsets in the file.
absl::StatusOr<Contents> ParseHeader(const std::string& text, uint64_t base, uint64_t file_size) {
  Contents contents;
  try {  // nlohmann's accessors throw on a missing or ill-typed field.
    const nlohmann::json header = nlohmann::json::parse(text);
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") continue;
      const nlohmann::json& offsets = entry.at("data_offsets");
      const nlohmann::json &first = offsets.at(0), &last = offsets.at(1);
      if (!first.is_number_unsigned() || !last.is_number_unsigned()) {
        return absl::DataLossError(
            absl::StrCat("tensor ", Printable(name), ": its data_offsets are not whole numbers"));
      }
      const uint64_t begin = first, end = last;
      if (begin > end || end > file_size - base) {
        return absl::DataLossError(absl::StrCat("tensor ", Printable(name), " ends at byte ", end,
                                                " of ", file_size - base,
                                                ": the file is truncated"));
      }
      contents[name] = {entry.at("dtype"), entry.at("shape"), base + begin, base + end};
    }
  } catch (const nlohmann::json::exception& error) {
    return absl::DataLossError(absl::StrCat("not a safetensors header: ", error.what()));
  }
  return contents;
}

absl::StatusOr<Contents> ReadContents(const FileSource& file) {
  uint64_t size = 0;
  if (file.size() < sizeof(size)) {
    return absl::DataLossError(absl::StrCat("not a safetensors file: ", file.size(), " bytes"));
  }
  PENSTOCK_RETURN_IF_ERROR(file.ReadAt(0, {reinterpret_cast<uint8_t*>(&size), sizeof(size)}));
  if (size > kMaxHeader || size > file.size() - sizeof(size)) {
    return absl::DataLossError(
        absl::StrCat("not a safetensors file, or truncated: its header would have ", size,
                     " bytes, but the file has ", file.size()));
  }
  std::string text(size, '\0');
  PENSTOCK_RETURN_IF_ERROR(
      file.ReadAt(sizeof(size), {reinterpret_cast<uint8_t*>(text.data()), text.size()}));
  return ParseHeader(text, sizeof(size) + size, file.size());
}

absl::Status CheckTensor(const Parameter& parameter, const Tensor& tensor) {
  const bool same_shape = std::equal(tensor.shape.begin(), tensor.shape.end(),
                                     parameter.shape.begin(), parameter.shape.end());
  if (!same_shape) {
    return absl::FailedPreconditionError(
        absl::StrCat("tensor ", parameter.name, " has shape [", absl::StrJoin(tensor.shape, ", "),
                     "], but this model needs [", absl::StrJoin(parameter.shape, ", "), "]"));
  }
  if (tensor.dtype != "F32" && tensor.dtype != "BF16") {
    return absl::FailedPreconditionError(absl::StrCat("tensor ", parameter.name, " has type ",
                                                      Printable(tensor.dtype),
                                                      "; only F32 and BF16 can be read"));
  }
  const uint64_t bytes = parameter.count * (tensor.dtype == "F32" ? 4 : 2);
  if (tensor.end - tensor.begin == bytes) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("tensor ", parameter.name, " has ",
                                          tensor.end - tensor.begin, " bytes, but its shape needs ",
                                          bytes));
}

absl::Status CheckNames(const ParameterTable& table, const Contents& contents) {
  for (const Parameter& parameter : table.parameters()) {
    if (!contents.contains(parameter.name)) {
      return absl::FailedPreconditionError(
          absl::StrCat("the file has no tensor ", parameter.name,
                       ", so it is of another model; give its --model"));
    }
  }
  const std::vector<Parameter>& all = table.parameters();
  for (const auto& entry : contents) {
    const auto is_it = [&](const Parameter& p) { return p.name == entry.first; };
    if (std::none_of(all.begin(), all.end(), is_it)) {
      return absl::FailedPreconditionError(
          absl::StrCat("tensor ", Printable(entry.first),
                       " does not belong to this model; give the --model of the file"));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadTensor(const FileSource& file, const Tensor& tensor, std::span<float> out) {
  if (tensor.dtype == "F32") {
    return file.ReadAt(tensor.begin, {reinterpret_cast<uint8_t*>(out.data()), out.size_bytes()});
  }
  std::vector<uint16_t> halves(out.size());
  PENSTOCK_RETURN_IF_ERROR(file.ReadAt(
      tensor.begin, {reinterpret_cast<uint8_t*>(halves.data()), halves.size() * sizeof(uint16_t)}));
  std::transform(halves.begin(), halves.end(), out.begin(), FromBf16);
  return absl::OkStatus();
}

absl::Status Read(const FileSource& file, const ParameterTable& table, std::span<float> arena) {
  PENSTOCK_ASSIGN_OR_RETURN(const Contents contents, ReadContents(file));
  PENSTOCK_RETURN_IF_ERROR(CheckNames(table, contents));
  std::fill(arena.begin(), arena.end(), 0.0f);
  for (const Parameter& parameter : table.parameters()) {
    const Tensor& tensor = contents.at(parameter.name);
    PENSTOCK_RETURN_IF_ERROR(CheckTensor(parameter, tensor));
    PENSTOCK_RETURN_IF_ERROR(
        ReadTensor(file, tensor, arena.subspan(parameter.offset, parameter.count)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteSafetensors(const std::string& path, const ParameterTable& table,
                              std::span<const float> arena,
                              const std::map<std::string, std::string>& metadata) {
  const std::string header = HeaderOf(table, metadata);
  const uint64_t size = header.size();
  PENSTOCK_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  PENSTOCK_RETURN_IF_ERROR(file.Write(BytesOf(&size, sizeof(size))));
  PENSTOCK_RETURN_IF_ERROR(file.Write(BytesOf(header)));
  for (const Parameter& parameter : table.parameters()) {
    PENSTOCK_RETURN_IF_ERROR(
        file.Write(BytesOf(arena.data() + parameter.offset, parameter.count * sizeof(float))));
  }
  return file.Commit();
}

absl::Status ReadSafetensors(const std::string& path, const ParameterTable& table,
                             std::span<float> arena) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<FileSource> file, FileSource::Open(path));
  return Annotate(Read(*file, table, arena), absl::StrCat("weights ", path));
}

}  // namespace penstock
