// Tests that DecodeMemory() and TransformMemory() are upper bounds of the memory used. This is a
// separate program, because it counts every allocation.
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "records/image/image_transform.h"
#include "records/image/testing/expectations.h"
#include "records/image/testing/large_images.h"
#include "tests/status_matchers.h"

namespace {

std::atomic<size_t> bytes_in_use = 0, most_in_use = 0;

void* Count(void* memory) {
  if (memory == nullptr) return nullptr;
  const size_t now = bytes_in_use += ::malloc_usable_size(memory);
  if (now > most_in_use) most_in_use = now;
  return memory;
}

}  // namespace

// glibc's own functions. The functions below replace them for the libraries too.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void __libc_free(void* memory);

void* malloc(size_t size) { return Count(__libc_malloc(size)); }
void* calloc(size_t count, size_t size) { return Count(__libc_calloc(count, size)); }
void* realloc(void* memory, size_t size) {
  if (memory != nullptr) bytes_in_use -= ::malloc_usable_size(memory);
  return Count(__libc_realloc(memory, size));
}
void free(void* memory) {
  if (memory != nullptr) bytes_in_use -= ::malloc_usable_size(memory);
  __libc_free(memory);
}
}

namespace penstock {
namespace {

ImageOps TrainOps() {
  ImageOps ops;
  ops.crop = RandomResizedCropOp{{224, 224}, {}};
  ops.orient = true;
  return ops;
}

// The memory that a new object uses. It holds nothing from earlier images.
size_t MemoryOf(std::span<const uint8_t> file, const ImageOps& ops) {
  std::vector<uint8_t> out(ops.output_bytes());
  const size_t before = bytes_in_use;
  most_in_use = before;
  ImageTransform transform;
  EXPECT_OK(transform.Apply(file, ops, Uniforms(uint64_t{3}), out));
  return most_in_use - before;
}

void ExpectBounded(const std::string& name, std::span<const uint8_t> file) {
  ASSERT_OK_AND_ASSIGN(const ImageInfo info, ProbeImage(file));
  ImageOps ops = TrainOps();
  EXPECT_LE(MemoryOf(file, ops), TransformMemory(info, ops)) << name << ", a part";
  ops.crop = ResizeOp{{224, 224}};
  EXPECT_LE(MemoryOf(file, ops), TransformMemory(info, ops)) << name << ", whole";
}

TEST(DecodeMemoryTest, BoundsSmallImages) {
  for (const auto& [name, file] : Expectations::Get().files()) ExpectBounded(name, file);
}

TEST(DecodeMemoryTest, BoundsLargeImages) {
  for (const auto& [name, file] : LargeImages()) ExpectBounded(name, file);
}

// A bound far above the memory that whole pictures use would waste the budget.
TEST(DecodeMemoryTest, IsNotFarAboveWhatLargeImagesTake) {
  ImageOps ops = TrainOps();
  ops.crop = ResizeOp{{224, 224}};  // Crops nothing.
  for (const auto& [name, file] : LargeImages()) {
    ASSERT_OK_AND_ASSIGN(const ImageInfo info, ProbeImage(file));
    EXPECT_LE(TransformMemory(info, ops), 2.6 * static_cast<double>(MemoryOf(file, ops))) << name;
  }
}

// Rows of the widest image, which are kept too.
constexpr size_t kRowsBytes = size_t{1} << 20;

TEST(DecodeMemoryTest, LargeImagesAreGivenBack) {
  std::vector<uint8_t> out(TrainOps().output_bytes());
  ImageTransform transform;
  for (const auto& [name, file] : LargeImages()) {
    const size_t before = bytes_in_use;
    ASSERT_OK(transform.Apply(file, TrainOps(), Uniforms(uint64_t{3}), out));
    EXPECT_LE(bytes_in_use, before + 4 * ScratchMemory::kKeptBytes) << name;
  }
}

// Grants everything, and expects that only large images ask.
class Granted final : public ImageMemory {
 public:
  Granted() : ImageMemory(/*unasked_bytes=*/uint64_t{1} << 20) {}
  absl::Status Take(uint64_t bytes) override {
    EXPECT_GT(bytes, unasked_bytes());
    return absl::OkStatus();
  }
  void Return(uint64_t) override {}
};

TEST(DecodeMemoryTest, AThreadKeepsNoMoreThanItMayUseUnasked) {
  std::vector<uint8_t> out(TrainOps().output_bytes());
  ImageTransform transform;
  Granted memory;
  for (const auto& [name, file] : LargeImages()) {
    const size_t before = bytes_in_use;
    ASSERT_OK(transform.Apply(file, TrainOps(), Uniforms(uint64_t{3}), out, &memory));
    EXPECT_LE(memory.used_bytes(), memory.unasked_bytes()) << name;
    EXPECT_LE(bytes_in_use, before + memory.unasked_bytes() + kRowsBytes) << name;
  }
}

}  // namespace
}  // namespace penstock
