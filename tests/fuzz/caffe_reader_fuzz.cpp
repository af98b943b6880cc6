// SPDX-License-Identifier: Apache-2.0
// libFuzzer: a network's text, a zero byte, then any bytes as its weights give a graph or an error.
#include <cstdlib>

#include "base/error.h"
#include "importers/caffe/importer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  minnow::ImportOptions options;
  options.warn = [](std::string_view) {};
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  minnow::caffe::looks_like_prototxt(all);
  minnow::caffe::looks_like_caffemodel(all);
  const size_t end = all.find('\0');
  try {
    minnow::caffe::import_model(all.substr(0, end), end == all.npos ? std::string_view() : all.substr(end + 1), options, "net.prototxt",
                                "net.caffemodel");
  } catch (const minnow::Error& error) {
    if (error.kind() == minnow::ErrorKind::internal) std::abort();  // a broken promise of ours
  }
  return 0;
}
