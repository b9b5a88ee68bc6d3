// penstock-train products: how fast a GPU multiplies a model's matrices, and nothing else.
#ifndef PENSTOCK_TRAINER_APP_PRODUCTS_COMMAND_H_
#define PENSTOCK_TRAINER_APP_PRODUCTS_COMMAND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "trainer/backend/cuda/product_rates.h"

namespace penstock {

struct ProductsOptions {
  std::string model = "large";
  std::string device = "cuda";
  std::string precision = "bf16";
  uint64_t samples = 512;
  uint64_t repeats = 20;
  std::string json;
};

// `options` must outlive `app`.
void AddProductsOptions(CLI::App& app, ProductsOptions& options);

// A line a product, and one for all.
std::string ProductsTable(const std::vector<ProductRate>& products);
// The same for programs.
std::string ProductsJson(const ProductsOptions& options, const DeviceInfo& device,
                         const std::vector<ProductRate>& products);

// Prints the table. kInvalidArgument: an option; kFailedPrecondition: no GPU.
absl::Status RunProducts(const ProductsOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_PRODUCTS_COMMAND_H_
