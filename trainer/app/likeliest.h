// Logits as probabilities, and the likeliest classes.
#ifndef PENSTOCK_TRAINER_APP_LIKELIEST_H_
#define PENSTOCK_TRAINER_APP_LIKELIEST_H_

#include <cstddef>
#include <span>
#include <vector>

namespace penstock {

// The softmax of each row of logits (rows, classes), in its place.
void SoftmaxRows(size_t classes, std::span<float> logits);

// The numbers of the `most` likeliest classes, or of all if they are fewer, the likeliest first; of
// equals the lower number comes first.
std::vector<size_t> Likeliest(std::span<const float> probabilities, size_t most);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_LIKELIEST_H_
