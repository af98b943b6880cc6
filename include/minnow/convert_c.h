/* SPDX-License-Identifier: Apache-2.0
 * Converting from C (see minnow_c.h). Link minnow_convert (CMake: Minnow::convert), an archive; libminnow.so does not have it. */
#ifndef MINNOW_CONVERT_C_H
#define MINNOW_CONVERT_C_H

#include <minnow/minnow_c.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a model of any format (`path_count` files, where a format has several), optimizes it, and writes a .minnow file, or an ONNX file
 * where `destination` ends in ".onnx". */
MINNOW_C_API minnow_status minnow_convert(const char* const* paths, size_t path_count, const char* destination);

#ifdef __cplusplus
}
#endif

#endif
