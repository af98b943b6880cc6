/* SPDX-License-Identifier: Apache-2.0
 * Runs models for another process, through the C API of the shared library that it is linked with (library.h): so the suites test a library
 * of any build, for any machine that can be emulated. Requests come on standard input, answers go to standard output:
 *
 *   'L' size u64, bytes                load a model     -> answer
 *   'R' count u64, tensors             run it           -> answer; if that is MINNOW_OK: count u64, tensors
 *   tensor: dtype i32, rank i32, dims i64[rank], bytes u64, elements
 *   answer: status i32; if that is not MINNOW_OK: length u64, the sentence
 *
 * Numbers are in the byte order of the machine, little-endian everywhere. Before a model is loaded, parts of its file and a file with a
 * changed byte have to end in errors, or in a model: what is thrown inside of the library must be caught in it. */
#include <minnow/minnow_c.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void take(void* to, size_t bytes) {
  if (bytes && fread(to, 1, bytes, stdin) != bytes) exit(2); /* the other process ended in the middle */
}
static void give(const void* from, size_t bytes) {
  if (bytes && fwrite(from, 1, bytes, stdout) != bytes) exit(2);
}
static uint64_t take_size(void) {
  uint64_t size;
  take(&size, sizeof size);
  return size;
}
static void* memory(size_t bytes) {
  void* made = malloc(bytes ? bytes : 1);
  if (!made) exit(3);
  return made;
}

static minnow_status answer(minnow_status status) {
  const int32_t number = status;
  give(&number, sizeof number);
  if (status != MINNOW_OK) {
    const char* text = minnow_error_text();
    const uint64_t length = strlen(text);
    give(&length, sizeof length);
    give(text, length);
  }
  return status;
}

/* Loads what is not the model, for the errors. Returns 0 if a part of the file passes for a model. */
static int refuses_damage(unsigned char* bytes, size_t size) {
  size_t i;
  for (i = 0; i < 8; ++i) {
    minnow_model* model = NULL;
    if (minnow_model_load_memory(bytes, size * i / 8, NULL, &model) == MINNOW_OK) {
      minnow_model_free(model);
      return 0;
    }
  }
  for (i = 1; i < 8; ++i) {
    minnow_model* model = NULL;
    unsigned char* place = bytes + size * i / 8;
    *place ^= 0x5a;
    minnow_model_load_memory(bytes, size, NULL, &model);
    minnow_model_free(model);
    *place ^= 0x5a;
  }
  return 1;
}

static size_t bytes_of(const minnow_tensor* tensor) {
  size_t bytes = minnow_dtype_size(tensor->dtype);
  int32_t i;
  for (i = 0; i < tensor->rank; ++i) bytes *= (size_t)tensor->dims[i];
  return bytes;
}

static minnow_model* model;
static minnow_session* session;

static void load(void) {
  const size_t size = (size_t)take_size();
  unsigned char* bytes = memory(size);
  minnow_session_options options;
  minnow_status status;
  take(bytes, size);
  minnow_session_free(session);
  minnow_model_free(model);
  session = NULL, model = NULL;
  if (!refuses_damage(bytes, size)) {
    const int32_t number = MINNOW_INTERNAL;
    const char text[] = "a part of the model's file passes for a model";
    const uint64_t length = sizeof text - 1;
    give(&number, sizeof number);
    give(&length, sizeof length);
    give(text, sizeof text - 1);
    free(bytes);
    return;
  }
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.threads = 1;
  status = minnow_model_load_memory(bytes, size, NULL, &model);
  if (status == MINNOW_OK) status = minnow_session_create(model, &options, &session);
  answer(status);
  free(bytes);
}

static void run(void) {
  const size_t count = (size_t)take_size(), outputs_count = minnow_model_output_count(model);
  minnow_tensor* inputs = memory(count * sizeof *inputs);
  minnow_tensor* outputs = memory(outputs_count * sizeof *outputs);
  size_t i;
  memset(inputs, 0, count * sizeof *inputs);
  memset(outputs, 0, outputs_count * sizeof *outputs);
  for (i = 0; i < count; ++i) {
    size_t bytes;
    take(&inputs[i].dtype, sizeof inputs[i].dtype);
    take(&inputs[i].rank, sizeof inputs[i].rank);
    if (inputs[i].rank < 0 || inputs[i].rank > MINNOW_MAX_RANK) exit(2);
    take(inputs[i].dims, (size_t)inputs[i].rank * sizeof inputs[i].dims[0]);
    bytes = (size_t)take_size();
    inputs[i].data = memory(bytes);
    take(inputs[i].data, bytes);
  }
  if (answer(minnow_session_run(session, inputs, count, outputs, outputs_count)) == MINNOW_OK) {
    const uint64_t number = outputs_count;
    give(&number, sizeof number);
    for (i = 0; i < outputs_count; ++i) {
      const uint64_t bytes = bytes_of(&outputs[i]);
      give(&outputs[i].dtype, sizeof outputs[i].dtype);
      give(&outputs[i].rank, sizeof outputs[i].rank);
      give(outputs[i].dims, (size_t)outputs[i].rank * sizeof outputs[i].dims[0]);
      give(&bytes, sizeof bytes);
      give(outputs[i].data, bytes);
    }
  }
  for (i = 0; i < count; ++i) free(inputs[i].data);
  free(inputs);
  free(outputs);
}

int main(void) {
  int request;
  while ((request = getchar()) != EOF) {
    if (request == 'L')
      load();
    else if (request == 'R')
      run();
    else
      return 2;
    fflush(stdout);
  }
  minnow_session_free(session);
  minnow_model_free(model);
  return 0;
}
