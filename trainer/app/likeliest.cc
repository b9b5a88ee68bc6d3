#include "trainer/app/likeliest.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace penstock {

void SoftmaxRows(size_t classes, std::span<float> logits) {
  for (size_t first = 0; first < logits.size(); first += classes) {
    const std::span<float> row = logits.subspan(first, classes);
    const double largest = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (const float logit : row) sum += std::exp(logit - largest);
    for (float& value : row) value = static_cast<float>(std::exp(value - largest) / sum);
  }
}

std::vector<size_t> Likeliest(std::span<const float> probabilities, size_t most) {
  std::vector<size_t> classes(probabilities.size());
  std::iota(classes.begin(), classes.end(), size_t{0});
  const size_t count = std::min(most, classes.size());
  std::partial_sort(
      classes.begin(), classes.begin() + static_cast<ptrdiff_t>(count), classes.end(),
      [&](size_t a, size_t b) {
        return probabilities[a] != probabilities[b] ? probabilities[a] > probabilities[b] : a < b;
      });
  classes.resize(count);
  return classes;
}

}  // namespace penstock
