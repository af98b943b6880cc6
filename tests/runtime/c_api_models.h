/* SPDX-License-Identifier: Apache-2.0
 * The C++ side of c_api_test.c: models to run, and what the C++ API says of them. */
#ifndef MINNOW_TESTS_RUNTIME_C_API_MODELS_H
#define MINNOW_TESTS_RUNTIME_C_API_MODELS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Paths of models that are written on the first call: "line" x f32[batch, 4] -> y f32[batch, 3], "rows" i64[2]; "counter" x f32[2] -> the
 * sum of all x; "list" with a sequence as its output; "swish" with an operator of custom_operators(); "net.onnx". NULL for other names. */
const char* model_path(const char* name);
/* A path in the same folder. */
const char* path_beside(const char* file);
/* A shared library with custom operators. */
const char* custom_operators(void);
/* Runs "line" through the C++ API: y gets 3 * rows numbers, shape the 2 elements of the other output. */
void run_line(const float* x, int64_t rows, float* y, int64_t* shape);
/* Describes all inputs and outputs through the C++ API: "name type dtype rank dims..." a line each. */
const char* described(const char* name);
/* Least seconds of a run of "line" with these rows through C++, of `runs`; outputs lie in memory of the caller. */
double seconds_of_cpp_run(int64_t rows, int runs);

#ifdef __cplusplus
}
#endif

#endif
