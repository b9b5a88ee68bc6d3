// Turns logits into probabilities, and finds the likeliest classes.
#ifndef PENSTOCK_TRAINER_APP_LIKELIEST_H_
#define PENSTOCK_TRAINER_APP_LIKELIEST_H_

#include <cstddef>
#include <span>
#include <vector>

namespace penstock {

// Replaces each row of logits (rows, classes) by its softmax.
void SoftmaxRows(size_t classes, std::span<float> logits);

// The numbers of the `most` likeliest classes (all classes if there are fewer), the likeliest
// first. Of equally likely classes, the lower number comes first.
std::vector<size_t> Likeliest(std::span<const float> probabilities, size_t most);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_LIKELIEST_H_
