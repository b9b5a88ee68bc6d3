#include "trainer/app/label_facts.h"

#include "absl/strings/str_cat.h"
#include "records/format/record_id.h"

namespace penstock {
namespace {

// Also 0 if a label may be a default, because nothing is added to a default.
int64_t AddedToLabels(const v1::DecodeSpec& spec) {
  for (const v1::TensorSpec& tensor : spec.tensor()) {
    if (tensor.name() != "label" || !tensor.has_label()) continue;
    return tensor.label().optional() ? 0 : tensor.label().add();
  }
  return 0;
}

std::string DescribePlace(const RecordPlace& place) {
  return absl::StrCat("record ", place.number, " of ", place.shard.path);
}

}  // namespace

LabelFacts LabelFactsOf(const ModelConfig& model, ClassesFrom from, const Manifest& manifest,
                        const v1::DecodeSpec& spec, absl::string_view builtin) {
  return {.classes = model.classes,
          .from = from,
          .named = manifest.class_names().size(),
          .added = AddedToLabels(spec),
          .spec = absl::StrCat(builtin, ":", model.side),
          .locate = [&manifest](uint64_t id) {
            return DescribePlace(manifest.PlaceOf(OrdinalOf(id)));
          }};
}

}  // namespace penstock
