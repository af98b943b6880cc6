// SPDX-License-Identifier: Apache-2.0
#include "base/c_status.h"

#include "base/no_memory.h"

namespace minnow {
namespace {

struct LastError {
  std::string sentence;
  const char* text = "";
};
thread_local LastError last_error;

minnow_status failed(minnow_status status, const char* text) noexcept {
  try {
    last_error.sentence = text;
    last_error.text = last_error.sentence.c_str();
  } catch (...) {
    last_error.text = "there is no memory for the sentence that tells what is wrong";
  }
  return status;
}

minnow_status status_of(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::invalid_model:
      return MINNOW_INVALID_MODEL;
    case ErrorKind::invalid_argument:
      return MINNOW_INVALID_ARGUMENT;
    case ErrorKind::unsupported:
      return MINNOW_UNSUPPORTED;
    case ErrorKind::out_of_memory:
      return MINNOW_OUT_OF_MEMORY;
    case ErrorKind::io:
      return MINNOW_IO;
    case ErrorKind::cancelled:
      return MINNOW_CANCELLED;
    case ErrorKind::internal:
      break;
  }
  return MINNOW_INTERNAL;
}

}  // namespace

minnow_status c_status(FunctionRef<void()> body) noexcept {
  try {
    try {
      body();
    } catch (...) {
      throw_as_error();
    }
    return MINNOW_OK;
  } catch (const Error& error) {
    return failed(status_of(error.kind()), error.what());
  } catch (const std::exception& error) {
    return failed(MINNOW_INTERNAL, error.what());
  } catch (...) {
    return failed(MINNOW_INTERNAL, "something unknown was thrown");
  }
}

}  // namespace minnow

extern "C" const char* minnow_error_text(void) { return minnow::last_error.text; }
