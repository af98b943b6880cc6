/* SPDX-License-Identifier: Apache-2.0
 * The C side of Minnow. No exception, no C++ type and no memory ownership crosses this line, so that libraries built by other compilers, or
 * in other languages, can be joined.
 *
 * Custom operators: a shared library exports
 *     const minnow_custom_op* const* minnow_custom_ops(uint32_t abi_version, size_t* count);
 * which returns NULL where it does not know that version. <minnow/custom_op.h> writes all this for C++. */
#ifndef MINNOW_MINNOW_C_H
#define MINNOW_MINNOW_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MINNOW_CUSTOM_OP_ABI 1u
#define MINNOW_MAX_RANK 12

/* Element types, as minnow::DType (the numbers of ONNX's TensorProto.DataType). Types under a byte take one byte an element. */
enum {
  MINNOW_F32 = 1,
  MINNOW_U8 = 2,
  MINNOW_I8 = 3,
  MINNOW_U16 = 4,
  MINNOW_I16 = 5,
  MINNOW_I32 = 6,
  MINNOW_I64 = 7,
  MINNOW_BOOL = 9,
  MINNOW_F16 = 10,
  MINNOW_F64 = 11,
  MINNOW_U32 = 12,
  MINNOW_U64 = 13,
  MINNOW_BF16 = 16
};

/* A dense row-major tensor. */
typedef struct minnow_tensor {
  int32_t dtype; /* 0: absent */
  int32_t rank;  /* outputs of infer: -1 where the shape depends on data; compute then calls allocate_output */
  int64_t dims[MINNOW_MAX_RANK];
  void* data; /* infer: NULL where the contents are not known before the run; must not be written unless it is an output */
} minnow_tensor;

typedef struct minnow_op_call minnow_op_call; /* one call of infer or compute; what the functions below need */

/* What an operator can ask of the engine. Strings and arrays live as long as the call. struct_size lets later versions append functions. */
typedef struct minnow_op_api {
  uint32_t struct_size;
  size_t (*input_count)(const minnow_op_call* call);
  size_t (*output_count)(const minnow_op_call* call);
  const minnow_tensor* (*input)(const minnow_op_call* call, size_t i);
  /* infer: fill in dtype, rank and dims. compute: dtype, rank, dims and data are set where the shape was known. dtype 0: not wanted. */
  minnow_tensor* (*output)(minnow_op_call* call, size_t i);
  /* compute only: memory for an output whose rank was -1. NULL where there is none (then fail has been called). */
  void* (*allocate_output)(minnow_op_call* call, size_t i, int32_t rank, const int64_t* dims);
  /* Attributes: 1 where it is there and of that type, else 0 and the arguments are left alone. */
  int (*attribute_int)(const minnow_op_call* call, const char* name, int64_t* value);
  int (*attribute_float)(const minnow_op_call* call, const char* name, float* value);
  int (*attribute_string)(const minnow_op_call* call, const char* name, const char** text, size_t* length);
  int (*attribute_ints)(const minnow_op_call* call, const char* name, const int64_t** values, size_t* count);
  int (*attribute_floats)(const minnow_op_call* call, const char* name, const float** values, size_t* count);
  int (*attribute_tensor)(const minnow_op_call* call, const char* name, minnow_tensor* value);
  /* infer only: the contents of this input are needed; return any non-zero status afterwards. */
  void (*need_contents)(minnow_op_call* call, size_t input);
  /* One sentence for the user; return non-zero afterwards. */
  void (*fail)(minnow_op_call* call, const char* sentence);
} minnow_op_api;

typedef struct minnow_custom_op {
  uint32_t struct_size;
  const char* name; /* with its domain: "com.example.Swish" */
  const char* doc;  /* may be NULL */
  void* user;
  /* 0: the outputs' types are set. */
  int (*infer)(const minnow_op_api* api, minnow_op_call* call, void* user);
  /* 0: the outputs are computed. Called from one thread at a time per session, from several sessions at once. */
  int (*compute)(const minnow_op_api* api, minnow_op_call* call, void* user);
} minnow_custom_op;

typedef const minnow_custom_op* const* (*minnow_custom_ops_function)(uint32_t abi_version, size_t* count);

#ifdef __cplusplus
}
#endif

#endif
