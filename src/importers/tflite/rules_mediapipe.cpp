// SPDX-License-Identifier: Apache-2.0
// Custom operators of MediaPipe's models: pools that return the places of their maxima, and crops around landmarks. They compute the same
// as the public kernels in mediapipe/util/tflite/operations.
#include <algorithm>

#include "importers/builder/arithmetic.h"
#include "importers/builder/images.h"
#include "importers/tflite/flexbuffer.h"
#include "importers/tflite/rules.h"

namespace minnow::tflite {
namespace {

constexpr int64_t kMostPixels = 1 << 16;  // of an image, along each side

/// A pool's options, a structure of the program that wrote the file: padding (1: same, 2: valid), strides and window (width, height each),
/// activation function.
struct PoolOptions {
  SlidingWindow window;
  int64_t activation = 0;
};
PoolOptions pool_options(const TfliteNode& node) {
  if (node.info.custom_options.size() < 24) node.fail("its options have {} bytes", node.info.custom_options.size());
  const FlatNumbers<int32_t> numbers(node.info.custom_options.data(), 6);
  for (size_t i = 1; i < 5; ++i)
    if (numbers[i] < 1 || numbers[i] > 1024) node.fail("option {} is {}, it should be between 1 and 1024", i, numbers[i]);
  PoolOptions options;
  options.window.same = numbers[0] == 1;
  options.window.strides = {numbers[2], numbers[1]};
  options.window.kernel = {numbers[4], numbers[3]};
  options.activation = numbers[5];
  return options;
}

/// Height, width and channels of an image [N, H, W, C].
Ints image_of(const TfliteNode& node, TypedBuilder& p, const Expr& x) {
  const Ints sizes{p.dim(x, 1), p.dim(x, 2), p.dim(x, 3)};
  if (p.rank(x) != 4 || sizes[0] < 0 || sizes[1] < 0 || sizes[2] < 0) node.refuse("images whose size is not known are not supported");
  if (sizes[0] > kMostPixels || sizes[1] > kMostPixels) node.refuse("images of size {} are not supported", sizes);
  return sizes;
}

/// scale * i + start for i below count, along an axis of the last `rank`.
Expr steps(TypedBuilder& p, int64_t count, double scale, double start, int64_t axis, int64_t rank, DType dtype = DType::i64) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(scale * static_cast<double>(i) + start);
  Shape shape;
  for (int64_t i = 0; i < rank; ++i) shape.push_back(i == axis ? count : 1);
  return p.reals(shape, values, dtype);
}

Ints integer_list(const TfliteNode& node, const FlexMap& options, const std::string& name) {
  const auto found = options.find(name);
  const std::vector<double>* list = found == options.end() ? nullptr : std::get_if<std::vector<double>>(&found->second);
  if (!list || list->empty()) node.fail("option \"{}\" is missing", name);
  Ints numbers;
  for (double value : *list) {
    if (!(value >= 0 && value < 1e6)) node.fail("option \"{}\" holds {}", name, value);
    numbers.push_back(static_cast<int64_t>(value));
  }
  return numbers;
}

/// An option that must be above zero, and below a million.
double positive_number(const TfliteNode& node, const FlexMap& options, const std::string& name) {
  const double value = number_of(node, options, name);
  if (!(value > 0 && value < 1e6)) node.fail("option \"{}\" is {}", name, value);
  return value;
}

/// Entry [row, column] of a matrix of 4 by 4, as [1, 1].
Expr entry(TypedBuilder& p, const Expr& matrix, int64_t row, int64_t column) {
  return p.slice(matrix, {row, column}, {row + 1, column + 1}, {0, 1});
}

}  // namespace

Exprs import_max_pool_argmax(TfliteNode& node, TypedBuilder& p) {
  // The places count in the window, row by row; a tenth is added, so that they survive being cut to integers.
  const PoolOptions options = pool_options(node);
  const Ints sizes = image_of(node, p, node.input(0));
  const int64_t height = sizes[0], width = sizes[1];
  const Expr image = channels_first(p, node.input(0));
  const Attributes window = window_attributes(p, image, options.window);
  const Exprs made = p.ops("MaxPool", {image}, 2, window);
  const Ints* pads = window.get<Ints>("pads");
  const int64_t rows = p.dim(made[0], 2), columns = p.dim(made[0], 3);
  if (rows < 0 || columns < 0) node.fail("a window of {} does not fit an image of {}", options.window.kernel, Ints{height, width});
  const auto number = [&](int64_t value) { return p.scalar(static_cast<double>(value), DType::i64); };
  // MaxPool returns places in the whole input. Reduce them to the plane, split them into row and column, and subtract the window's origin.
  const Expr place = p.op("Mod", {made[1], number(std::max<int64_t>(height * width, 1))});
  const Expr y = p.op("Div", {place, number(std::max<int64_t>(width, 1))});
  const Expr x = place - y * number(width);
  const auto begin = [&](size_t i, int64_t count) {
    return steps(p, count, static_cast<double>(options.window.strides[i]), pads ? -static_cast<double>((*pads)[i]) : 0,
                 static_cast<int64_t>(i), 2);
  };
  const Expr found = (y - begin(0, rows)) * number(options.window.kernel[1]) + (x - begin(1, columns));
  return {node.activated_as(channels_last(p, made[0]), options.activation), channels_last(p, p.cast(found, DType::f32) + 0.1)};
}

Exprs import_max_unpool(TfliteNode& node, TypedBuilder& p) {
  // Inputs: values, and the place of each in its window. The result has a window for each value; places outside the result are dropped.
  const PoolOptions options = pool_options(node);
  const Ints image = image_of(node, p, node.input(0)), &window = options.window.kernel, &strides = options.window.strides;
  const int64_t channels = image[2], height = image[0] * window[0], width = image[1] * window[1], outside = height * width;
  const auto number = [&](int64_t value) { return p.scalar(static_cast<double>(value), DType::i64); };
  const Expr place = p.i64(channels_first(p, node.input(1)));
  const Expr row = p.op("Div", {place, number(window[1])});
  const auto begin = [&](size_t i) {
    const int64_t padding = std::max<int64_t>((image[i] - 1) * (strides[i] - window[i]), 0) / 2;
    return steps(p, image[i], static_cast<double>(strides[i]), -static_cast<double>(padding), static_cast<int64_t>(i), 2);
  };
  const Expr y = row + begin(0), x = place - row * number(window[1]) + begin(1);
  const auto within = [&](const Expr& at, int64_t size) {
    return p.op("And", {p.op("GreaterOrEqual", {at, number(0)}), p.op("Less", {at, number(size)})});
  };
  const Expr to = p.op("Where", {p.op("And", {within(y, height), within(x, width)}), y * number(width) + x, number(outside)});
  const Expr values = p.reshape(channels_first(p, node.input(0)), Ints{-1, channels, image[0] * image[1]});
  const Expr zeros = p.fill(p.concat({p.shape_of(node.input(0), 0, 1), p.constant({channels, outside + 1})}, 0), 0, DType::f32);
  const Expr filled = p.op("ScatterElements", {zeros, p.reshape(to, Ints{-1, channels, image[0] * image[1]}), values}, {{"axis", 2}});
  return {channels_last(p, p.reshape(p.slice(filled, {0}, {outside}, {2}), Ints{-1, channels, height, width}))};
}

Exprs import_landmarks_to_matrix(TfliteNode& node, TypedBuilder& p) {
  // The matrix [1, 4, 4] that maps places in a crop to places in the image. The crop is a box around some of the landmarks (x, y, z each),
  // rotated like the line from one landmark to another.
  const FlexMap options = read_flex_map(node.info.custom_options);
  const bool first = node.info.version < 2;
  double target = 0, scale_x, scale_y, half_x, half_y, unit_x = 1, unit_y = 1, middle_scale = 1;
  Ints subset;
  if (first) {
    const Ints in = integer_list(node, options, "input_hw"), out = integer_list(node, options, "output_hw");
    if (in.size() != 2 || out.size() != 2 || out[0] < 2 || out[1] < 2) node.fail("its sizes are {} and {}", in, out);
    if (number_of(node, options, "dimensions") != 3) node.refuse("landmarks that are not of three dimensions are not supported");
    const double range = positive_number(node, options, "landmarks_range"), size = positive_number(node, options, "bbox_size_multiplier");
    unit_x = static_cast<double>(in[1] - 1) / 2, unit_y = static_cast<double>(in[0] - 1) / 2, middle_scale = 2 / range;
    half_x = static_cast<double>(out[1] - 1) / 2, half_y = static_cast<double>(out[0] - 1) / 2;
    scale_x = size / range / half_x, scale_y = size / range / half_y;
    subset = integer_list(node, options, "subset");
  } else {
    const double width = positive_number(node, options, "output_width"), height = positive_number(node, options, "output_height");
    target = number_of(node, options, "target_rotation_radians", 0);
    half_x = width / 2, half_y = height / 2;
    scale_x = positive_number(node, options, "scale_x") / width, scale_y = positive_number(node, options, "scale_y") / height;
    subset = integer_list(node, options, "subset_idxs");
  }
  const Expr landmarks = p.reshape(node.input(0), Ints{-1, 3});
  const int64_t count = p.dim(landmarks, 0);
  const auto column = [&](const Expr& rows, int64_t i) { return p.slice(rows, {i}, {i + 1}, {1}); };
  const auto point = [&](const char* name) {
    const double index = number_of(node, options, name);
    if (!(index >= 0 && index < 1e6)) node.fail("option \"{}\" is {}", name, index);
    if (count >= 0 && index >= static_cast<double>(count)) node.fail("there are {} landmarks, option \"{}\" is {}", count, name, index);
    return p.gather(landmarks, p.constant({static_cast<int64_t>(index)}), 0);
  };
  for (int64_t index : subset)
    if (count >= 0 && index >= count) node.fail("there are {} landmarks, one of the box is {}", count, index);
  const Expr line = point("right_rotation_idx") - point("left_rotation_idx");
  const Expr dx = column(line, 0), dy = column(line, 1);
  const Expr angle = first ? -p.op("Atan", {dy / dx}) : target - atan2(p, dy, dx);
  const Expr c = p.op("Cos", {angle}), s = p.op("Sin", {angle});
  const Expr chosen = p.gather(landmarks, p.constant(subset), 0), x = column(chosen, 0), y = column(chosen, 1);
  const Expr turned_x = c * x - s * y, turned_y = s * x + c * y;
  const auto end = [&](const char* name, const Expr& values) { return p.op(name, {values, p.constant({0})}); };
  const Expr high_x = end("ReduceMax", turned_x), low_x = end("ReduceMin", turned_x);
  const Expr high_y = end("ReduceMax", turned_y), low_y = end("ReduceMin", turned_y);
  const Expr middle_x = (high_x + low_x) / 2, middle_y = (high_y + low_y) / 2;
  const Expr size_x = (high_x - low_x) * scale_x, size_y = (high_y - low_y) * scale_y;
  const Expr xx = c * size_x, xy = s * size_y, yx = -(s * size_x), yy = c * size_y;
  const auto shift = [&](const Expr& middle, const Expr& by_x, const Expr& by_y) {
    return middle * middle_scale - by_x * half_x - by_y * half_y;
  };
  const Expr zero = p.reals(Shape{1, 1}, std::vector<double>{0}), rest = p.reals(Shape{2, 4}, std::vector<double>{0, 0, 1, 0, 0, 0, 0, 1});
  const Expr row_x = p.concat({xx, xy, zero, shift(c * middle_x + s * middle_y, xx, xy)}, 1) * unit_x;
  const Expr row_y = p.concat({yx, yy, zero, shift(c * middle_y - s * middle_x, yx, yy)}, 1) * unit_y;
  return {p.reshape(p.concat({row_x, row_y, rest}, 0), Ints{1, 4, 4})};
}

Exprs import_transform_tensor(TfliteNode& node, TypedBuilder& p) {
  // An image [1, H, W, C] at the places to which the matrix takes each pixel of the result, linearly between pixels, 0 outside.
  const FlexMap options = read_flex_map(node.info.custom_options);
  const bool first = node.info.version < 2;
  Ints size;
  if (first) {
    size = integer_list(node, options, "output_size");
    const auto mode = options.find("mode");
    const std::string* text = mode == options.end() ? nullptr : std::get_if<std::string>(&mode->second);
    if (text && *text != "bilinear") node.refuse("the mode \"{}\" is not supported", *text);
  } else {
    for (const char* name : {"output_height", "output_width"}) size.push_back(static_cast<int64_t>(positive_number(node, options, name)));
  }
  if (size.size() != 2 || size[0] < 1 || size[1] < 1 || size[0] > kMostPixels || size[1] > kMostPixels)
    node.fail("it gives an image of size {}", size);
  const Ints image = image_of(node, p, node.input(0));
  if (p.dim(node.input(0), 0) != 1) node.refuse("batches are not supported");
  const Expr matrix = p.reshape(node.input(1), Ints{4, 4});
  const double center = first ? 0 : 0.5;  // of a pixel
  const Expr x = steps(p, size[1], 1, center, 1, 2, DType::f32), y = steps(p, size[0], 1, center, 0, 2, DType::f32);
  Exprs places;  // x, then y, as GridSample counts them: from -1 to 1 between the outer edges
  Expr inside;
  for (int64_t row = 0; row < 2; ++row) {
    const int64_t pixels = image[row == 0 ? 1 : 0];
    const Expr at = entry(p, matrix, row, 0) * x + entry(p, matrix, row, 1) * y + entry(p, matrix, row, 3) - center;
    const Expr within =
        p.op("And", {p.op("GreaterOrEqual", {at, p.scalar(0)}), p.op("LessOrEqual", {at, p.scalar(static_cast<double>(pixels - 1))})});
    inside = row == 0 ? within : p.op("And", {inside, within});
    places.push_back(p.unsqueeze((at * 2.0 + 1.0) / static_cast<double>(std::max<int64_t>(pixels, 1)) - 1.0, {0, 3}));
  }
  const Expr sampled = p.op("GridSample", {channels_first(p, node.input(0)), p.concat(places, 3)},
                            {{"mode", std::string("linear")}, {"padding_mode", std::string("border")}, {"align_corners", 0}});
  return {channels_last(p, p.op("Where", {inside, sampled, p.scalar(0)}))};
}

Exprs import_transform_landmarks(TfliteNode& node, TypedBuilder& p) {
  // The first two coordinates of each landmark taken to another place by the matrix; a third stays.
  double dimensions = static_cast<double>(p.dim(node.input(0), -1)), scale = 1;
  if (node.info.version < 2) {
    const FlexMap options = read_flex_map(node.info.custom_options);
    dimensions = number_of(node, options, "dimensions"), scale = number_of(node, options, "scale", 1);
  }
  if (dimensions != 2 && dimensions != 3) node.fail("its landmarks have {} dimensions", dimensions);
  const int64_t count = static_cast<int64_t>(dimensions);
  const Expr landmarks = p.reshape(node.input(0), Ints{-1, count}), matrix = p.reshape(node.input(1), Ints{4, 4});
  const Expr turn = p.transpose(p.slice(matrix, {0, 0}, {2, 2}, {0, 1}), {1, 0});
  const Expr shift = p.vector(p.slice(matrix, {0, 3}, {2, 4}, {0, 1})) * scale;
  Expr moved = p.op("MatMul", {p.slice(landmarks, {0}, {2}, {1}), turn}) + shift;
  if (count == 3) moved = p.concat({moved, p.slice(landmarks, {2}, {3}, {1})}, 1);
  return {p.reshape(moved, p.shape_of(node.input(0)))};
}

}  // namespace minnow::tflite
