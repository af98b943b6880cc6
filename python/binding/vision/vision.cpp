// SPDX-License-Identifier: Apache-2.0
// minnow._minnow.vision, of which minnow.cv is made: one file for each group of functions.
#include "arguments.h"
#include "base/parallel.h"

namespace minnow::python {

void define_vision(nb::module_& m) {
  nb::module_ vision = m.def_submodule("vision");
  define_arithmetic(vision);
  define_calibration(vision);
  define_codecs(vision);
  define_color(vision);
  define_detection(vision);
  define_drawing(vision);
  define_filters(vision);
  define_geometry(vision);
  define_model_input(vision);
  define_structure(vision);
  define_truetype(vision);
  define(vision, "most_threads", most_threads, {});
  define(vision, "set_most_threads", set_most_threads, {"count"});
}

}  // namespace minnow::python
