// A decode spec: how records become tensors.
#ifndef PENSTOCK_CLIENT_LOADER_DECODE_SPEC_H_
#define PENSTOCK_CLIENT_LOADER_DECODE_SPEC_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

namespace v1 {
class DecodeSpec;  // The protobuf message; only Penstock's own code needs it.
}

// Immutable; copies share it. Thread-compatible.
class DecodeSpec {
 public:
  DecodeSpec() = default;  // Without tensors.
  DecodeSpec(v1::DecodeSpec message);

  // Loads a built-in spec ("chess", "images-train", "images-eval") or a file.
  // kNotFound: there is neither such a spec nor such a file.
  // kInvalidArgument: the file is no decode spec; the message has line and column.
  static absl::StatusOr<DecodeSpec> Load(absl::string_view name_or_file);
  // Parses the text of such a file. `source` names it in errors.
  static absl::StatusOr<DecodeSpec> Parse(absl::string_view text,
                                          absl::string_view source = "spec");

  // Whether it has no tensors.
  bool empty() const;
  // The text that Parse() accepts.
  std::string ToString() const;
  const v1::DecodeSpec& message() const;

 private:
  std::shared_ptr<const v1::DecodeSpec> message_;  // Shared by copies; null: without tensors.
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_DECODE_SPEC_H_
