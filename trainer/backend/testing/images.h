// Random images for tests and benchmarks, and models that are small enough to test each part.
#ifndef PENSTOCK_TRAINER_BACKEND_TESTING_IMAGES_H_
#define PENSTOCK_TRAINER_BACKEND_TESTING_IMAGES_H_

#include <cstdint>
#include <vector>

#include "base/counter_rng.h"
#include "trainer/backend/batch_rows.h"
#include "trainer/model/model_config.h"

namespace penstock {

// Images of random pixels, with classes.
struct RandomImages {
  RandomImages(const ModelConfig& config, size_t count, uint64_t seed = 1)
      : side(config.side), pixels(count * side * side * 3), classes(count) {
    CounterRng rng(seed);
    for (uint8_t& byte : pixels) byte = static_cast<uint8_t>(rng.Next());
    for (float& number : classes) number = static_cast<float>(rng.Next() % config.classes);
  }
  BatchRows rows() const {
    return {ImagesOf(side), classes.size(), pixels.data(), nullptr, classes.data()};
  }

  size_t side;
  std::vector<uint8_t> pixels;
  std::vector<float> classes;
};

// Has all features of a "vit": wide attention, two GELUs, a head over all tokens, dropout
// everywhere.
inline ModelConfig TinyVit() {
  ModelConfig config{"tiny-vit", 2, 32, 2, 48};
  config.attention_width = 64;
  config.side = 12;
  config.patch = 4;
  config.classes = 5;
  config.head = {24, 16};
  config.flatten = true;
  config.gelu_twice = true;
  config.dropout = 0.2;
  config.head_dropout = 0.3;
  return config;
}

// Computes its logits from the mean of the tokens, like "vit-small". Its pixel statistics are not
// ImageNet's.
inline ModelConfig TinyPooledVit() {
  ModelConfig config{"tiny-pooled-vit", 2, 32, 2, 48};
  config.side = 20;
  config.patch = 4;
  config.classes = 7;
  config.pixels = {.mean = {0.5, 0.25, 0.4}, .deviation = {0.5, 0.3, 0.25}};
  return config;
}

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_TESTING_IMAGES_H_
