// SPDX-License-Identifier: Apache-2.0
// MediaPipe's custom operators compared with plain loops over pixels and landmarks, because no wheel has kernels for them; and their custom
// options.
#include <flatbuffers/flexbuffers.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "importers/tflite/support.h"
#include "ops/evaluate.h"
#include "support/flat_writer.h"
#include "support/operators.h"

namespace minnow::tflite {
namespace {

using test::FlatWriter;
using test::numbers;
using Dims = std::vector<int32_t>;
using Numbers = std::vector<double>;

/// A model of one custom operator, from inputs x0, x1 ... of these shapes.
std::string model(const std::string& name, int32_t version, const std::vector<uint8_t>& options, const std::vector<Dims>& inputs,
                  size_t outputs = 1) {
  FlatWriter w;
  std::vector<size_t> tensors;
  Dims in, out;
  for (size_t i = 0; i < inputs.size() + outputs; ++i) {
    const bool given = i < inputs.size();
    (given ? in : out).push_back(static_cast<int32_t>(i));
    FlatWriter::Table tensor;
    tensor.offset(3, w.text(given ? "x" + std::to_string(i) : "y" + std::to_string(i - inputs.size())));
    if (given) tensor.offset(0, w.numbers(inputs[i]));
    tensors.push_back(w.table(tensor));
  }
  const size_t tensor_list = w.offsets(tensors), inputs_list = w.numbers(in), outputs_list = w.numbers(out);
  const size_t code = w.table(FlatWriter::Table().number(0, int8_t{32}).offset(1, w.text(name)).number(2, version).number(3, int32_t{32}));
  const size_t op =
      w.table(FlatWriter::Table().number(0, uint32_t{0}).offset(1, inputs_list).offset(2, outputs_list).offset(5, w.numbers(options)));
  const size_t operators = w.offsets({op});
  const size_t graph =
      w.table(FlatWriter::Table().offset(0, tensor_list).offset(1, inputs_list).offset(2, outputs_list).offset(3, operators));
  const size_t graphs = w.offsets({graph}), codes = w.offsets({code}), buffers = w.offsets({w.table(FlatWriter::Table())});
  return w.finish(w.table(FlatWriter::Table().number(0, uint32_t{3}).offset(1, codes).offset(2, graphs).offset(4, buffers)))
      .replace(4, 4, "TFL3");
}

std::vector<Numbers> run(const std::string& bytes, const std::vector<Dims>& shapes, const std::vector<Numbers>& inputs) {
  const auto graph = import_bytes(bytes);
  std::vector<Datum> given;
  for (size_t i = 0; i < inputs.size(); ++i)
    given.push_back(test::tensor(DType::f32, Shape(Ints(shapes[i].begin(), shapes[i].end())), inputs[i]));
  std::vector<Numbers> outputs;
  for (const Datum& output : evaluate(OperatorSet::builtin(), *graph, given)) outputs.push_back(numbers(output.tensor));
  return outputs;
}

/// Numbers between -1 and 1 without a pattern.
Numbers some(size_t count, double factor = 1) {
  Numbers values;
  for (size_t i = 0; i < count; ++i) values.push_back(static_cast<float>(factor * std::sin(static_cast<double>(i * i) * 1.7 + 0.3)));
  return values;
}

void expect_near(const Numbers& actual, const Numbers& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], tolerance) << i;
}

struct Pool {
  bool same;
  int32_t stride_x, stride_y, filter_x, filter_y, activation = 0;
  std::vector<uint8_t> bytes() const {
    const std::array<int32_t, 6> fields = {same ? 1 : 2, stride_x, stride_y, filter_x, filter_y, activation};
    std::vector<uint8_t> bytes(40);
    std::memcpy(bytes.data(), fields.data(), sizeof fields);
    return bytes;
  }
};

TEST(TfliteMediapipe, max_pooling_with_places) {
  const int n = 2, h = 5, w = 7, c = 3;
  const Numbers x = some(static_cast<size_t>(n * h * w * c));
  for (const Pool& pool : {Pool{true, 2, 2, 2, 2}, Pool{false, 2, 2, 2, 2}, Pool{true, 1, 2, 2, 3}, Pool{true, 2, 1, 3, 3, 1}}) {
    const int rows = pool.same ? (h + pool.stride_y - 1) / pool.stride_y : (h - pool.filter_y) / pool.stride_y + 1;
    const int columns = pool.same ? (w + pool.stride_x - 1) / pool.stride_x : (w - pool.filter_x) / pool.stride_x + 1;
    const int top = std::max((rows - 1) * pool.stride_y + pool.filter_y - h, 0) / 2;
    const int left = std::max((columns - 1) * pool.stride_x + pool.filter_x - w, 0) / 2;
    Numbers values, places;
    for (int b = 0; b < n; ++b)
      for (int row = 0; row < rows; ++row)
        for (int column = 0; column < columns; ++column)
          for (int channel = 0; channel < c; ++channel) {
            double most = -std::numeric_limits<double>::infinity();
            int place = 0;
            for (int fy = 0; fy < pool.filter_y; ++fy)
              for (int fx = 0; fx < pool.filter_x; ++fx) {
                const int at_y = row * pool.stride_y - top + fy, at_x = column * pool.stride_x - left + fx;
                if (at_y < 0 || at_y >= h || at_x < 0 || at_x >= w) continue;
                const double value = x[static_cast<size_t>(((b * h + at_y) * w + at_x) * c + channel)];
                if (value > most) most = value, place = fy * pool.filter_x + fx;
              }
            values.push_back(pool.activation == 1 ? std::max(most, 0.0) : most);
            places.push_back(place + 0.1);
          }
    const auto made = run(model("MaxPoolingWithArgmax2D", 1, pool.bytes(), {{n, h, w, c}}, 2), {{n, h, w, c}}, {x});
    expect_near(made[0], values, 0);
    expect_near(made[1], places, 1e-5);
  }
}

TEST(TfliteMediapipe, max_unpooling) {
  const int n = 2, h = 3, w = 4, c = 2;
  const Numbers x = some(static_cast<size_t>(n * h * w * c));
  for (const Pool& pool : {Pool{true, 2, 2, 2, 2}, Pool{true, 1, 2, 2, 2}, Pool{true, 3, 3, 2, 3}}) {
    Numbers places;
    for (size_t i = 0; i < x.size(); ++i)
      places.push_back(static_cast<double>(i * 5 % static_cast<size_t>(pool.filter_x * pool.filter_y)) + 0.1);
    places[0] = 1000.1;  // not in its window, nor in the image
    places[7] = -3;
    const int rows = h * pool.filter_y, columns = w * pool.filter_x;
    const int top = std::max((h - 1) * pool.stride_y + pool.filter_y - rows, 0) / 2;
    const int left = std::max((w - 1) * pool.stride_x + pool.filter_x - columns, 0) / 2;
    Numbers expected(static_cast<size_t>(n * rows * columns * c));
    for (int b = 0; b < n; ++b)
      for (int y = 0; y < h; ++y)
        for (int at = 0; at < w; ++at)
          for (int channel = 0; channel < c; ++channel) {
            const size_t from = static_cast<size_t>(((b * h + y) * w + at) * c + channel);
            const int place = static_cast<int>(places[from]);
            const int to_x = at * pool.stride_x - left + place % pool.filter_x, to_y = y * pool.stride_y - top + place / pool.filter_x;
            if (to_x < 0 || to_x >= columns || to_y < 0 || to_y >= rows) continue;
            expected[static_cast<size_t>(((b * rows + to_y) * columns + to_x) * c + channel)] = x[from];
          }
    const std::vector<Dims> shapes = {{n, h, w, c}, {n, h, w, c}};
    expect_near(run(model("MaxUnpooling2D", 1, pool.bytes(), shapes), shapes, {x, places})[0], expected, 0);
  }
}

using Matrix = std::array<std::array<double, 4>, 4>;
constexpr Matrix kUnit = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};

Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix product{};
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 4; ++j)
      for (size_t k = 0; k < 4; ++k) product[i][j] += a[i][k] * b[k][j];
  return product;
}
Matrix scaled(double x, double y) { return {{{x, 0, 0, 0}, {0, y, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}}; }
Matrix shifted(double x, double y) { return {{{1, 0, 0, x}, {0, 1, 0, y}, {0, 0, 1, 0}, {0, 0, 0, 1}}}; }
Matrix turned(double r) { return {{{std::cos(r), -std::sin(r), 0, 0}, {std::sin(r), std::cos(r), 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}}; }
Numbers flat(const Matrix& matrix) {
  Numbers values;
  for (const auto& row : matrix) values.insert(values.end(), row.begin(), row.end());
  return values;
}

/// The box around landmarks that are turned by `r`: its middle, turned back, and its size.
struct Box {
  double x, y, width, height;
};
Box box_around(const Numbers& landmarks, const std::vector<int>& subset, double r) {
  double low[2] = {1e9, 1e9}, high[2] = {-1e9, -1e9};
  for (int i : subset) {
    const double x = landmarks[static_cast<size_t>(i) * 3], y = landmarks[static_cast<size_t>(i) * 3 + 1];
    const double moved[2] = {x * std::cos(r) - y * std::sin(r), x * std::sin(r) + y * std::cos(r)};
    for (int k = 0; k < 2; ++k) low[k] = std::min(low[k], moved[k]), high[k] = std::max(high[k], moved[k]);
  }
  const double x = (low[0] + high[0]) / 2, y = (low[1] + high[1]) / 2;
  return {x * std::cos(-r) - y * std::sin(-r), x * std::sin(-r) + y * std::cos(-r), high[0] - low[0], high[1] - low[1]};
}

std::vector<uint8_t> finished(flexbuffers::Builder& builder) {
  builder.Finish();
  return builder.GetBuffer();
}

std::vector<uint8_t> box_options(int left, const std::vector<int>& subset) {
  flexbuffers::Builder f;
  f.Map([&] {
    f.TypedVector("subset_idxs", [&] {
      for (int i : subset) f.Int(i);
    });
    f.Int("left_rotation_idx", left);
    f.Int("right_rotation_idx", 4);
    f.Float("target_rotation_radians", 0.25f);
    f.Int("output_height", 32);
    f.Int("output_width", 48);
    f.Float("scale_x", 1.5f);
    f.Float("scale_y", 1.25f);
  });
  return finished(f);
}

TEST(TfliteMediapipe, landmarks_to_a_matrix) {
  const std::vector<int> subset = {0, 2, 3, 5, 6};
  const Numbers landmarks = some(8 * 3, 40);
  const auto angle = [&](int left, double x_sign) {
    return std::atan2(x_sign * (landmarks[13] - landmarks[static_cast<size_t>(left) * 3 + 1]),
                      x_sign * (landmarks[12] - landmarks[static_cast<size_t>(left) * 3]));
  };
  for (int left : {1, 7}) {
    const double r = 0.25 - angle(left, 1);
    const Box box = box_around(landmarks, subset, r);
    const Matrix expected = shifted(box.x, box.y) * turned(-r) * scaled(1.5 * box.width / 48, 1.25 * box.height / 32) * shifted(-24, -16);
    expect_near(run(model("Landmarks2TransformMatrix", 2, box_options(left, subset), {{1, 8, 3}}), {{1, 8, 3}}, {landmarks})[0],
                flat(expected), 2e-4);

    flexbuffers::Builder f;
    f.Map([&] {
      for (const auto& [name, h, w] : {std::tuple("input_hw", 64, 80), std::tuple("output_hw", 17, 33)}) {
        const int height = h, width = w;
        f.TypedVector(name, [&] { f.Int(height), f.Int(width); });
      }
      f.Int("dimensions", 3);
      f.Int("landmarks_range", 50);
      f.Float("bbox_size_multiplier", 1.5f);
      f.Int("left_rotation_idx", left);
      f.Int("right_rotation_idx", 4);
      f.TypedVector("subset", [&] {
        for (int i : subset) f.Int(i);
      });
    });
    const double dx = landmarks[12] - landmarks[static_cast<size_t>(left) * 3];
    const double alpha = -angle(left, dx < 0 ? -1 : 1);  // by the arc tangent of the slope
    const Box first = box_around(landmarks, subset, alpha);
    // Places run from -1 to 1 over both images.
    const Matrix absolute = shifted(79.0 / 2, 63.0 / 2) * scaled(79.0 / 2, 63.0 / 2);
    const Matrix relative = shifted(-1, -1) * scaled(2.0 / 32, 2.0 / 16);
    const Matrix expected_first = absolute * shifted(first.x / 50 * 2 - 1, first.y / 50 * 2 - 1) * turned(-alpha) *
                                  scaled(first.width * 1.5 / 50, first.height * 1.5 / 50) * relative;
    expect_near(run(model("Landmarks2TransformMatrix", 1, finished(f), {{1, 1, 1, 24}}), {{1, 1, 1, 24}}, {landmarks})[0],
                flat(expected_first), 2e-4);
  }
}

TEST(TfliteMediapipe, an_image_at_transformed_places) {
  const int h = 6, w = 8, c = 2, rows = 5, columns = 7;
  const Numbers x = some(static_cast<size_t>(h * w * c));
  const Matrix inside = shifted(1.3, 0.4) * turned(0.2) * scaled(0.8, 0.6), outside = shifted(-2, 3) * turned(-0.5) * scaled(1.5, 1.5);
  for (const Matrix& matrix : {inside, outside, kUnit})
    for (int32_t version : {1, 2}) {
      const double center = version == 1 ? 0 : 0.5;
      Numbers expected;
      for (int row = 0; row < rows; ++row)
        for (int column = 0; column < columns; ++column) {
          const double at_x = matrix[0][0] * (column + center) + matrix[0][1] * (row + center) + matrix[0][3] - center;
          const double at_y = matrix[1][0] * (column + center) + matrix[1][1] * (row + center) + matrix[1][3] - center;
          for (int channel = 0; channel < c; ++channel) {
            double sum = 0;
            if (at_x >= 0 && at_x <= w - 1 && at_y >= 0 && at_y <= h - 1)
              for (int k = 0; k < 4; ++k) {
                const int px = static_cast<int>(at_x) + k % 2, py = static_cast<int>(at_y) + k / 2;
                if (px < w && py < h)
                  sum += (1 - std::abs(at_x - px)) * (1 - std::abs(at_y - py)) * x[static_cast<size_t>((py * w + px) * c + channel)];
              }
            expected.push_back(sum);
          }
        }
      flexbuffers::Builder f;
      f.Map([&] {
        if (version == 1) {
          f.String("mode", "bilinear");
          f.TypedVector("output_size", [&] { f.Int(rows), f.Int(columns); });
        } else {
          f.Int("output_height", rows);
          f.Int("output_width", columns);
        }
      });
      const std::vector<Dims> shapes = {{1, h, w, c}, {1, 4, 4}};
      const std::string name = version == 1 ? "TransformTensor" : "TransformTensorBilinear";
      expect_near(run(model(name, version, finished(f), shapes), shapes, {x, flat(matrix)})[0], expected, 2e-5);
    }
}

TEST(TfliteMediapipe, transformed_landmarks) {
  const Matrix matrix = shifted(3, -2) * turned(0.7) * scaled(2, 0.5);
  for (int dimensions : {2, 3})
    for (int32_t version : {1, 2}) {
      const double scale = version == 1 ? 4 : 1;
      const Numbers landmarks = some(static_cast<size_t>(5 * dimensions), 10);
      Numbers expected;
      for (size_t i = 0; i < 5; ++i) {
        const double* at = landmarks.data() + i * static_cast<size_t>(dimensions);
        for (size_t row = 0; row < 2; ++row) expected.push_back(matrix[row][0] * at[0] + matrix[row][1] * at[1] + matrix[row][3] * scale);
        if (dimensions == 3) expected.push_back(at[2]);
      }
      flexbuffers::Builder f;
      f.Map([&] {
        f.Int("dimensions", dimensions);
        f.Float("scale", 4);
      });
      const std::vector<Dims> shapes = {version == 1 ? Dims{1, 1, 1, 5 * dimensions} : Dims{1, 5, dimensions}, {1, 4, 4}};
      expect_near(run(model("TransformLandmarks", version, version == 1 ? finished(f) : std::vector<uint8_t>(), shapes), shapes,
                      {landmarks, flat(matrix)})[0],
                  expected, 1e-4);
    }
}

TEST(TfliteMediapipe, wrong_options_are_errors) {
  const auto box = [](int left, const std::vector<int>& subset) {
    return error_of(model("Landmarks2TransformMatrix", 2, box_options(left, subset), {{1, 8, 3}}));
  };
  EXPECT_NE(box(8, {1, 2}).find("option \"left_rotation_idx\" is 8"), std::string::npos);
  EXPECT_NE(box(-1, {1, 2}).find("option \"left_rotation_idx\" is -1"), std::string::npos);
  EXPECT_NE(box(1, {1, 9}).find("there are 8 landmarks, one of the box is 9"), std::string::npos);
  EXPECT_NE(box(1, {}).find("option \"subset_idxs\" is missing"), std::string::npos);
  EXPECT_NE(error_of(model("MaxPoolingWithArgmax2D", 1, {1, 2, 3}, {{1, 4, 4, 1}}, 2)).find("its options have 3 bytes"), std::string::npos);
  EXPECT_NE(error_of(model("MaxUnpooling2D", 1, Pool{true, 2, 0, 2, 2}.bytes(), {{1, 4, 4, 1}, {1, 4, 4, 1}})).find("option 2 is 0"),
            std::string::npos);
  for (const char* name : {"MaxPoolingWithArgmax2D", "MaxUnpooling2D"}) {
    const bool pools = std::string(name) == "MaxPoolingWithArgmax2D";
    std::vector<Dims> shapes = {{1, 2000000000, 2000000000, 1}};
    if (!pools) shapes.push_back(shapes[0]);
    const std::string error = error_of(model(name, 1, Pool{true, 2, 2, 2, 2}.bytes(), shapes, pools ? 2 : 1));
    EXPECT_NE(error.find("images of size [2000000000, 2000000000, 1] are not supported"), std::string::npos) << error;
  }
  flexbuffers::Builder f;
  f.Map([&] {
    f.Int("output_height", 100000);
    f.Int("output_width", 2);
  });
  EXPECT_NE(error_of(model("TransformTensorBilinear", 2, finished(f), {{1, 4, 4, 1}, {1, 4, 4}})).find("an image of size"),
            std::string::npos);
}

TEST(TfliteDetection, numbers_that_are_not_there) {
  const auto error = [](double most, double classes, double per_box) {
    flexbuffers::Builder f;
    f.Map([&] {
      f.Double("max_detections", most);
      f.Double("num_classes", classes);
      f.Double("max_classes_per_detection", per_box);
      for (const char* name : {"y_scale", "x_scale", "h_scale", "w_scale"}) f.Double(name, 5);
      f.Double("nms_iou_threshold", 0.5);
      f.Double("nms_score_threshold", 0.1);
    });
    return error_of(model("TFLite_Detection_PostProcess", 1, finished(f), {{1, 6, 4}, {1, 6, 3}, {6, 4}}, 4));
  };
  EXPECT_EQ(error(5, 2, 1), "");
  EXPECT_NE(error(1e300, 2, 1).find("2 classes and 9223372036854775807 detections are not valid"), std::string::npos) << error(1e300, 2, 1);
  EXPECT_NE(error(5, 3e9, 1).find("3000000000 classes and 5 detections are not valid"), std::string::npos);
  EXPECT_NE(error(5, 1e9, 1).find("has scores for 3 classes and not for 1000000000"), std::string::npos);
  EXPECT_NE(error(5, 2, -1e300).find("are not valid"), std::string::npos);
  EXPECT_NE(error(std::numeric_limits<double>::quiet_NaN(), 2, 1).find("are not valid"), std::string::npos);
}

}  // namespace
}  // namespace minnow::tflite
