#include "records/decode/spec.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/io/input_file.h"
#include "base/status.h"
#include "records/decode/builtin_specs.h"
#include "records/decode/spec_parameters.h"

namespace penstock {
namespace {

constexpr size_t kMaxSpecBytes = 1 << 20;
constexpr int kMaxReportedErrors = 4;

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// Finds the first enum field with this name in `message` or in the messages inside it.
const FieldDescriptor* FindEnumField(const Descriptor& message, const std::string& name) {
  const FieldDescriptor* field = message.FindFieldByName(name);
  if (field != nullptr && field->enum_type() != nullptr) return field;
  for (int i = 0; i < message.nested_type_count(); ++i) {
    if (const auto* found = FindEnumField(*message.nested_type(i), name)) return found;
  }
  return nullptr;
}

// Lists the values that an enum field can have: "; it is one of I32, F32, BF16". Returns an empty
// string if the spec has no such field.
std::string EnumValues(const std::string& field_name) {
  const google::protobuf::FileDescriptor& file = *v1::DecodeSpec::descriptor()->file();
  std::vector<std::string> values;
  for (int i = 0; i < file.message_type_count() && values.empty(); ++i) {
    const FieldDescriptor* field = FindEnumField(*file.message_type(i), field_name);
    if (field == nullptr) continue;
    for (int k = 0; k < field->enum_type()->value_count(); ++k) {
      values.push_back(field->enum_type()->value(k)->name());
    }
  }
  return values.empty() ? "" : absl::StrCat("; it is one of ", absl::StrJoin(values, ", "));
}

// Adds what the parser's messages lack: the allowed values.
std::string Hint(const std::string& message) {
  constexpr char kBeforeName[] = "for field \"";
  const size_t at = message.find(kBeforeName);
  if (!absl::StartsWith(message, "Unknown enumeration value") || at == std::string::npos) return "";
  const size_t begin = at + sizeof(kBeforeName) - 1;
  return EnumValues(message.substr(begin, message.find('"', begin) - begin));
}

// Collects "source:line:column: reason". Lines and columns count from 1, as in editors.
class ErrorList : public google::protobuf::io::ErrorCollector {
 public:
  explicit ErrorList(absl::string_view source) : source_(source) {}

  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (++count_ > kMaxReportedErrors) return;
    absl::StrAppend(&text_, text_.empty() ? "" : "; ", source_, ":", line + 1, ":", column + 1,
                    ": ", message, Hint(message));
  }

  const std::string& text() const { return text_; }

 private:
  absl::string_view source_;
  std::string text_;
  int count_ = 0;
};

absl::StatusOr<std::string> ReadSpecFile(const std::string& path) {
  absl::StatusOr<std::string> text = ReadInput(path, kMaxSpecBytes);
  if (text.ok()) return text;
  const absl::Status& why = text.status();
  if (!absl::IsNotFound(why)) return Annotate(why, "decode spec");
  const auto name = [](std::string* out, const BuiltinSpec& spec) {
    out->append(spec.name.data(), spec.name.size());
  };
  return Annotate(why, absl::StrCat("decode spec '", path, "' is neither built in (",
                                    absl::StrJoin(BuiltinSpecs(), ", ", name), ") nor a file"));
}

const BuiltinSpec* FindBuiltin(absl::string_view name) {
  for (const BuiltinSpec& spec : BuiltinSpecs()) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

absl::StatusOr<v1::DecodeSpec> MakeBuiltin(const BuiltinSpec& builtin,
                                           absl::string_view name_and_parameters) {
  PENSTOCK_ASSIGN_OR_RETURN(v1::DecodeSpec spec, ParseSpec(builtin.text, builtin.name));
  if (name_and_parameters.size() == builtin.name.size()) return spec;
  const absl::string_view parameters = name_and_parameters.substr(builtin.name.size() + 1);
  PENSTOCK_RETURN_IF_ERROR(Annotate(ApplyParameters(parameters, spec),
                                    absl::StrCat("decode spec '", name_and_parameters, "'")));
  return spec;
}

}  // namespace

absl::StatusOr<v1::DecodeSpec> ParseSpec(absl::string_view text, absl::string_view source) {
  ErrorList errors(source);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.SetRecursionLimit(32);
  google::protobuf::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  v1::DecodeSpec spec;
  if (!parser.Parse(&input, &spec)) {
    return absl::InvalidArgumentError(absl::StrCat("decode spec: ", errors.text()));
  }
  return spec;
}

absl::StatusOr<v1::DecodeSpec> LoadSpec(absl::string_view name_or_file) {
  const absl::string_view name = name_or_file.substr(0, name_or_file.find(':'));
  if (const BuiltinSpec* builtin = FindBuiltin(name)) return MakeBuiltin(*builtin, name_or_file);
  const std::string path(name_or_file);
  PENSTOCK_ASSIGN_OR_RETURN(const std::string text, ReadSpecFile(path));
  // A spec that a parent process passes as text has no name that a user knows.
  return ParseSpec(text, absl::StartsWith(path, "/proc/self/fd/") ? "spec" : path);
}

}  // namespace penstock
