#include "trainer/input/label_error.h"

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

std::string SourceOf(const LabelFacts& facts) {
  switch (facts.from) {
    case ClassesFrom::kOption:
      return "from --classes";
    case ClassesFrom::kManifest:
      return "from the manifest";
    case ClassesFrom::kCheckpoint:
      return "from the checkpoint";
  }
  return "";
}

// Returns the label in the record. REQUIRES: `added` was added to it.
int64_t StoredLabel(int64_t label, const LabelFacts& facts) { return label - facts.added; }

std::string AdviceBelow(int64_t label, const LabelFacts& facts) {
  if (facts.added < 0 && StoredLabel(label, facts) >= 0) {
    return absl::StrCat("if the records' labels start at 0, remove label", facts.added,
                        " from --spec (`add: ", facts.added, "` in your own spec)");
  }
  return "labels must not be negative: leave such records out, or number the labels from 0";
}

// Says how to get more classes.
std::string AdviceForMore(int64_t label, const LabelFacts& facts) {
  switch (facts.from) {
    case ClassesFrom::kOption:
      return absl::StrCat("give --classes ", static_cast<uint64_t>(label) + 1, " or more");
    case ClassesFrom::kManifest:
      return absl::StrCat(
          "name all classes in classes.txt beside the shards and index again, or give --classes ",
          static_cast<uint64_t>(label) + 1, " or more");
    case ClassesFrom::kCheckpoint:
      if (facts.named <= facts.classes)
        return "the checkpoint's model was trained without this class";
      return absl::StrCat("the manifest names ", facts.named,
                          " classes, so the checkpoint was trained on other data");
  }
  return "";
}

std::string AdviceAbove(int64_t label, const LabelFacts& facts) {
  const std::string more = AdviceForMore(label, facts);
  // If labels count from 1, only that of the last class is too large, and it equals the number of
  // classes.
  if (static_cast<uint64_t>(label) != facts.classes || facts.added != 0) return more;
  return absl::StrCat("if the labels start at 1, give --spec ", facts.spec,
                      ",label-1 (`add: -1` of the label in your own spec); otherwise ", more);
}

}  // namespace

std::string DescribeBadLabel(int64_t label, const LabelFacts& facts) {
  std::string stored;
  if (facts.added != 0) stored = absl::StrCat(" (", StoredLabel(label, facts), " in the record)");
  return absl::StrCat("its label is ", label, stored, ", but ", facts.classes, " classes (",
                      SourceOf(facts), ") have labels 0 to ", facts.classes - 1, ": ",
                      label < 0 ? AdviceBelow(label, facts) : AdviceAbove(label, facts));
}

}  // namespace penstock
