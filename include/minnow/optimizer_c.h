/* SPDX-License-Identifier: Apache-2.0
 * Optimizers of other libraries and languages, for load_optimizers() of <minnow/optimizer.h>. No exception and no C++ type crosses this
 * line. A shared library exports
 *     const minnow_custom_optimizer* const* minnow_custom_optimizers(uint32_t abi_version, size_t* count);
 * which returns NULL where it does not know that version. Groups, schedules, clipping, accumulation, averages and saved states work for
 * these optimizers as for built-in ones. */
#ifndef MINNOW_OPTIMIZER_C_H
#define MINNOW_OPTIMIZER_C_H

#include <minnow/minnow_c.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MINNOW_CUSTOM_OPTIMIZER_ABI 1u
#define MINNOW_MAX_OPTIMIZER_STATES 8

/* One step of one tensor. Pointers are good during the call. */
typedef struct minnow_optimizer_call {
  uint32_t struct_size;
  int32_t dtype; /* MINNOW_F32 or MINNOW_F64 */
  int32_t rank;
  const int64_t* dims;
  int64_t count;          /* of elements */
  void* values;           /* the weights, to be updated */
  const void* gradient;   /* clipped */
  void* const* states;    /* as many as the table says, each like the weights, 0 before the first step */
  const double* settings; /* in the table's order */
  double learning_rate;   /* with the schedule's factor */
  double weight_decay;
  int64_t step; /* from 1 */
  char* error;  /* room for one sentence, where update fails */
  size_t error_size;
} minnow_optimizer_call;

typedef struct minnow_optimizer_setting {
  const char* name;
  double fallback, low, high;
  const char* meaning; /* may be NULL */
} minnow_optimizer_setting;

typedef struct minnow_custom_optimizer {
  uint32_t struct_size;
  const char* name;
  const char* doc; /* the formula and its source; may be NULL */
  void* user;
  double learning_rate; /* default */
  const minnow_optimizer_setting* settings;
  size_t setting_count;
  const char* const* states; /* their names */
  size_t state_count;        /* at most MINNOW_MAX_OPTIMIZER_STATES */
  double operations;         /* for one element, for the cost */
  /* 0: the weights are updated. Called for several tensors at once, from several threads. */
  int (*update)(minnow_optimizer_call* call, void* user);
} minnow_custom_optimizer;

typedef const minnow_custom_optimizer* const* (*minnow_custom_optimizers_function)(uint32_t abi_version, size_t* count);

#ifdef __cplusplus
}
#endif
#endif
