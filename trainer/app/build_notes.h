// What this build of penstock-train goes without.
#ifndef PENSTOCK_TRAINER_APP_BUILD_NOTES_H_
#define PENSTOCK_TRAINER_APP_BUILD_NOTES_H_

#include <string>

namespace penstock {

// A line to print at the start; empty if it has all.
std::string BuildNotes();

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_BUILD_NOTES_H_
