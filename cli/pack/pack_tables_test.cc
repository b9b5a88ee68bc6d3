// Tests `penstock pack` from csv, jsonl, npy and npz as a user calls it.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "base/io/file_source.h"
#include "base/io/testing/memory_source.h"
#include "base/io/zip_writer.h"
#include "cli/testing/command_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "records/decode/npz.h"
#include "records/format/compression.h"
#include "records/format/testing/for_each_feature.h"
#include "records/format/tfrecord_reader.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PackTablesTest : public CommandFixture {
 protected:
  PackTablesTest() : CommandFixture({AddPackCommand, AddIndexCommand}) {}

  int Pack(const std::string& from, const std::vector<std::string>& inputs,
           const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"pack", "--from", from};
    words.insert(words.end(), inputs.begin(), inputs.end());
    words.insert(words.end(), {"-o", out(), "--force"});
    words.insert(words.end(), more.begin(), more.end());
    return Run(words);
  }
  std::string out() const { return folder_.File("out"); }
  static std::string Packed(Compression compression, const std::string& text) {
    std::vector<uint8_t> packed;
    EXPECT_OK(CompressMember(compression, BytesOf(text), packed));
    return {packed.begin(), packed.end()};
  }

  // Returns "NAME=VALUE VALUE NAME=..." for each record; numbers of float end with f.
  std::vector<std::string> Records() const {
    std::vector<std::string> paths, records;
    for (const auto& entry : fs::directory_iterator(out())) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    for (const std::string& path : paths) {
      const auto source = FileSource::Open(path).value();
      TfRecordReader reader(*source);
      Record record;
      while (reader.Next(record).value()) records.push_back(Text(record.payload));
    }
    return records;
  }

  TempFolder folder_;

 private:
  static std::string Text(std::span<const uint8_t> payload) {
    std::string text;
    EXPECT_OK(ForEachFeature(payload, [&text](const FeatureView& feature) {
      absl::StrAppend(&text, feature.name, "=");
      for (const int64_t value : feature.ints) absl::StrAppend(&text, value, " ");
      for (const float value : feature.floats) absl::StrAppend(&text, value, "f ");
      for (const auto value : feature.bytes) {
        absl::StrAppend(&text, std::string(value.begin(), value.end()), " ");
      }
    }));
    return text;
  }
};

TEST_F(PackTablesTest, CsvBecomesTypedFeatures) {
  const std::string csv = folder_.Write("products.csv",
                                        "id,price,name,rating\r\n"
                                        "1,10,\"chair, red\",4.5\r\n"
                                        "2,9.5,table,\r\n");
  ASSERT_EQ(Pack("csv", {csv}), 0) << error_;
  EXPECT_THAT(Records(), ElementsAre("id=1 price=10f name=chair, red rating=4.5f ",
                                     "id=2 price=9.5f name=table "));
  EXPECT_THAT(error_, AllOf(HasSubstr("--columns id:int64,price:float,name:bytes,rating:float\n"),
                            HasSubstr("2 records in 1 file")));
  EXPECT_TRUE(fs::exists(out() + "/products-00000-of-00001.tfrecord"));
  ASSERT_EQ(Run({"index", out()}), 0) << error_;
}

TEST_F(PackTablesTest, ColumnsOfCsvAreChosenAndTyped) {
  const std::string csv = folder_.Write("a.csv", ",zip,x\n0,01234,1\n1,04321,2\n");
  EXPECT_EQ(Pack("csv", {csv}), 1);
  EXPECT_THAT(error_, HasSubstr("a.csv:1: column 1 has no name"));
  ASSERT_EQ(Pack("csv", {csv}, {"--columns", "x:float,zip:bytes"}), 0) << error_;
  EXPECT_THAT(Records(), ElementsAre("zip=01234 x=1f ", "zip=04321 x=2f "));
  EXPECT_EQ(Pack("csv", {csv}, {"--columns", "y"}), 1);
  EXPECT_THAT(error_, HasSubstr("there is no column 'y', which --columns names"));
}

TEST_F(PackTablesTest, ACellThatDoesNotFitIsNamed) {
  std::string text = "id,x\n";
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&text, i, ",", i, "\n");
  const std::string csv = folder_.Write("a.csv", text + "1000,half\n1001\n1002,2\n");
  EXPECT_EQ(Pack("csv", {csv}), 1);
  EXPECT_THAT(error_, HasSubstr("a.csv:1002: column 'x': 'half' cannot be stored as int64"));
  ASSERT_EQ(Pack("csv", {csv}, {"--skip-invalid"}), 0) << error_;
  EXPECT_EQ(Records().size(), 1001u);
  EXPECT_THAT(error_, AllOf(HasSubstr("a.csv:1003: has 1 cell, the first line has 2"),
                            HasSubstr("skipped 2 invalid records\n")));
}

TEST_F(PackTablesTest, TheFirstFileDecidesTheColumns) {
  const std::string a = folder_.Write("a.csv", "id,x\n1,1.5\n");
  const std::string b = folder_.Write("b.csv", "x,id\n2,7\n");
  ASSERT_EQ(Pack("csv", {a, b}), 0) << error_;
  EXPECT_THAT(Records(), ElementsAre("id=1 x=1.5f ", "x=2f id=7 "));
  EXPECT_EQ(Pack("csv", {a, folder_.Write("c.csv", "id\n1\n")}), 1);
  EXPECT_THAT(error_, AllOf(HasSubstr("c.csv:1: there is no column 'x'"), HasSubstr("a.csv has")));
  EXPECT_EQ(Pack("csv", {a, folder_.Write("d.csv", "id,x,y\n1,2,3\n")}), 1);
  EXPECT_THAT(error_,
              AllOf(HasSubstr("d.csv:1: column 3, 'y', is missing in "), HasSubstr("a.csv; ")));
  EXPECT_EQ(Pack("csv", {folder_.Write("e.csv", "id,id\n1,2\n")}), 1);
  EXPECT_THAT(error_, HasSubstr("column 2 has the name of an earlier column, 'id'; "));
  EXPECT_EQ(Pack("csv", {folder_.Write("f.csv", "")}), 1);
  EXPECT_THAT(error_, HasSubstr("f.csv: is empty"));
}

TEST_F(PackTablesTest, CompressedTablesAreReadToo) {
  std::string text = "id\n";
  for (int i = 0; i < 100; ++i) absl::StrAppend(&text, i, "\n");
  const std::string whole = Packed(Compression::kGzip, text);
  ASSERT_EQ(Pack("csv", {folder_.Write("a.csv.gz", whole)}), 0) << error_;
  EXPECT_EQ(Records().size(), 100u);
  EXPECT_TRUE(fs::exists(out() + "/a-00000-of-00001.tfrecord"));
  EXPECT_EQ(Pack("csv", {folder_.Write("b.csv.gz", whole.substr(0, whole.size() - 3))}), 1);
  EXPECT_THAT(error_, HasSubstr("b.csv.gz: gzip: cut after compressed byte"));
}

TEST_F(PackTablesTest, AFileWithAWrongChecksumIsLeftOutWhole) {
  std::string text = "id\n";
  for (int i = 0; i < 100'000; ++i) absl::StrAppend(&text, i, "\n");  // More than one read.
  std::string damaged = Packed(Compression::kGzip, text),
              small = Packed(Compression::kGzip, "id\n1\n");
  damaged[damaged.size() - 8] ^= 1;  // In the CRC-32, which is followed by the length.
  small[small.size() - 8] ^= 1;
  const std::string a = folder_.Write("a.csv", "id\n7\nx,y\n"),
                    c = folder_.Write("c.csv", "id\n8\n"), b = folder_.Write("b.csv.gz", damaged),
                    d = folder_.Write("d.csv.gz", small);
  ASSERT_EQ(Pack("csv", {a, b, c, d}, {"--skip-invalid", "--json", "-"}), 0) << error_;
  EXPECT_THAT(Records(), ElementsAre("id=7 ", "id=8 "));
  // Besides the line x,y, there are what cannot be read of either damaged file and the rows before
  // it.
  const uint64_t skipped = Json()["skipped"];
  EXPECT_GT(skipped, 50'003u);
  const std::vector<std::string> why = Json()["skipped_records"];
  ASSERT_EQ(why.size(), 3u);
  EXPECT_THAT(why[1], testing::StartsWith(absl::StrCat(b, ": compressed byte ")));
  EXPECT_THAT(why[1], HasSubstr("records before this are left out too"));
  EXPECT_THAT(why[2], AllOf(testing::StartsWith(absl::StrCat(d, ": compressed byte ")),
                            HasSubstr("the file cannot be read from there on")));
}

TEST_F(PackTablesTest, JsonLinesBecomeTypedFeatures) {
  const std::string json =
      folder_.Write("a.jsonl",
                    "{\"id\": 1, \"x\": 2, \"words\": [3, 4]}\n"
                    "\n"
                    "{\"id\": 2, \"x\": 0.5, \"words\": null, \"ok\": true}\n");
  ASSERT_EQ(Pack("jsonl", {json}), 0) << error_;
  EXPECT_THAT(Records(), ElementsAre("id=1 x=2f words=3 4 ", "id=2 x=0.5f ok=1 "));
  EXPECT_THAT(error_, HasSubstr("--columns id:int64,x:float,words:int64,ok:int64\n"));
}

TEST_F(PackTablesTest, AWrongLineOfJsonIsNamed) {
  const std::string json = folder_.Write("a.jsonl", "{\"id\": 1}\nnonsense\n{\"id\": \"x\"}\n");
  EXPECT_EQ(Pack("jsonl", {json}), 1);
  EXPECT_THAT(error_, HasSubstr("a.jsonl:2: not valid JSON"));
  ASSERT_EQ(Pack("jsonl", {json}, {"--skip-invalid", "--json", "-"}), 0) << error_;
  EXPECT_EQ(Json()["records"], 1);
  EXPECT_THAT(Json()["skipped_records"][1].get<std::string>(),
              HasSubstr("a.jsonl:3: key 'id': \"x\" cannot be stored as int64"));
}

class PackArraysTest : public PackTablesTest {
 protected:
  static constexpr uint32_t kImage[] = {2, 3};

  // Writes the images "abcdef" and "ghijkl" with the scores 0.5 and -2.
  std::string WriteNpz(const std::string& name) const {
    NpzWriter npz = NpzWriter::Create(folder_.File(name),
                                      {{"image", Dtype::kU8, {2, 3}}, {"score", Dtype::kF64, {}}})
                        .value();
    const double scores[] = {0.5, -2};
    EXPECT_OK(npz.Append(0, BytesOf("abcdefghijkl")));
    EXPECT_OK(npz.Append(1, BytesOf(scores, sizeof(scores))));
    EXPECT_OK(npz.Finish());
    return folder_.File(name);
  }
  std::string WriteNpy(const std::string& name, const std::vector<int64_t>& values) const {
    NpyWriter npy = NpyWriter::Create(folder_.File(name), Dtype::kI64, {}).value();
    EXPECT_OK(npy.Append(BytesOf(values.data(), 8 * values.size())));
    EXPECT_OK(npy.Finish());
    return folder_.File(name);
  }
};

TEST_F(PackArraysTest, EachArrayOfAnArchiveIsAFeature) {
  const std::string a = WriteNpz("a.npz"), b = WriteNpz("b.npz");
  ASSERT_EQ(Pack("npz", {a, b}), 0) << error_;
  EXPECT_THAT(Records(), ElementsAre("image=abcdef score=0.5f ", "image=ghijkl score=-2f ",
                                     "image=abcdef score=0.5f ", "image=ghijkl score=-2f "));
}

TEST_F(PackArraysTest, EachFileIsAFeature) {
  const std::string x = WriteNpy("x.npy", {1, 2, 3}), y = WriteNpy("y.npy", {-1, -2, -3});
  ASSERT_EQ(Pack("npy", {x, y}), 0) << error_;
  EXPECT_THAT(Records(), ElementsAre("x=1 y=-1 ", "x=2 y=-2 ", "x=3 y=-3 "));
  EXPECT_THAT(error_, HasSubstr("3 records in 2 files"));
  EXPECT_EQ(Pack("npy", {x, WriteNpy("z.npy", {1})}), 1);
  EXPECT_THAT(error_, AllOf(HasSubstr("z.npy: has 1 row"), HasSubstr("x.npy has 3")));
  fs::create_directories(folder_.File("other"));
  EXPECT_EQ(Pack("npy", {x, WriteNpy("other/x.npy", {1, 2, 3})}), 1);
  EXPECT_THAT(error_, HasSubstr("would both be the feature 'x'"));
}

TEST_F(PackArraysTest, ColumnsChooseArraysTheirOrderAndTheirTypes) {
  const std::string a = WriteNpz("a.npz");
  ASSERT_EQ(Pack("npz", {a}, {"--columns", "score"}), 0) << error_;
  EXPECT_THAT(Records(), ElementsAre("score=0.5f ", "score=-2f "));
  ASSERT_EQ(Pack("npz", {a}, {"--columns", "score:float,image:int64"}), 0) << error_;
  EXPECT_THAT(Records(), ElementsAre("score=0.5f image=97 98 99 100 101 102 ",
                                     "score=-2f image=103 104 105 106 107 108 "));
  const std::string x = WriteNpy("x.npy", {1, 2}), y = WriteNpy("y.npy", {-1, -2});
  ASSERT_EQ(Pack("npy", {x, y}, {"--columns", "y:float,x", "--name", "a"}), 0) << error_;
  EXPECT_THAT(Records(), ElementsAre("y=-1f x=1 ", "y=-2f x=2 "));
  EXPECT_EQ(Pack("npy", {x, y}, {"--columns", "x,z"}), 1);
  EXPECT_THAT(error_, HasSubstr("there is no array 'z', which --columns names"));
}

TEST_F(PackArraysTest, AnArrayThatDoesNotConvertWithoutLossIsNamedWithItsDtype) {
  const std::string a = WriteNpz("a.npz");
  EXPECT_EQ(Pack("npz", {a}, {"--columns", "score:int64"}), 1);
  EXPECT_THAT(
      error_,
      HasSubstr("a.npz: member score.npy: row 0: 0.5 of float64 cannot be stored as int64"));
  EXPECT_EQ(Pack("npz", {a}, {"--columns", "score:bytes"}), 1);
  EXPECT_THAT(
      error_,
      HasSubstr("a.npz: --columns: the array 'score' of float64 cannot be stored as bytes"));
  const std::string x = WriteNpy("x.npy", {16777216, 16777217});
  EXPECT_EQ(Pack("npy", {x}, {"--columns", "x:float"}), 1);
  EXPECT_THAT(error_,
              HasSubstr("x.npy: row 1: 16777217 of int64 cannot be stored as float without loss"));
}

TEST_F(PackArraysTest, ADamagedArchiveIsNamed) {
  std::string bytes = folder_.Read(fs::path(WriteNpz("a.npz")).filename());
  const size_t image = bytes.find("abcdef");
  ASSERT_NE(image, bytes.npos);
  bytes[image] = 'A';
  const std::string damaged = folder_.Write("a.npz", bytes);
  EXPECT_EQ(Pack("npz", {damaged}), 1);
  EXPECT_THAT(error_, HasSubstr("a.npz: member image.npy: CRC-32 computed"));
  EXPECT_EQ(Pack("npz", {folder_.Write("b.npz", "no archive at all, but a text")}), 1);
  EXPECT_THAT(error_, HasSubstr("b.npz: zip archive: has no end record"));
}

// A checksum covers a compressed file and an array of an archive. So whatever is damaged, the
// records of the file are all there, or none is. --columns keeps the damaged file from deciding
// types.
TEST_F(PackArraysTest, DamageIsNeverPackedAsAnotherValue) {
  std::string csv = "id,x\n", json;
  for (int i = 0; i < 9; ++i) {
    absl::StrAppend(&csv, i, ",", i * 1.5, "\n");
    absl::StrAppend(&json, "{\"id\": ", i, ", \"x\": ", i * 1.5, "}\n");
  }
  const struct {
    const char *from, *name, *columns;
    std::string bytes;
  } cases[] = {
      {"csv", "a.csv.gz", "id:int64,x:float", Packed(Compression::kGzip, csv)},
      {"csv", "a.csv.zst", "id:int64,x:float", Packed(Compression::kZstd, csv)},
      {"jsonl", "a.jsonl.gz", "id:int64,x:float", Packed(Compression::kGzip, json)},
      {"npy", "x.npy.gz", "x",
       Packed(Compression::kGzip, folder_.Read(fs::path(WriteNpy("x.npy", {1, 2})).filename()))},
      {"npz", "a.npz", "image,score", folder_.Read(fs::path(WriteNpz("b.npz")).filename())},
  };
  for (const auto& c : cases) {
    ASSERT_EQ(Pack(c.from, {folder_.Write(c.name, c.bytes)}, {"--columns", c.columns}), 0)
        << error_;
    const std::vector<std::string> whole = Records();
    for (size_t at = 0; at < c.bytes.size(); ++at) {  // All bits would take eight times as long.
      std::string damaged = c.bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
      const std::string file = folder_.Write(c.name, damaged);
      if (Pack(c.from, {file}, {"--columns", c.columns, "--skip-invalid"}) == 0) {
        EXPECT_EQ(Records(), whole) << c.name << ", byte " << at << "\n" << error_;
      }
    }
  }
}

TEST_F(PackArraysTest, TheNumberOfArraysIsBounded) {
  ZipWriter zip = ZipWriter::Create(folder_.File("a.npz")).value();
  const std::string npy = folder_.Read(fs::path(WriteNpy("x.npy", {1, 2})).filename());
  for (int i = 0; i < 1001; ++i) {
    ASSERT_OK(zip.Add(absl::StrCat(i, ".npy"), MemorySource("x.npy", {npy.begin(), npy.end()})));
  }
  ASSERT_OK(zip.Finish());
  EXPECT_EQ(Pack("npz", {folder_.File("a.npz")}), 1);
  EXPECT_THAT(error_, HasSubstr("a.npz: member 1000.npy: is one more than the 1,000 arrays"));
  ASSERT_EQ(Pack("npz", {folder_.File("a.npz")}, {"--columns", "1000,0"}), 0) << error_;
  EXPECT_THAT(Records(), ElementsAre("1000=1 0=1 ", "1000=2 0=2 "));
}

// Without --columns, a file decides about its own columns even if it is damaged.
TEST_F(PackArraysTest, DamageChangesNoColumns) {
  const std::string gzip = Packed(Compression::kGzip, "id\n1\n2\n");
  const std::string npz = folder_.Read(fs::path(WriteNpz("b.npz")).filename());
  const struct {
    const char *from, *name;
    std::string bytes;
  } cases[] = {{"csv", "a.csv.gz", gzip}, {"npz", "a.npz", npz}};
  for (const auto& c : cases) {
    ASSERT_EQ(Pack(c.from, {folder_.Write(c.name, c.bytes)}), 0) << error_;
    const std::vector<std::string> whole = Records();
    for (size_t at = 0; at < c.bytes.size(); ++at) {
      std::string damaged = c.bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << at % 2);
      if (Pack(c.from, {folder_.Write(c.name, damaged)}, {"--skip-invalid"}) != 0) continue;
      EXPECT_EQ(Records(), whole) << c.name << ", byte " << at;
    }
  }
}

TEST_F(PackArraysTest, ExitsWithTwoOnWrongFlags) {
  const std::string x = WriteNpy("x.npy", {1, 2, 3});
  EXPECT_EQ(Pack("tfrecord", {x}, {"--columns", "x"}), 2);
  EXPECT_THAT(error_, HasSubstr("--columns needs --from csv, jsonl, npy or npz"));
  EXPECT_EQ(Pack("npy", {x}, {"--glob", "*"}), 2);
  EXPECT_THAT(error_, HasSubstr("--glob needs --from tfrecord"));
  for (const char* from : {"csv", "npy"}) {
    EXPECT_EQ(Pack(from, {x}, {"--columns", "x:int32"}), 2);
    EXPECT_THAT(error_, HasSubstr("'int32' is not int64, float or bytes"));
  }
}

}  // namespace
}  // namespace penstock
