/* SPDX-License-Identifier: Apache-2.0
 * Runs a .minnow model on zeros from C, and prints what goes in and what comes out: run_c MODEL.minnow */
#include <minnow/minnow_c.h>
#include <stdio.h>
#include <stdlib.h>

static void must(minnow_status status) {
  if (status == MINNOW_OK) return;
  fprintf(stderr, "%s\n", minnow_error_text());
  exit(1);
}

int main(int argc, char** argv) {
  minnow_model* model;
  minnow_session* session;
  minnow_tensor *inputs, *outputs;
  minnow_session_options options = {.struct_size = sizeof options, .threads = 1}; /* zero: the default of all else */
  minnow_value value = {.struct_size = sizeof value};
  size_t input_count, output_count, i, k;

  if (argc != 2) return fputs("usage: run_c MODEL.minnow\n", stderr), 2;
  must(minnow_model_load(argv[1], NULL, &model));
  must(minnow_session_create(model, &options, &session));
  input_count = minnow_model_input_count(model);
  output_count = minnow_model_output_count(model);
  inputs = calloc(input_count + 1, sizeof *inputs);
  outputs = calloc(output_count + 1, sizeof *outputs); /* data NULL: memory of the session */

  for (i = 0; i < input_count; ++i) {
    size_t elements = 1;
    must(minnow_model_input(model, i, &value));
    printf("input %s: %s\n", value.name, value.type);
    inputs[i].dtype = value.dtype;
    inputs[i].rank = value.rank < 0 ? 0 : value.rank;
    for (k = 0; (int32_t)k < inputs[i].rank; ++k) {
      inputs[i].dims[k] = value.dims[k] < 1 ? 1 : value.dims[k]; /* -1: not fixed */
      elements *= (size_t)inputs[i].dims[k];
    }
    inputs[i].data = calloc(elements, minnow_dtype_size(value.dtype));
  }
  must(minnow_session_run(session, inputs, input_count, outputs, output_count));

  for (i = 0; i < output_count; ++i) {
    size_t elements = 1;
    must(minnow_model_output(model, i, &value));
    printf("output %s: %s[", value.name, minnow_dtype_name(outputs[i].dtype));
    for (k = 0; (int32_t)k < outputs[i].rank; ++k) {
      printf(k ? ", %ld" : "%ld", (long)outputs[i].dims[k]);
      elements *= (size_t)outputs[i].dims[k];
    }
    printf("]");
    for (k = 0; outputs[i].dtype == MINNOW_F32 && k < elements && k < 4; ++k) printf(" %g", ((const float*)outputs[i].data)[k]);
    printf("\n");
  }
  minnow_session_free(session);
  minnow_model_free(model);
  for (i = 0; i < input_count; ++i) free(inputs[i].data);
  free(inputs);
  free(outputs);
  return 0;
}
