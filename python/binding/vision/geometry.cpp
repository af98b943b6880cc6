// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

namespace minnow::python {

void define_geometry(nb::module_& m) {
  define(m, "resize", vision::resize, {"src", "dsize", "interpolation", "fx", "fy", "dst"});
  define(m, "warpAffine", vision::warp_affine, {"src", "M", "dsize", "flags", "borderMode", "borderValue", "dst"});
  define(m, "warpPerspective", vision::warp_perspective, {"src", "M", "dsize", "flags", "borderMode", "borderValue", "dst"});
  define(m, "remap", vision::remap, {"src", "map1", "map2", "interpolation", "borderMode", "borderValue", "dst"});
  define(m, "convertMaps", vision::convert_maps, {"map1", "map2", "dtype", "channels", "nninterpolation"});
  define(m, "flip", vision::flip, {"src", "flipCode", "dst"});
  define(m, "rotate", vision::rotate, {"src", "rotateCode", "dst"});
  define(m, "transpose", vision::transpose, {"src", "dst"});
  define(m, "repeat", vision::repeat, {"src", "ny", "nx", "dst"});
  define(m, "copyMakeBorder", vision::copy_make_border, {"src", "top", "bottom", "left", "right", "borderType", "value", "dst"});
  define(m, "borderInterpolate", vision::border_interpolate, {"p", "len", "borderType"});
  define(m, "getRotationMatrix2D", vision::rotation_matrix_2d, {"center", "angle", "scale"});
  define(m, "getAffineTransform", vision::affine_transform, {"src", "dst"});
  define(m, "getPerspectiveTransform", vision::perspective_transform_of, {"src", "dst", "solveMethod"});
  define(m, "invertAffineTransform", vision::invert_affine_transform, {"M"});
  define(m, "perspectiveTransform", vision::perspective_transform, {"src", "m", "dst"});
  define(m, "pyrDown", vision::pyr_down, {"src", "dstsize", "borderType", "dst"});
  define(m, "pyrUp", vision::pyr_up, {"src", "dstsize", "borderType", "dst"});
  define(m, "getRectSubPix", vision::rect_sub_pix, {"image", "patchSize", "center", "dtype", "patch"});
  define(m, "warpPolar", vision::warp_polar, {"src", "dsize", "center", "maxRadius", "flags", "dst"});
}

}  // namespace minnow::python
