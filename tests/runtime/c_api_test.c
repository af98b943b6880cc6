/* SPDX-License-Identifier: Apache-2.0
 * The C API from a program in C99, beside what the C++ API gives. `c_api_test time` prints what a run costs through each. */
#define _POSIX_C_SOURCE 200112L

#include <minnow/convert_c.h>
#include <minnow/minnow_c.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/c_api_models.h"

static int failures = 0;

static void check(int condition, const char* what, int line) {
  if (condition) return;
  ++failures;
  fprintf(stderr, "line %d: %s does not hold; the last error is \"%s\"\n", line, what, minnow_error_text());
}
#define CHECK(condition) check((condition) != 0, #condition, __LINE__)
/* The call gives this status, and a sentence with this text. */
static void check_error(minnow_status status, minnow_status expected, const char* text, const char* what, int line) {
  if (status == expected && strstr(minnow_error_text(), text)) return;
  ++failures;
  fprintf(stderr, "line %d: %s gave status %d \"%s\", expected %d \"%s\"\n", line, what, (int)status, minnow_error_text(), (int)expected,
          text);
}
#define CHECK_ERROR(call, status, text) check_error(call, status, text, #call, __LINE__)

static minnow_tensor tensor_of(int32_t dtype, int32_t rank, int64_t first, int64_t second, void* data) {
  minnow_tensor tensor;
  memset(&tensor, 0, sizeof tensor);
  tensor.dtype = dtype;
  tensor.rank = rank;
  tensor.dims[0] = first;
  tensor.dims[1] = second;
  tensor.data = data;
  return tensor;
}

static minnow_model* load(const char* name) {
  minnow_model* model = NULL;
  CHECK(minnow_model_load(model_path(name), NULL, &model) == MINNOW_OK);
  return model;
}

static minnow_session* session_of(const minnow_model* model) {
  minnow_session* session = NULL;
  minnow_session_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.threads = 1;
  CHECK(minnow_session_create(model, &options, &session) == MINNOW_OK);
  return session;
}

static void fill(float* x, int64_t count, float seed) {
  int64_t i;
  for (i = 0; i < count; ++i) x[i] = seed + 0.25f * (float)(i % 7) - 0.5f * (float)(i % 3);
}

/* Loading and describing. */

static void append(char* text, size_t size, const minnow_value* value) {
  int32_t i;
  size_t used = strlen(text);
  snprintf(text + used, size - used, "%s %s %d %d", value->name, value->type, (int)value->dtype, (int)value->rank);
  for (i = 0; i < value->rank; ++i) {
    used = strlen(text);
    snprintf(text + used, size - used, " %ld%s", (long)value->dims[i], value->symbols[i]);
  }
  used = strlen(text);
  snprintf(text + used, size - used, "\n");
}

static void test_description(void) {
  const char* const names[] = {"line", "counter", "list"};
  size_t n, i;
  for (n = 0; n < 3; ++n) {
    minnow_model* model = load(names[n]);
    char text[2000] = "";
    minnow_value value;
    value.struct_size = sizeof value;
    for (i = 0; i < minnow_model_input_count(model); ++i) {
      CHECK(minnow_model_input(model, i, &value) == MINNOW_OK);
      append(text, sizeof text, &value);
    }
    for (i = 0; i < minnow_model_output_count(model); ++i) {
      CHECK(minnow_model_output(model, i, &value) == MINNOW_OK);
      append(text, sizeof text, &value);
    }
    CHECK(strcmp(text, described(names[n])) == 0);
    CHECK(value.struct_size == sizeof value);
    CHECK_ERROR(minnow_model_input(model, 9, &value), MINNOW_INVALID_ARGUMENT, "number 9 is asked for");
    CHECK_ERROR(minnow_model_output(model, 0, NULL), MINNOW_INVALID_ARGUMENT, "value is NULL");
    value.struct_size = 8;
    CHECK_ERROR(minnow_model_output(model, 0, &value), MINNOW_INVALID_ARGUMENT, "struct_size of minnow_value is 8");
    minnow_model_free(model);
  }
}

static void test_loading(void) {
  minnow_model* model = NULL;
  char* bytes = NULL;
  long size;
  FILE* file;
  minnow_model_options options;
  CHECK_ERROR(minnow_model_load("nowhere/net.minnow", NULL, &model), MINNOW_IO, "nowhere/net.minnow");
  CHECK_ERROR(minnow_model_load(NULL, NULL, &model), MINNOW_INVALID_ARGUMENT, "path is NULL");
  CHECK_ERROR(minnow_model_load(model_path("line"), NULL, NULL), MINNOW_INVALID_ARGUMENT, "model is NULL");
  CHECK_ERROR(minnow_model_load(model_path("net.onnx"), NULL, &model), MINNOW_INVALID_MODEL, "net.onnx");
  CHECK(model == NULL);

  file = fopen(model_path("line"), "rb");
  CHECK(file != NULL);
  fseek(file, 0, SEEK_END);
  size = ftell(file);
  fseek(file, 0, SEEK_SET);
  bytes = malloc((size_t)size);
  CHECK(fread(bytes, 1, (size_t)size, file) == (size_t)size);
  fclose(file);
  CHECK_ERROR(minnow_model_load_memory(bytes, (size_t)size / 2, NULL, &model), MINNOW_INVALID_MODEL, "");
  CHECK_ERROR(minnow_model_load_memory(NULL, 10, NULL, &model), MINNOW_INVALID_ARGUMENT, "bytes is NULL");
  CHECK(minnow_model_load_memory(bytes, (size_t)size, NULL, &model) == MINNOW_OK);
  memset(bytes, 0, (size_t)size);
  free(bytes);
  CHECK(minnow_model_output_count(model) == 2);
  minnow_model_free(model);

  /* Custom operators. */
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  CHECK(minnow_model_load(model_path("swish"), &options, &model) == MINNOW_OK);
  {
    float x[4] = {0};
    minnow_tensor input = tensor_of(MINNOW_F32, 1, 4, 0, x), output;
    minnow_session* session = session_of(model);
    memset(&output, 0, sizeof output);
    CHECK_ERROR(minnow_session_run(session, &input, 1, &output, 1), MINNOW_UNSUPPORTED, "com.example.Swish");
    minnow_session_free(session);
    minnow_model_free(model);
  }
  options.operator_library_count = 1;
  CHECK_ERROR(minnow_model_load(model_path("swish"), &options, &model), MINNOW_INVALID_ARGUMENT, "operator_libraries is NULL");
  {
    const char* libraries[1];
    float x[4] = {-1, 0, 1, 2};
    minnow_tensor input = tensor_of(MINNOW_F32, 1, 4, 0, x), output;
    minnow_session* session;
    libraries[0] = custom_operators();
    options.operator_libraries = libraries;
    CHECK(minnow_model_load(model_path("swish"), &options, &model) == MINNOW_OK);
    session = session_of(model);
    minnow_model_free(model); /* the session goes on */
    memset(&output, 0, sizeof output);
    CHECK(minnow_session_run(session, &input, 1, &output, 1) == MINNOW_OK);
    CHECK(((const float*)output.data)[1] == 0 && ((const float*)output.data)[3] > 1.9f);
    minnow_session_free(session);
    libraries[0] = NULL;
    CHECK_ERROR(minnow_model_load(model_path("swish"), &options, &model), MINNOW_INVALID_ARGUMENT, "a path of operator_libraries is NULL");
  }
}

/* Running. */

static void test_running(void) {
  enum { kMost = 9 };
  minnow_model* model = load("line");
  minnow_session* session = session_of(model);
  float x[kMost * 4], expected[kMost * 3], y[kMost * 3];
  int64_t shape[2], expected_shape[2], rows;
  minnow_tensor outputs[2];
  for (rows = 0; rows <= kMost; rows = rows * 2 + 1) {
    minnow_tensor input = tensor_of(MINNOW_F32, 2, rows, 4, x);
    fill(x, rows * 4, (float)rows);
    run_line(x, rows, expected, expected_shape);
    /* Memory of the session. */
    memset(outputs, 0, sizeof outputs);
    CHECK(minnow_session_run(session, &input, 1, outputs, 2) == MINNOW_OK);
    CHECK(outputs[0].dtype == MINNOW_F32 && outputs[0].rank == 2 && outputs[0].dims[0] == rows && outputs[0].dims[1] == 3);
    CHECK(outputs[1].dtype == MINNOW_I64 && outputs[1].rank == 1 && outputs[1].dims[0] == 2);
    CHECK(rows == 0 || memcmp(outputs[0].data, expected, sizeof(float) * 3 * (size_t)rows) == 0);
    CHECK(memcmp(outputs[1].data, expected_shape, sizeof expected_shape) == 0);
    if (rows == 0) continue;
    /* The same memory once more. */
    x[0] += 1;
    run_line(x, rows, expected, expected_shape);
    CHECK(minnow_session_run(session, &input, 1, outputs, 2) == MINNOW_OK);
    CHECK(memcmp(outputs[0].data, expected, sizeof(float) * 3 * (size_t)rows) == 0);
    /* Memory of the caller. */
    outputs[0] = tensor_of(MINNOW_F32, 2, rows, 3, y);
    outputs[1] = tensor_of(MINNOW_I64, 1, 2, 0, shape);
    CHECK(minnow_session_prepare(session, &input, 1) == MINNOW_OK);
    CHECK(minnow_session_run(session, &input, 1, outputs, 2) == MINNOW_OK);
    CHECK(memcmp(y, expected, sizeof(float) * 3 * (size_t)rows) == 0 && shape[0] == rows && shape[1] == 4);
  }
  minnow_session_free(session);
  minnow_model_free(model);
}

static void test_wrong_runs(void) {
  minnow_model* model = load("line");
  minnow_session* session = session_of(model);
  float x[8] = {0}, y[6];
  int64_t shape[2];
  const minnow_tensor good = tensor_of(MINNOW_F32, 2, 2, 4, x);
  minnow_tensor input, outputs[2];
  memset(outputs, 0, sizeof outputs);
  input = tensor_of(MINNOW_F32, 2, 2, 5, x);
  CHECK_ERROR(minnow_session_run(session, &input, 1, outputs, 2), MINNOW_INVALID_ARGUMENT,
              "input \"x\" should be f32[batch, 4], it is f32[2, 5]");
  CHECK_ERROR(minnow_session_prepare(session, &input, 1), MINNOW_INVALID_ARGUMENT, "input \"x\" should be");
  input = tensor_of(MINNOW_F64, 2, 2, 4, x);
  CHECK_ERROR(minnow_session_run(session, &input, 1, outputs, 2), MINNOW_INVALID_ARGUMENT, "it is f64[2, 4]");
  input = tensor_of(99, 2, 2, 4, x);
  CHECK_ERROR(minnow_session_run(session, &input, 1, outputs, 2), MINNOW_INVALID_ARGUMENT, "dtype of inputs[0] is 99");
  input = tensor_of(8, 2, 2, 4, x); /* strings */
  CHECK_ERROR(minnow_session_run(session, &input, 1, outputs, 2), MINNOW_INVALID_ARGUMENT, "dtype of inputs[0] is 8");
  input = tensor_of(MINNOW_F32, 13, 2, 4, x);
  CHECK_ERROR(minnow_session_run(session, &input, 1, outputs, 2), MINNOW_INVALID_ARGUMENT, "rank of inputs[0] is 13");
  input = tensor_of(MINNOW_F32, -1, 2, 4, x);
  CHECK_ERROR(minnow_session_run(session, &input, 1, outputs, 2), MINNOW_INVALID_ARGUMENT, "rank of inputs[0] is -1");
  input = tensor_of(MINNOW_F32, 2, -2, 4, x);
  CHECK_ERROR(minnow_session_run(session, &input, 1, outputs, 2), MINNOW_INVALID_ARGUMENT, "dims of inputs[0] are [-2, 4]");
  input = tensor_of(MINNOW_F32, 2, 2, 4, NULL);
  CHECK_ERROR(minnow_session_run(session, &input, 1, outputs, 2), MINNOW_INVALID_ARGUMENT, "has no data");
  CHECK_ERROR(minnow_session_run(session, NULL, 1, outputs, 2), MINNOW_INVALID_ARGUMENT, "inputs is NULL");
  CHECK_ERROR(minnow_session_run(session, &good, 1, NULL, 2), MINNOW_INVALID_ARGUMENT, "outputs is NULL");
  CHECK_ERROR(minnow_session_run(session, NULL, 0, outputs, 2), MINNOW_INVALID_ARGUMENT, "takes 1 inputs, 0 were given");
  CHECK_ERROR(minnow_session_run(session, &good, 3, outputs, 2), MINNOW_INVALID_ARGUMENT, "takes 1 inputs, 3 were given");
  CHECK_ERROR(minnow_session_run(session, &good, 1, outputs, 1), MINNOW_INVALID_ARGUMENT, "has 2 outputs, 1 were given");
  CHECK_ERROR(minnow_session_run(session, &good, 1, outputs, 100), MINNOW_INVALID_ARGUMENT, "has 2 outputs, 100 were given");
  CHECK_ERROR(minnow_session_run(NULL, &good, 1, outputs, 2), MINNOW_INVALID_ARGUMENT, "session is NULL");
  outputs[0] = tensor_of(MINNOW_F32, 2, 2, 3, y);
  CHECK_ERROR(minnow_session_run(session, &good, 1, outputs, 2), MINNOW_INVALID_ARGUMENT, "data of 1 of 2 outputs is NULL");
  outputs[1] = tensor_of(MINNOW_I64, 1, 3, 0, shape);
  CHECK_ERROR(minnow_session_run(session, &good, 1, outputs, 2), MINNOW_INVALID_ARGUMENT,
              "output \"rows\" is i64[2], the memory given for it is i64[3]");
  outputs[1].dims[0] = 2;
  CHECK(minnow_session_run(session, &good, 1, outputs, 2) == MINNOW_OK); /* after all this it still runs */
  CHECK(minnow_session_cancel(session) == MINNOW_OK);
  CHECK_ERROR(minnow_session_run(session, &good, 1, outputs, 2), MINNOW_CANCELLED, "");
  CHECK(minnow_session_run(session, &good, 1, outputs, 2) == MINNOW_OK);
  minnow_session_free(session);
  minnow_model_free(model);
}

static void test_options(void) {
  /* A later version's options: longer by what this library does not know. */
  struct {
    minnow_session_options known;
    uint64_t unknown;
  } later;
  minnow_model* model = load("line");
  minnow_model* list = load("list");
  minnow_session* session = NULL;
  minnow_session_options options;
  memset(&options, 0, sizeof options);
  CHECK_ERROR(minnow_session_create(model, &options, &session), MINNOW_INVALID_ARGUMENT, "struct_size of minnow_session_options is 0");
  options.struct_size = sizeof options;
  options.time_limit = -1;
  CHECK_ERROR(minnow_session_create(model, &options, &session), MINNOW_INVALID_ARGUMENT, "time_limit is -1");
  options.time_limit = 0;
  options.struct_size = 0xffffffffu;
  CHECK_ERROR(minnow_session_create(model, &options, &session), MINNOW_INVALID_ARGUMENT,
              "struct_size of minnow_session_options is 4294967295");
  options.struct_size = sizeof options;
  options.precision = "exact";
  CHECK_ERROR(minnow_session_create(model, &options, &session), MINNOW_INVALID_ARGUMENT, "precision is \"exact\"");
  options.precision = "high";
  options.memory = "none";
  CHECK_ERROR(minnow_session_create(model, &options, &session), MINNOW_INVALID_ARGUMENT, "memory is \"none\"");
  options.memory = "low";
  options.memory_limit = (uint64_t)1 << 30;
  options.time_limit = 100;
  CHECK(minnow_session_create(model, &options, &session) == MINNOW_OK);
  minnow_session_free(session);
  session = NULL;
  memset(&later, 0, sizeof later);
  later.known = options;
  later.known.struct_size = sizeof later;
  CHECK(minnow_session_create(model, &later.known, &session) == MINNOW_OK);
  minnow_session_free(session);
  session = NULL;
  later.unknown = 1;
  CHECK_ERROR(minnow_session_create(model, &later.known, &session), MINNOW_INVALID_ARGUMENT, "a later version");
  CHECK_ERROR(minnow_session_create(NULL, &options, &session), MINNOW_INVALID_ARGUMENT, "model is NULL");
  CHECK_ERROR(minnow_session_create(model, &options, NULL), MINNOW_INVALID_ARGUMENT, "session is NULL");
  CHECK_ERROR(minnow_session_create(list, NULL, &session), MINNOW_UNSUPPORTED, "\"y\" is seq(f32)");
  CHECK(session == NULL);
  minnow_model_free(list);
  minnow_model_free(model);
}

static void test_tuning(void) {
  const char* file = "c_api_tuning.txt";
  minnow_model* model = load("line");
  minnow_session* session = NULL;
  minnow_session_options options;
  float x[2 * 4];
  const minnow_tensor input = tensor_of(MINNOW_F32, 2, 2, 4, x);
  fill(x, 2 * 4, 1);
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.power = "efficient";
  options.threads = 1;
  remove(file);
  CHECK(minnow_model_tune(model, &options, &input, 1, 0.01, file) == MINNOW_OK);
  options.tuning = file;
  CHECK(minnow_session_create(model, &options, &session) == MINNOW_OK);
  minnow_session_free(session);
  session = NULL;
  remove(file);
  CHECK(minnow_session_create(model, &options, &session) == MINNOW_OK); /* a file that is not there does not matter */
  minnow_session_free(session);
  session = NULL;
  CHECK_ERROR(minnow_model_tune(model, &options, &input, 1, 0, file), MINNOW_INVALID_ARGUMENT, "seconds is 0");
  CHECK_ERROR(minnow_model_tune(model, &options, &input, 1, 0.01, NULL), MINNOW_INVALID_ARGUMENT, "file is NULL");
  CHECK_ERROR(minnow_model_tune(NULL, &options, &input, 1, 0.01, file), MINNOW_INVALID_ARGUMENT, "model is NULL");
  CHECK_ERROR(minnow_model_tune(model, &options, &input, 1, 0.01, "nowhere/tuning.txt"), MINNOW_IO, "nowhere/tuning.txt");
  options.power = "turbo";
  CHECK_ERROR(minnow_session_create(model, &options, &session), MINNOW_INVALID_ARGUMENT, "power is \"turbo\"");
  options.power = "balanced";
  CHECK(minnow_session_create(model, &options, &session) == MINNOW_OK);
  minnow_session_free(session);
  minnow_model_free(model);
}

static void test_states(void) {
  minnow_model* model = load("counter");
  minnow_session* session = session_of(model);
  float x[2] = {1, 2}, y[2];
  const minnow_tensor input = tensor_of(MINNOW_F32, 1, 2, 0, x);
  minnow_tensor output = tensor_of(MINNOW_F32, 1, 2, 0, y);
  CHECK(minnow_session_run(session, &input, 1, &output, 1) == MINNOW_OK && y[0] == 11 && y[1] == 22);
  CHECK(minnow_session_run(session, &input, 1, &output, 1) == MINNOW_OK && y[0] == 12 && y[1] == 24);
  CHECK(minnow_session_reset_states(session) == MINNOW_OK);
  CHECK(minnow_session_run(session, &input, 1, &output, 1) == MINNOW_OK && y[0] == 11 && y[1] == 22);
  CHECK_ERROR(minnow_session_reset_states(NULL), MINNOW_INVALID_ARGUMENT, "session is NULL");
  minnow_session_free(session);
  minnow_model_free(model);
}

static void test_nothing(void) {
  minnow_model_free(NULL);
  minnow_session_free(NULL);
  CHECK(minnow_model_input_count(NULL) == 0 && minnow_model_output_count(NULL) == 0);
  CHECK_ERROR(minnow_session_cancel(NULL), MINNOW_INVALID_ARGUMENT, "session is NULL");
  CHECK(minnow_dtype_size(MINNOW_F32) == 4 && minnow_dtype_size(MINNOW_BF16) == 2 && minnow_dtype_size(0) == 0);
  CHECK(minnow_dtype_size(-1) == 0 && minnow_dtype_size(257) == 0 && minnow_dtype_size(1000000) == 0);
  CHECK(strcmp(minnow_dtype_name(MINNOW_BOOL), "bool") == 0 && strcmp(minnow_dtype_name(-5), minnow_dtype_name(0)) == 0);
  CHECK(strchr(minnow_version(), '.') != NULL);
}

static void test_converting(void) {
  char from[1000], to[1000];
  const char* paths[1];
  minnow_model* model = NULL;
  snprintf(from, sizeof from, "%s", model_path("net.onnx"));
  snprintf(to, sizeof to, "%s", path_beside("converted.minnow"));
  paths[0] = from;
  CHECK(minnow_convert(paths, 1, to) == MINNOW_OK);
  CHECK(minnow_model_load(to, NULL, &model) == MINNOW_OK);
  CHECK(minnow_model_input_count(model) == 1 && minnow_model_output_count(model) == 2);
  minnow_model_free(model);
  CHECK_ERROR(minnow_convert(NULL, 1, to), MINNOW_INVALID_ARGUMENT, "paths is NULL");
  CHECK_ERROR(minnow_convert(NULL, 0, to), MINNOW_INVALID_ARGUMENT, "no path");
  CHECK_ERROR(minnow_convert(paths, 1, NULL), MINNOW_INVALID_ARGUMENT, "destination is NULL");
  paths[0] = "nowhere.onnx";
  CHECK_ERROR(minnow_convert(paths, 1, to), MINNOW_IO, "nowhere.onnx");
}

/* Threads: one model, a session each; errors are each thread's own; a session that is in a call is refused. */

enum { kThreads = 4, kRunsOfThread = 200 };

typedef struct {
  const minnow_model* model;
  int number, wrong;
} Worker;

static void* work(void* argument) {
  Worker* worker = argument;
  minnow_session* session = NULL;
  const int64_t rows = worker->number + 1;
  float x[kThreads * 4], expected[kThreads * 3], y[kThreads * 3];
  int64_t shape[2], expected_shape[2];
  const minnow_tensor input = tensor_of(MINNOW_F32, 2, rows, 4, x);
  minnow_tensor outputs[2];
  char text[40];
  int i;
  outputs[0] = tensor_of(MINNOW_F32, 2, rows, 3, y);
  outputs[1] = tensor_of(MINNOW_I64, 1, 2, 0, shape);
  fill(x, rows * 4, (float)worker->number);
  run_line(x, rows, expected, expected_shape);
  worker->wrong += minnow_session_create(worker->model, NULL, &session) != MINNOW_OK;
  for (i = 0; i < kRunsOfThread; ++i) {
    minnow_tensor bad = input;
    bad.dtype = 100 + worker->number;
    worker->wrong += minnow_session_run(session, &input, 1, outputs, 2) != MINNOW_OK;
    worker->wrong += memcmp(y, expected, sizeof(float) * 3 * (size_t)rows) != 0;
    worker->wrong += minnow_session_run(session, &bad, 1, outputs, 2) != MINNOW_INVALID_ARGUMENT;
    snprintf(text, sizeof text, "is %d,", 100 + worker->number);
    worker->wrong += strstr(minnow_error_text(), text) == NULL;
  }
  minnow_session_free(session);
  return NULL;
}

typedef struct {
  minnow_session* session;
  int done, refused, wrong;
} Sharer;

static void* share(void* argument) {
  Sharer* sharer = argument;
  float x[64 * 4] = {0}, y[64 * 3];
  int64_t shape[2];
  const minnow_tensor input = tensor_of(MINNOW_F32, 2, 64, 4, x);
  minnow_tensor outputs[2];
  int i;
  outputs[0] = tensor_of(MINNOW_F32, 2, 64, 3, y);
  outputs[1] = tensor_of(MINNOW_I64, 1, 2, 0, shape);
  for (i = 0; i < kRunsOfThread; ++i) {
    const minnow_status status = minnow_session_run(sharer->session, &input, 1, outputs, 2);
    if (status == MINNOW_OK)
      ++sharer->done;
    else if (status == MINNOW_INVALID_ARGUMENT && strstr(minnow_error_text(), "another thread"))
      ++sharer->refused;
    else
      ++sharer->wrong;
  }
  return NULL;
}

static void test_threads(void) {
  minnow_model* model = load("line");
  minnow_session* session = session_of(model);
  pthread_t threads[kThreads];
  Worker workers[kThreads];
  Sharer sharers[kThreads];
  int i;
  model_path("line"); /* the models are written before threads ask for them */
  for (i = 0; i < kThreads; ++i) {
    workers[i].model = model;
    workers[i].number = i;
    workers[i].wrong = 0;
    CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
  }
  for (i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], NULL);
    CHECK(workers[i].wrong == 0);
  }
  for (i = 0; i < kThreads; ++i) {
    memset(&sharers[i], 0, sizeof sharers[i]);
    sharers[i].session = session;
    CHECK(pthread_create(&threads[i], NULL, share, &sharers[i]) == 0);
  }
  for (i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], NULL);
    CHECK(sharers[i].wrong == 0 && sharers[i].done + sharers[i].refused == kRunsOfThread);
  }
  minnow_session_free(session);
  minnow_model_free(model);
}

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

static double seconds_of_c_run(int64_t rows, int runs) {
  minnow_model* model = load("line");
  minnow_session* session = NULL;
  float* x = calloc((size_t)rows * 4, sizeof(float));
  float* y = calloc((size_t)rows * 3, sizeof(float));
  int64_t shape[2];
  minnow_tensor input = tensor_of(MINNOW_F32, 2, rows, 4, x), outputs[2];
  double best = 1;
  int i, k;
  CHECK(minnow_session_create(model, NULL, &session) == MINNOW_OK);
  outputs[0] = tensor_of(MINNOW_F32, 2, rows, 3, y);
  outputs[1] = tensor_of(MINNOW_I64, 1, 2, 0, shape);
  for (i = 0; i < runs; ++i) {
    const double begin = now();
    for (k = 0; k < 100; ++k) CHECK(minnow_session_run(session, &input, 1, outputs, 2) == MINNOW_OK);
    if ((now() - begin) / 100 < best) best = (now() - begin) / 100;
  }
  minnow_session_free(session);
  minnow_model_free(model);
  free(x);
  free(y);
  return best;
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "time") == 0) {
    int round;
    for (round = 0; round < 5; ++round)
      printf("a run of 2 rows: %.3f us through C, %.3f us through C++\n", 1e6 * seconds_of_c_run(2, 200), 1e6 * seconds_of_cpp_run(2, 200));
    return failures != 0;
  }
  CHECK(strcmp(minnow_error_text(), "") == 0);
  test_nothing();
  test_loading();
  test_description();
  test_running();
  test_wrong_runs();
  test_options();
  test_tuning();
  test_states();
  test_converting();
  test_threads();
  if (failures) fprintf(stderr, "%d checks failed\n", failures);
  return failures != 0;
}
