// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

namespace minnow::python {
namespace {

vision::ReadMode mode_from(int flags) {
  if (flags < -1 || flags > 1)
    throw InvalidArgument("imread's flags are {}; there are IMREAD_UNCHANGED, IMREAD_GRAYSCALE and IMREAD_COLOR", flags);
  return static_cast<vision::ReadMode>(flags);
}

Tensor imread(const std::string& path, int flags) { return vision::read_image(path, mode_from(flags)); }
Tensor imdecode(const Tensor& data, int flags) {
  return vision::decode_image({static_cast<const std::byte*>(data.data()), data.bytes()}, mode_from(flags));
}

}  // namespace

void define_codecs(nb::module_& m) {
  define(m, "imread", imread, {"filename", "flags"});
  define(m, "imdecode", imdecode, {"buf", "flags"});
}

}  // namespace minnow::python
