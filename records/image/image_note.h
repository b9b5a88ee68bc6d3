// Remarks about images that were decoded in spite of flaws.
#ifndef PENSTOCK_RECORDS_IMAGE_IMAGE_NOTE_H_
#define PENSTOCK_RECORDS_IMAGE_IMAGE_NOTE_H_

#include <cstdint>
#include <string>

namespace penstock {

// Remarks about the image of one row.
struct ImageNote {
  uint32_t row = 0;
  bool truncated = false;  // True if the file was truncated and its missing end was filled.
  uint32_t warnings = 0;   // Number of times that the library worked around damage.

  friend bool operator==(const ImageNote&, const ImageNote&) = default;
};

// Sums over several images.
struct ImageCounts {
  uint64_t truncated = 0;
  uint64_t warnings = 0;

  // `Note` is ImageNote or ImageNotes.
  template <typename Note>
  void Add(const Note& note) {
    truncated += note.truncated;
    warnings += note.warnings;
  }
  ImageCounts& operator+=(const ImageCounts& other) {
    truncated += other.truncated;
    warnings += other.warnings;
    return *this;
  }
};

// Returns "3 truncated files were filled, 5 decoder warnings". Empty if there is nothing to report.
std::string Describe(const ImageCounts& counts);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_IMAGE_NOTE_H_
