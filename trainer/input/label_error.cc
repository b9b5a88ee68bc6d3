#include "trainer/input/label_error.h"

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

std::string SourceOf(const LabelFacts& facts) {
  switch (facts.from) {
    case ClassesFrom::kOption:
      return "--classes";
    case ClassesFrom::kManifest:
      return "the manifest names as many";
    case ClassesFrom::kCheckpoint:
      return "the checkpoint's";
  }
  return "";
}

// The label in the record. REQUIRES: `added` was added to it.
int64_t StoredLabel(int64_t label, const LabelFacts& facts) { return label - facts.added; }

std::string AdviceBelow(int64_t label, const LabelFacts& facts) {
  if (facts.added < 0 && StoredLabel(label, facts) >= 0) {
    return absl::StrCat("if the records' labels count from 0, do not subtract: leave label",
                        facts.added, " out of --spec (`add: ", facts.added,
                        "` in a spec of your own)");
  }
  return "a label below 0 is no class: leave such records out, or give labels from 0";
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
      if (facts.named <= facts.classes) return "the model knows no such class";
      return absl::StrCat("the manifest names ", facts.named,
                          " classes, so the model is of other data");
  }
  return "";
}

std::string AdviceAbove(int64_t label, const LabelFacts& facts) {
  const std::string more = AdviceForMore(label, facts);
  // If labels count from 1, the last class is the first number that is too large; no other number
  // can be.
  if (static_cast<uint64_t>(label) != facts.classes || facts.added != 0) return more;
  return absl::StrCat("if labels count from 1, give --spec ", facts.spec,
                      ",label-1 (`add: -1` of the label in a spec of your own); else ", more);
}

}  // namespace

std::string DescribeBadLabel(int64_t label, const LabelFacts& facts) {
  std::string stored;
  if (facts.added != 0) stored = absl::StrCat(" (", StoredLabel(label, facts), " in the record)");
  return absl::StrCat("its label is ", label, stored, ", and there are ", facts.classes,
                      " classes (", SourceOf(facts), "), counted from 0: ",
                      label < 0 ? AdviceBelow(label, facts) : AdviceAbove(label, facts));
}

}  // namespace penstock
