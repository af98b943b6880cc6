// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "base/error.h"
#include "importers/formats.h"

namespace minnow::tflite {

inline std::unique_ptr<Graph> import_bytes(const std::string& bytes, const std::string& signature = {}) {
  ImportOptions options;
  options.source = "net.tflite";
  options.signature = signature;
  return import_tflite(std::as_bytes(std::span(bytes.data(), bytes.size())), nullptr, options);
}

/// Empty where the file is right.
inline std::string error_of(const std::string& bytes, const std::string& signature = {}) {
  try {
    import_bytes(bytes, signature);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace minnow::tflite
