// SPDX-License-Identifier: Apache-2.0
// Samples in files: IDX, CIFAR, CSV, NPZ and folders of pictures, whole and damaged.
#include "data/npy.h"
#include "data/support.h"
#include "support/zip_writer.h"

namespace minnow::data {
namespace {

using test::folder_of;
using test::scalar;
using test::sentence_of;
using test::values;
using test::write;
using testing::ElementsAre;
using testing::HasSubstr;

std::string bytes_of(std::initializer_list<int> numbers) {
  std::string bytes;
  for (const int number : numbers) bytes += static_cast<char>(number);
  return bytes;
}
std::string big_endian(uint32_t number) {
  return bytes_of({static_cast<int>(number >> 24), static_cast<int>(number >> 16 & 255), static_cast<int>(number >> 8 & 255),
                   static_cast<int>(number & 255)});
}
/// An IDX file of u8.
std::string idx(std::initializer_list<uint32_t> dims, const std::string& elements) {
  std::string bytes = bytes_of({0, 0, 8, static_cast<int>(dims.size())});
  for (const uint32_t dim : dims) bytes += big_endian(dim);
  return bytes + elements;
}
/// A gzip file with a name, a comment, an extra field and one stored block.
std::string gzip(const std::string& contents) {
  using Zip = minnow::test::ZipWriter;
  return bytes_of({0x1f, 0x8b, 8, 4 | 8 | 16 | 2, 0, 0, 0, 0, 0, 255}) + Zip::number(3, 2) + "abc" + "name" + '\0' + "comment" + '\0' +
         "hc" + Zip::number(1, 1) + Zip::number(contents.size(), 2) + Zip::number(~contents.size(), 2) + contents +
         Zip::number(Zip::crc32(contents), 4) + Zip::number(contents.size(), 4);
}

TEST(Idx, every_dtype_comes_back) {
  const auto folder = folder_of("idx");
  EXPECT_THAT(values<uint8_t>(read_idx(write(folder / "u8", idx({2, 2}, bytes_of({1, 2, 3, 255}))))), ElementsAre(1, 2, 3, 255));
  const Tensor i16 = read_idx(write(folder / "i16", bytes_of({0, 0, 11, 1}) + big_endian(2) + bytes_of({1, 2, 255, 254})));
  EXPECT_EQ(i16.dtype(), DType::i16);
  EXPECT_THAT(values<int16_t>(i16), ElementsAre(258, -2));
  EXPECT_THAT(values<float>(read_idx(write(folder / "f32", bytes_of({0, 0, 13, 1}) + big_endian(1) + bytes_of({0x3f, 0x80, 0, 0})))),
              ElementsAre(1));
  EXPECT_EQ(read_idx(write(folder / "empty", idx({0, 5}, ""))).shape(), (Shape{0, 5}));
  const std::string whole = idx({3}, "abc");
  EXPECT_THAT(values<uint8_t>(read_idx(write(folder / "packed.gz", gzip(whole)))), ElementsAre('a', 'b', 'c'));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(sentence_of([&] { read_idx(write(folder / "cut", whole.substr(0, size))); }), "no error") << size;
  const std::string packed = gzip(whole);
  for (size_t size = 2; size < packed.size(); ++size)
    EXPECT_NE(sentence_of([&] { read_idx(write(folder / "cut.gz", packed.substr(0, size))); }), "no error") << size;
  EXPECT_THAT(sentence_of([&] { read_idx(write(folder / "more", whole + "d")); }),
              HasSubstr("the header says u8 [3], the file has 4 bytes"));
  EXPECT_THAT(sentence_of([&] {
                read_idx(write(folder / "bomb", idx({0xffffffff, 0xffffffff, 0xffffffff}, "a")));
              }),
              HasSubstr("the file has 1 bytes"));
  EXPECT_THAT(sentence_of([&] { read_idx(write(folder / "other", bytes_of({0, 0, 10, 1}) + big_endian(0))); }), HasSubstr("no IDX file"));
  EXPECT_THAT(sentence_of([&] { read_idx((folder / "none").string()); }), HasSubstr("none"));
}

TEST(Mnist, pictures_with_their_digits) {
  const auto folder = folder_of("mnist");
  std::string pixels(2 * 28 * 28, '\0');
  pixels[28 * 28] = 9;
  write(folder / "MNIST/raw/train-images-idx3-ubyte.gz", gzip(idx({2, 28, 28}, pixels)));
  write(folder / "MNIST/raw/train-labels-idx1-ubyte", idx({2}, bytes_of({3, 7})));
  const DatasetPtr digits = mnist(folder.string());
  Random random(0);
  const Sample sample = digits->get(1, random);
  EXPECT_EQ(sample[0].shape(), (Shape{28, 28}));
  EXPECT_EQ(sample[0].data<uint8_t>()[0], 9);
  EXPECT_EQ(scalar<int64_t>(sample[1]), 7);
  EXPECT_EQ(digits->classes()[7], "7");
  EXPECT_EQ(sentence_of([&] { mnist(folder.string(), false); }), "the folder " + folder.string() + " has no file t10k-images-idx3-ubyte");
  write(folder / "train-images-idx3-ubyte", idx({2, 28, 28}, pixels));
  write(folder / "train-labels-idx1-ubyte", idx({2}, bytes_of({3, 10})));
  EXPECT_THAT(sentence_of([&] { mnist(folder.string()); }), HasSubstr("sample 1 has the label 10; there are 10 classes"));
  write(folder / "train-labels-idx1-ubyte", idx({3}, bytes_of({3, 1, 1})));
  EXPECT_THAT(sentence_of([&] { mnist(folder.string()); }), HasSubstr("pictures u8 [2, 28, 28] do not go with labels u8 [3]"));
  EXPECT_EQ(fashion_mnist(folder_of("nothing").string() + "/../mnist/MNIST/raw")->classes()[9], "Ankle boot");
}

TEST(Cifar, planes_become_pixels) {
  const auto folder = folder_of("cifar");
  std::string record = bytes_of({6});
  for (int plane = 0; plane < 3; ++plane)
    for (int i = 0; i < 1024; ++i) record += static_cast<char>((plane * 50 + i) % 256);
  for (int i = 1; i <= 5; ++i)
    write(folder / ("cifar-10-batches-bin/data_batch_" + std::to_string(i) + ".bin"), i == 2 ? record + record : record);
  const DatasetPtr all = cifar10(folder.string());
  Random random(0);
  EXPECT_EQ(all->size(), 6);
  const Sample sample = all->get(5, random);
  EXPECT_EQ(sample[0].shape(), (Shape{32, 32, 3}));
  EXPECT_THAT(std::vector<int>(sample[0].data<uint8_t>() + 3 * 33, sample[0].data<uint8_t>() + 3 * 34),
              ElementsAre(33, 83, 133));  // row 1, column 1
  EXPECT_EQ(all->classes()[static_cast<size_t>(scalar<int64_t>(sample[1]))], "frog");
  write(folder / "test.bin", bytes_of({19, 99}) + record.substr(1));
  const DatasetPtr fine = cifar100(folder.string(), false);
  EXPECT_EQ(fine->classes().size(), 100u);
  EXPECT_EQ(fine->classes()[static_cast<size_t>(scalar<int64_t>(fine->get(0, random)[1]))], "worm");
  write(folder / "test.bin", bytes_of({0, 100}) + record.substr(1));
  EXPECT_THAT(sentence_of([&] { cifar100(folder.string(), false); }), HasSubstr("sample 0 has the label 100"));
  write(folder / "test.bin", record);
  EXPECT_THAT(sentence_of([&] { cifar100(folder.string(), false); }), HasSubstr("records of 3074 bytes, this one 3073 bytes"));
}

TEST(Npz, arrays_by_their_names) {
  const auto folder = folder_of("npz");
  const auto npy = [](const Tensor& tensor) {
    const std::vector<std::byte> bytes = npy_bytes(tensor);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  minnow::test::ZipWriter zip("");
  zip.add_deflated("images.npy", npy(Tensor::of_f32({2, 1}, std::vector<float>{5, 6})));
  zip.add("labels.npy", npy(Tensor::of_i64({2}, std::vector<int64_t>{1, 0})));
  zip.add("third.npy", npy(Tensor::of_i64({3}, std::vector<int64_t>{1, 0, 2})));
  const std::string path = write(folder / "a.npz", zip.finish());
  EXPECT_EQ(read_npz(path)[2].first, "third");
  Random random(0);
  const Sample sample = npz(path)->get(1, random);
  EXPECT_THAT(values<float>(sample[0]), ElementsAre(6));
  EXPECT_EQ(scalar<int64_t>(sample[1]), 0);
  EXPECT_THAT(sentence_of([&] { npz(path, "images", "third"); }), HasSubstr("the samples have the shape [2, 1], the targets [3]"));
  EXPECT_THAT(sentence_of([&] { npz(path, "picture"); }), HasSubstr("there is no array \"picture\""));
}

TEST(Csv, numbers_texts_and_quotes) {
  const auto folder = folder_of("csv");
  Random random(0);
  const std::string path = write(folder / "a.csv", "\xef\xbb\xbf x ,\"y, \"\"two\"\"\",kind\r\n1, 2.5,cat\r\n\r\n-3e2,+4,\"dog\nbig\"\n");
  const DatasetPtr rows = csv(path);
  EXPECT_EQ(rows->size(), 2);
  EXPECT_THAT(values<float>(rows->get(0, random)[0]), ElementsAre(1, 2.5f));
  EXPECT_THAT(values<float>(rows->get(1, random)[0]), ElementsAre(-300, 4));
  EXPECT_THAT(rows->classes(), ElementsAre("cat", "dog\nbig"));
  EXPECT_EQ(scalar<int64_t>(rows->get(1, random)[1]), 1);
  const Sample chosen = csv(path, {.target = "x", .features = {"y, \"two\""}})->get(1, random);
  EXPECT_THAT(values<float>(chosen[0]), ElementsAre(4));
  EXPECT_EQ(scalar<int64_t>(chosen[1]), -300);
  EXPECT_EQ(scalar<float>(csv(path, {.target = "y, \"two\"", .features = {"x"}})->get(0, random)[1]), 2.5f);
  EXPECT_EQ(scalar<int64_t>(csv(path, {.classes = {"dog\nbig", "cat"}})->get(0, random)[1]), 1);

  const auto fails = [&](const std::string& text, const CsvOptions& options = {}) {
    return sentence_of([&] { csv(write(folder / "b.csv", text), options); });
  };
  EXPECT_THAT(fails("x,y\n"), HasSubstr("no rows below the line of names"));
  EXPECT_THAT(fails(""), HasSubstr("no rows"));
  EXPECT_THAT(fails("x,y\n1,2\n1,2,3\n"), HasSubstr("line 3 has 3 columns, the line of names 2"));
  EXPECT_THAT(fails("x,y\n\n1,2\nz,3\n"), HasSubstr("line 4 has \"z\" in the column \"x\", which is no finite number"));
  EXPECT_THAT(fails("x,y\nnan,1\n"), HasSubstr("no finite number"));
  EXPECT_THAT(fails("x,y\n1,\n2,a\n"), HasSubstr("line 2 has nothing in the column \"y\""));
  EXPECT_THAT(fails("x,y\n1,a\n", {.target = "z"}), HasSubstr("there is no column \"z\""));
  EXPECT_THAT(fails("x,y\n1,bird\n", {.classes = {"birds"}}), HasSubstr("has \"bird\" in the column \"y\", which is no class"));
  EXPECT_THAT(fails("x,y\n1,\"a\n"), HasSubstr("the text that line 2 begins in quotes has no end"));
  EXPECT_THAT(fails("x,y\n1,\"a\"b\n"), HasSubstr("line 2 has characters behind a text in quotes"));
  EXPECT_EQ(csv(write(folder / "c.csv", "x;y\n1;2"), {.delimiter = ';'})->size(), 1);
}

TEST(ImageFolder, a_folder_for_each_class) {
  const auto folder = folder_of("pictures");
  write(folder / "cat/b/2.PPM", "P6 2 1 255\n" + bytes_of({1, 2, 3, 4, 5, 6}));
  write(folder / "cat/1.ppm", "P6 1 1 255\n" + bytes_of({7, 8, 9}));
  write(folder / "cat/notes.txt", "nothing");
  write(folder / "dog/3.pgm", "P5 1 1 255\n" + bytes_of({50}));
  write(folder / ".hidden/4.pgm", "no picture");
  Random random(0);
  if (sentence_of([&] { image_folder(folder.string()); }).find("MINNOW_VISION") != std::string::npos)
    GTEST_SKIP() << "a build without pictures";
  const DatasetPtr pictures = image_folder(folder.string());
  EXPECT_THAT(pictures->classes(), ElementsAre("cat", "dog"));
  ASSERT_EQ(pictures->size(), 3);
  EXPECT_THAT(values<uint8_t>(pictures->get(0, random)[0]), ElementsAre(7, 8, 9));
  const Sample nested = pictures->get(1, random);
  EXPECT_EQ(nested[0].shape(), (Shape{1, 2, 3}));
  EXPECT_THAT(values<uint8_t>(nested[0]), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(scalar<int64_t>(nested[1]), 0);
  EXPECT_EQ(scalar<int64_t>(pictures->get(2, random)[1]), 1);
  const DatasetPtr gray = image_folder(folder.string(), {.gray = true, .classes = {"dog", "cat"}});
  EXPECT_EQ(gray->get(0, random)[0].shape(), (Shape{1, 1, 1}));
  EXPECT_EQ(scalar<int64_t>(gray->get(0, random)[1]), 0);
  const DatasetPtr listed = csv(write(folder / "list.csv", "file,size\ncat/1.ppm,1.5\ndog/3.pgm,2.5\n"), {.image = "file"});
  EXPECT_THAT(values<uint8_t>(listed->get(0, random)[0]), ElementsAre(7, 8, 9));
  EXPECT_EQ(scalar<float>(listed->get(1, random)[1]), 2.5f);

  EXPECT_THAT(sentence_of([&] { image_folder(folder.string() + "/none"); }), HasSubstr("cannot be read"));
  EXPECT_THAT(sentence_of([&] { image_folder((folder / "dog").string()); }), HasSubstr("has no folders"));
  EXPECT_THAT(sentence_of([&] { image_folder(folder.string(), {.classes = {"cat"}}); }), HasSubstr("has the class \"dog\""));
  EXPECT_THAT(sentence_of([&] {
                image_folder(folder.string(), {.classes = {"cat", "dog", "cow"}});
              }),
              HasSubstr("no folder of the class \"cow\""));
  write(folder / "dog/3.pgm", "P5 1");
  const DatasetPtr damaged = image_folder(folder.string());
  EXPECT_THAT(sentence_of([&] { damaged->get(2, random); }), HasSubstr("3.pgm"));
  std::filesystem::create_directories(folder / "empty");
  EXPECT_THAT(sentence_of([&] { image_folder(folder.string()); }), HasSubstr("empty has no pictures"));
  EXPECT_EQ(image_folder(folder.string(), {.allow_empty = true})->size(), 3);
}

}  // namespace
}  // namespace minnow::data
