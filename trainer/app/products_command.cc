#include "trainer/app/commands.h"

#include <memory>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/flags/json_flag.h"
#include "base/flags/number_flags.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "nlohmann/json.hpp"
#include "trainer/app/device_options.h"
#include "trainer/cuda/cuda_device.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

double Microseconds(ProductRate::Time time) { return time.count() * 1e6; }
double Teraflops(const ProductRate& product) {
  return product.flops() / product.time.count() / 1e12;
}

absl::StatusOr<std::unique_ptr<Device>> OpenNamed(const ProductsOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(const DeviceChoice choice, ParseDevice(options.device));
  if (choice.kind == DeviceChoice::Kind::kCpu) {
    return absl::InvalidArgumentError(
        "--device cpu: matrix products are measured only on a GPU; give --device cuda");
  }
  PENSTOCK_ASSIGN_OR_RETURN(const size_t gpus, CountGpus());
  PENSTOCK_ASSIGN_OR_RETURN(const size_t gpu, ChooseGpu(choice, 0, gpus, false));
  return OpenGpu(gpu);
}

}  // namespace

void AddProductsOptions(CLI::App& app, ProductsOptions& options) {
  app.option_defaults()->always_capture_default();
  app.add_option("--model", options.model, "Model whose matrices to multiply")
      ->check(CLI::IsMember(ModelConfig::Names()))
      ->type_name("MODEL");
  app.add_option("--device", options.device, "GPU to measure: cuda or cuda:N")->type_name("DEVICE");
  app.add_option("--precision", options.precision, "Type of the operands of matrix products")
      ->check(CLI::IsMember({"fp32", "bf16"}))
      ->type_name("DTYPE");
  app.add_option("--samples", options.samples,
                 "Positions or images to multiply at a time: --global-batch-size divided by "
                 "--virtual-shards")
      ->check(WholeNumber(1, uint64_t{1} << 20));
  app.add_option("--repeats", options.repeats, "Repetitions of each product, in one graph")
      ->check(WholeNumber(1, 1000));
  AddJsonFlag(app, options.json, "Write the result")->group("Options");
  app.footer("Example:\n  penstock-train products --model large --samples 512");
}

std::string ProductsTable(const std::vector<ProductRate>& products) {
  std::string text = absl::StrFormat("%-46s %8s %6s %6s %5s %10s %8s %10s\n", "product", "rows",
                                     "in", "out", "times", "us each", "TFLOP/s", "us unfused");
  for (const ProductRate& p : products) {
    absl::StrAppendFormat(&text, "%-46s %8d %6d %6d %5d %10.1f %8.1f", DeviceOpName(p.kind), p.rows,
                          p.in, p.out, p.count, Microseconds(p.time), Teraflops(p));
    if (p.apart.has_value()) absl::StrAppendFormat(&text, " %10.1f", Microseconds(*p.apart));
    text += "\n";
  }
  absl::StrAppendFormat(&text, "all products: %.1f TFLOP/s\n", RateOf(products) / 1e12);
  return text;
}

std::string ProductsJson(const ProductsOptions& options, const DeviceInfo& device,
                         const std::vector<ProductRate>& products) {
  Json json{{"device", device.name},      {"math_library", device.math_library},
            {"model", options.model},     {"precision", options.precision},
            {"samples", options.samples}, {"tflops", RateOf(products) / 1e12},
            {"products", Json::array()}};
  for (const ProductRate& p : products) {
    Json one{{"product", DeviceOpName(p.kind)},
             {"rows", p.rows},
             {"in", p.in},
             {"out", p.out},
             {"count", p.count},
             {"us", Microseconds(p.time)},
             {"tflops", Teraflops(p)}};
    if (p.apart.has_value()) one["apart_us"] = Microseconds(*p.apart);
    json["products"].push_back(std::move(one));
  }
  return json.dump(1);
}

absl::Status RunProducts(const ProductsOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(CheckJsonFlag(options.json));
  PENSTOCK_ASSIGN_OR_RETURN(const ModelConfig model, ModelConfig::Named(options.model));
  absl::StatusOr<std::unique_ptr<Device>> device = OpenNamed(options);
  PENSTOCK_RETURN_IF_ERROR(Annotate(device.status(), absl::StrCat("--device ", options.device)));
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<ProductRate> products,
                            MeasureProducts(model, options.samples, options.precision == "bf16",
                                            options.repeats, **device));
  if (options.json != kStandardOutput) {
    PrintEscaped(stdout, "%s, %s\n%s", (*device)->info().name, (*device)->info().math_library,
                 Multiline(ProductsTable(products)));
  }
  if (options.json.empty()) return absl::OkStatus();
  return WriteJson(options.json, ProductsJson(options, (*device)->info(), products));
}

}  // namespace penstock
