// SPDX-License-Identifier: Apache-2.0
// The module minnow._minnow, on which the Python package is built.
#include <minnow/express_passes.h>

#include "binding.h"
#include "numpy/numpy.h"

NB_MODULE(_minnow, m) {
  using namespace minnow::python;
  nb::set_leak_warnings(false);  // plans that are kept may hold the memory of arrays when the process ends
  m.attr("__version__") = minnow::version();
  minnow::optimize_expressions();  // bit for bit the same, and chains of large arrays take half the time
  keep_messages();
  define_errors(m);
  define_dtype(m);
  define_var(m);
  define_operators(m);
  define_expressions(m);
  define_models(m);
  define_device(m);
  define_compress(m);
  define_prune(m);
  define_vision(m);
  define_optim(m);
  define_custom(m);
  define_command(m);
  define_functions(m);
  define_tracing(m);
  minnow::numpy::define_numpy(m);
}
