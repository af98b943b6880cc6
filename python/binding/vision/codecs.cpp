// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"
#include "base/os.h"

namespace minnow::python {
namespace {

using vision::ImageView;
using vision::ReadMode;

std::span<const std::byte> bytes_of(const Tensor& data) { return {static_cast<const std::byte*>(data.data()), data.bytes()}; }

Tensor imread(const std::string& path, ReadMode flags) { return vision::read_image(path, flags); }
Tensor imdecode(const Tensor& data, ReadMode flags) { return vision::decode_image(bytes_of(data), flags); }

void imwrite(const std::string& path, const ImageView& image, const std::vector<int>& options) {
  vision::write_image(path, image, options);
}
Tensor imencode(const std::string& suffix, const ImageView& image, const std::vector<int>& options) {
  const std::vector<std::byte> file = vision::encode_image(suffix, image, options);
  Tensor result(DType::u8, Shape{static_cast<int64_t>(file.size())});
  std::memcpy(result.writable().data<uint8_t>(), file.data(), file.size());
  return result;
}

bool have_image_reader(const std::string& path) {
  try {
    return vision::have_image_reader(os::MappedFile::open(path)->bytes());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::io) throw;
    return false;
  }
}

}  // namespace

void define_codecs(nb::module_& m) {
  define(m, "imread", imread, {"filename", "flags"});
  define(m, "imdecode", imdecode, {"buf", "flags"});
  define(m, "imwrite", imwrite, {"filename", "img", "params"});
  define(m, "imencode", imencode, {"ext", "img", "params"});
  define(m, "haveImageReader", have_image_reader, {"filename"});
  define(m, "haveImageWriter", vision::have_image_writer, {"filename"});
}

}  // namespace minnow::python
