/* SPDX-License-Identifier: Apache-2.0
 * The C interface of Minnow: custom operators, and running models. No exception and no C++ type crosses it, and each side frees the memory
 * that it allocated, so libraries built by other compilers, or in other languages, can be combined.
 *
 * Custom operators: a shared library exports
 *     const minnow_custom_op* const* minnow_custom_ops(uint32_t abi_version, size_t* count);
 * which returns NULL if it does not support that version. <minnow/custom_op.h> wraps this for C++. */
#ifndef MINNOW_MINNOW_C_H
#define MINNOW_MINNOW_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MINNOW_CUSTOM_OP_ABI 1u
#define MINNOW_MAX_RANK 12

/* Element types, as minnow::DType (the numbers of ONNX's TensorProto.DataType). Types under a byte take one byte per element. */
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

/* The engine's services for operators. Strings and arrays live as long as the call. struct_size lets later versions append functions. */
typedef struct minnow_op_api {
  uint32_t struct_size;
  size_t (*input_count)(const minnow_op_call* call);
  size_t (*output_count)(const minnow_op_call* call);
  const minnow_tensor* (*input)(const minnow_op_call* call, size_t i);
  /* infer: set dtype, rank and dims. compute: dtype, rank, dims and data are set if the shape was known. dtype 0: not wanted. */
  minnow_tensor* (*output)(minnow_op_call* call, size_t i);
  /* compute only: memory for an output whose rank was -1. NULL if there is none (then fail has been called). */
  void* (*allocate_output)(minnow_op_call* call, size_t i, int32_t rank, const int64_t* dims);
  /* Attributes: returns 1 if the attribute exists with that type; else returns 0 and leaves the arguments unchanged. */
  int (*attribute_int)(const minnow_op_call* call, const char* name, int64_t* value);
  int (*attribute_float)(const minnow_op_call* call, const char* name, float* value);
  int (*attribute_string)(const minnow_op_call* call, const char* name, const char** text, size_t* length);
  int (*attribute_ints)(const minnow_op_call* call, const char* name, const int64_t** values, size_t* count);
  int (*attribute_floats)(const minnow_op_call* call, const char* name, const float** values, size_t* count);
  int (*attribute_tensor)(const minnow_op_call* call, const char* name, minnow_tensor* value);
  /* infer only: requests the contents of this input; return any non-zero status afterwards. */
  void (*need_contents)(minnow_op_call* call, size_t input);
  /* Reports one sentence for the user; return non-zero afterwards. */
  void (*fail)(minnow_op_call* call, const char* sentence);

  /* For schemes. In other calls: one thread, no time and no memory. */
  int32_t (*threads)(const minnow_op_call* call);
  int32_t (*precision)(const minnow_op_call* call); /* MINNOW_PRECISION_... of the session */
  /* estimate: seconds for arithmetic on f32 at `efficiency` (0 to 1) of the machine's peak (a multiply-add counts two), and to move bytes
   * through the smallest cache that holds them; on all threads. */
  double (*flop_time)(const minnow_op_call* call, double operations, double efficiency);
  double (*byte_time)(const minnow_op_call* call, double bytes);
  /* run: the memory that the estimate asked for, aligned to a cache line. */
  void* (*scratch)(const minnow_op_call* call);
  /* run: calls task(context, i) for i in [0, tasks) on the session's threads, and waits for all. */
  void (*parallel_for)(minnow_op_call* call, size_t tasks, void (*task)(void* context, size_t i), void* context);
} minnow_op_api;

enum { MINNOW_PRECISION_HIGH = 0, MINNOW_PRECISION_NORMAL = 1, MINNOW_PRECISION_LOW = 2 };

/* A scheme's estimate for one node. */
typedef struct minnow_op_estimate {
  double seconds;        /* that a run will take */
  uint64_t scratch_size; /* bytes of memory for a run alone */
  int32_t
      overwrites; /* the input whose memory output 0, of as many bytes, may take over while it is being read, or -1 (set before the call) */
} minnow_op_estimate;

/* A faster way to compute an operator. The planner uses the accepting scheme with the least estimate; if none accepts, it uses the
 * operator's `compute`. Tensors are plain (row-major) and have known shapes. */
typedef struct minnow_op_scheme {
  uint32_t struct_size;
  const char* name; /* "swish.avx2": shown by plans, kept by tuning files; printable, without spaces */
  void* user;
  /* Returns 0 if this scheme accepts the node, and sets `estimate`; else fail may give the reason. Called often during planning. `data` of
   * inputs that are not constant is NULL. */
  int (*estimate)(const minnow_op_api* api, minnow_op_call* call, minnow_op_estimate* estimate, void* user);
  /* May be NULL. Called once per plan with the arguments of estimate, for work that runs share; run gets *prepared. 0: success. */
  int (*prepare)(const minnow_op_api* api, minnow_op_call* call, void** prepared, void* user);
  /* Computes the outputs and returns 0. Called by one thread at a time for each `prepared`. Should allocate nothing. */
  int (*run)(const minnow_op_api* api, minnow_op_call* call, void* prepared, void* user);
  /* NULL if prepare is. Called once for each `prepared` that is not NULL. */
  void (*release)(void* prepared, void* user);
} minnow_op_scheme;

typedef struct minnow_custom_op {
  uint32_t struct_size; /* of what there is: libraries of before schemes and gradients end behind `compute` */
  const char* name;     /* with its domain: "com.example.Swish" */
  const char* doc;      /* may be NULL */
  void* user;
  /* Sets the outputs' types and returns 0. */
  int (*infer)(const minnow_op_api* api, minnow_op_call* call, void* user);
  /* Computes the outputs and returns 0. Called by one thread at a time per session, and by several sessions at once. */
  int (*compute)(const minnow_op_api* api, minnow_op_call* call, void* user);

  const minnow_op_scheme* const* schemes; /* at most MINNOW_MAX_OP_SCHEMES; may be NULL */
  size_t scheme_count;
  /* The operator that computes gradients, or NULL. Its inputs are this operator's inputs, outputs and gradients of the outputs, in this
   * order; its outputs are the gradients of the inputs. It gets this operator's attributes. Absent: inputs that this node omits, gradients
   * of outputs that nothing depends on, and gradients of inputs that are not floating. */
  const char* gradient;
} minnow_custom_op;

#define MINNOW_MAX_OP_SCHEMES 8

typedef const minnow_custom_op* const* (*minnow_custom_ops_function)(uint32_t abi_version, size_t* count);

/* Running models: the C++ API of <minnow/minnow.h>, as far as a program in another language needs it (docs/c_api.md).
 *
 *     minnow_model* model = NULL;
 *     minnow_session* session = NULL;
 *     if (minnow_model_load("net.minnow", NULL, &model) != MINNOW_OK) return puts(minnow_error_text()), 1;
 *     if (minnow_session_create(model, NULL, &session) != MINNOW_OK) ...
 *     if (minnow_session_run(session, inputs, 1, outputs, 1) != MINNOW_OK) ...
 *     minnow_session_free(session);
 *     minnow_model_free(model);
 *
 * Errors: a function that can fail returns a status, and sets its results only if that is MINNOW_OK. Otherwise minnow_error_text() is one
 * sentence: where the error is, what was expected and what was found. NULL for a required argument is MINNOW_INVALID_ARGUMENT.
 *
 * Threads: a model is immutable and may be used by any number of threads. A session runs one call at a time, so give each thread its own
 * (they share the model's weights). A second concurrent call fails with MINNOW_INVALID_ARGUMENT; only minnow_session_cancel() may be called
 * during a run. Free an object only when no other thread uses it.
 *
 * Later versions: structs with a struct_size, which the caller sets to sizeof, may grow at their end. A library accepts shorter structs of
 * earlier versions, and longer ones if all members that it does not know are zero. Functions are added but never changed. */

#if defined(_WIN32)
#define MINNOW_C_API
#else
#define MINNOW_C_API __attribute__((visibility("default")))
#endif

typedef int32_t minnow_status;
enum {
  MINNOW_OK = 0,
  MINNOW_INVALID_ARGUMENT = 1, /* the caller is wrong */
  MINNOW_INVALID_MODEL = 2,    /* the model is wrong */
  MINNOW_UNSUPPORTED = 3,      /* right, but not something that can be done */
  MINNOW_OUT_OF_MEMORY = 4,    /* the memory limit or the system refused */
  MINNOW_IO = 5,               /* a file could not be read or written */
  MINNOW_CANCELLED = 6,        /* stopped by minnow_session_cancel() or the time limit */
  MINNOW_INTERNAL = 7          /* a fault of the library */
};

typedef struct minnow_model minnow_model;
typedef struct minnow_session minnow_session;

/* "0.1.0" */
MINNOW_C_API const char* minnow_version(void);
/* The error of this thread's last failed call; "" if none failed. Valid until another call of this thread fails. */
MINNOW_C_API const char* minnow_error_text(void);
/* Bytes per element in memory; 0 if the number is no element type. */
MINNOW_C_API size_t minnow_dtype_size(int32_t dtype);
/* "f32", "i64", ...; "undefined" if the number is no element type. */
MINNOW_C_API const char* minnow_dtype_name(int32_t dtype);

typedef struct minnow_model_options {
  uint32_t struct_size;                  /* sizeof(minnow_model_options) */
  uint32_t operator_library_count;       /* of the next */
  const char* const* operator_libraries; /* paths of shared libraries with custom operators */
} minnow_model_options;

/* Loads a .minnow file and uses its weights in place from the mapped file. `options` may be NULL. */
MINNOW_C_API minnow_status minnow_model_load(const char* path, const minnow_model_options* options, minnow_model** model);
/* Loads a model from the bytes of such a file and copies them. */
MINNOW_C_API minnow_status minnow_model_load_memory(const void* bytes, size_t size, const minnow_model_options* options,
                                                    minnow_model** model);
/* NULL is allowed. Sessions of the model stay valid. */
MINNOW_C_API void minnow_model_free(minnow_model* model);

/* An input or output as declared by the model. Strings live as long as the model. */
typedef struct minnow_value {
  uint32_t struct_size; /* sizeof(minnow_value), set before the call */
  int32_t dtype;        /* 0: not a tensor (a sequence, an optional), or not known */
  int32_t rank;         /* -1: not known */
  const char* name;
  const char* type;                     /* "f32[batch, 3, 224, 224]", "seq(i64)" */
  int64_t dims[MINNOW_MAX_RANK];        /* -1: not fixed */
  const char* symbols[MINNOW_MAX_RANK]; /* names of dimensions that are not fixed; "" where there is none */
} minnow_value;

/* Returns 0 if the model is NULL. */
MINNOW_C_API size_t minnow_model_input_count(const minnow_model* model);
MINNOW_C_API size_t minnow_model_output_count(const minnow_model* model);
MINNOW_C_API minnow_status minnow_model_input(const minnow_model* model, size_t i, minnow_value* value);
MINNOW_C_API minnow_status minnow_model_output(const minnow_model* model, size_t i, minnow_value* value);

/* The default of every member is zero. */
typedef struct minnow_session_options {
  uint32_t struct_size;  /* sizeof(minnow_session_options) */
  int32_t threads;       /* 0: all cores */
  const char* precision; /* "high", "normal", "tf32", "low"; NULL: "normal" */
  const char* memory;    /* "normal", "low"; NULL: "normal" */
  uint64_t memory_limit; /* bytes that runs may hold, beside weights, inputs and outputs; 0: physical memory */
  double time_limit;     /* seconds that a run may take, planning included; 0: no limit */
  const char* power;     /* "performance", "balanced", "efficient"; NULL: none of them. See with_power in minnow/tune.h */
  const char* tuning;    /* a file of minnow_model_tune; NULL: plans are made by estimates, as where the file does not fit */
  /* A file in which processes share packed weights; it is extended when weights were packed. NULL: none. See minnow/minnow.h. */
  const char* weight_cache;
  /* The backend, as in minnow/minnow.h: "cpu", "auto", "cuda", ...; NULL: "cpu". */
  const char* backend;
  /* A file in which processes keep the compiled kernels of devices. NULL: none. */
  const char* kernel_cache;
  int32_t fallback; /* not 0: go on with the processor if the device cannot be used, fails or has no memory left */
} minnow_session_options;

/* Measures, for about `seconds`, which schemes and how many threads are fastest for inputs of these shapes on this machine, and adds the
 * results to the file, for sessions with the same options. `options` may be NULL; its time_limit and tuning are ignored. */
MINNOW_C_API minnow_status minnow_model_tune(const minnow_model* model, const minnow_session_options* options, const minnow_tensor* inputs,
                                             size_t input_count, double seconds, const char* file);

/* `options` may be NULL. Returns MINNOW_UNSUPPORTED if an input or output of the model is not a tensor. */
MINNOW_C_API minnow_status minnow_session_create(const minnow_model* model, const minnow_session_options* options,
                                                 minnow_session** session);
/* NULL is allowed. Also frees the memory of outputs that the session allocated. */
MINNOW_C_API void minnow_session_free(minnow_session* session);

/* Inputs and outputs are in the model's order, plain (row-major). The call reads dtype, rank, dims and data of each input.
 * If data of every output is NULL, the session sets all members, and data stays valid until the next such run. If data of every output
 * points to memory (the caller's, or that of an earlier run), dtype, rank and dims describe this memory and must match the run's results;
 * then runs with shapes seen before allocate nothing. Inputs and outputs must not overlap. After an error the contents of outputs are
 * undefined, and the session stays usable. */
MINNOW_C_API minnow_status minnow_session_run(minnow_session* session, const minnow_tensor* inputs, size_t input_count,
                                              minnow_tensor* outputs, size_t output_count);
/* Plans for inputs of these shapes now, so that the first run does not have to. Ignores their data. */
MINNOW_C_API minnow_status minnow_session_prepare(minnow_session* session, const minnow_tensor* inputs, size_t input_count);
/* Resets the states that the model keeps from run to run to their initial values. */
MINNOW_C_API minnow_status minnow_session_reset_states(minnow_session* session);
/* Stops another thread's current run, or else the next run, before its next node; that run returns MINNOW_CANCELLED. */
MINNOW_C_API minnow_status minnow_session_cancel(minnow_session* session);

#ifdef __cplusplus
}
#endif

#endif
