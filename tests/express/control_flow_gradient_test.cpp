// SPDX-License-Identifier: Apache-2.0
// Gradients through If, Loop and Scan, in f64, against differences and against the same computation without control flow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "express/support.h"
#include "graph/graph.h"
#include "runtime/model.h"
#include "support/operators.h"

namespace minnow::test {
namespace {

using ::testing::HasSubstr;

using Function = std::function<Var(const Vars&)>;

Tensor real_pattern(const Shape& shape, double low = -1, double high = 1) {
  std::vector<double> values;
  for (int64_t i = 0; i < shape.elements(); ++i)
    values.push_back(low + (high - low) * static_cast<double>((i * 7 + 3) % 11) / 11 + 0.01 * static_cast<double>(i));
  return tensor(DType::f64, shape, values);
}
Vars trainables_of(const std::vector<Tensor>& values) {
  Vars made;
  for (const Tensor& value : values) made.push_back(expr::trainable(value.clone()));
  return made;
}
double value_at(const Function& f, const std::vector<Tensor>& values) { return f(Vars(trainables_of(values))).item(); }

/// The gradients of f, which are compared with central differences.
std::vector<std::vector<double>> compare(const Function& f, const std::vector<Tensor>& values) {
  const Vars parameters = trainables_of(values);
  const Var loss = f(parameters);
  Vars together = expr::gradients(loss, parameters);
  together.push_back(loss);
  expr::evaluate(together);
  EXPECT_NEAR(loss.item(), value_at(f, values), 1e-9);
  std::vector<std::vector<double>> all;
  constexpr double kStep = 1e-5;
  for (size_t p = 0; p < values.size(); ++p) {
    EXPECT_EQ(together[p].shape(), values[p].shape());
    all.push_back(numbers(together[p].tensor()));
    for (size_t k = 0; k < all[p].size(); ++k) {
      const auto moved = [&](double step) {
        std::vector<Tensor> changed = values;
        changed[p] = values[p].clone();
        changed[p].writable().data<double>()[k] += step;
        return value_at(f, changed);
      };
      const double expected = (moved(kStep) - moved(-kStep)) / (2 * kStep);
      EXPECT_NEAR(all[p][k], expected, 1e-7 * std::max(1.0, std::fabs(expected))) << "parameter " << p << ", element " << k;
    }
  }
  return all;
}

void expect_same(const Function& a, const Function& b, const std::vector<Tensor>& values) {
  const auto of_a = compare(a, values), of_b = compare(b, values);
  for (size_t p = 0; p < of_a.size(); ++p)
    for (size_t k = 0; k < of_a[p].size(); ++k) EXPECT_NEAR(of_a[p][k], of_b[p][k], 1e-10 * std::max(1.0, std::fabs(of_b[p][k])));
}

Var row(const Var& x, int64_t i) { return x[{i}]; }

TEST(ControlFlowGradients, scan_is_its_steps_one_after_the_other) {
  // An RNN: h = tanh(x w + h u + b), whose states are all read.
  const auto step = [](const Var& h, const Var& x, const Vars& p) {
    return expr::tanh(expr::matmul(x, p[1]) + expr::matmul(h, p[2]) + p[3]);
  };
  const Function scanned = [&](const Vars& p) {
    const Vars made = expr::scan(
        [&](const Vars& v) {
          const Var h = step(v[0], v[1], p);
          return Vars{h, h * h};
        },
        {p[4]}, {p[0]});
    return sum(made[0]) * 3 + sum(made[1] * Var(real_pattern({4, 2, 3})));
  };
  const Function unrolled = [&](const Vars& p) {
    Var h = p[4], loss = sum(Var(tensor(DType::f64, {1}, {0})));
    const Var weights = Var(real_pattern({4, 2, 3}));
    for (int64_t t = 0; t < 4; ++t) {
      h = step(h, row(p[0], t), p);
      loss = loss + sum(h * h * row(weights, t));
    }
    return sum(h) * 3 + loss;
  };
  expect_same(scanned, unrolled,
              {real_pattern({4, 2, 5}), real_pattern({5, 3}), real_pattern({3, 3}), real_pattern({3}), real_pattern({2, 3})});
}

TEST(ControlFlowGradients, scan_of_elements_and_captured_values_alone) {
  compare([](const Vars& p) { return sum(expr::scan([&](const Vars& v) { return Vars{expr::sin(v[0]) * p[1]}; }, {}, {p[0]})[0]); },
          {real_pattern({3, 2}), real_pattern({2})});
  compare(
      [](const Vars& p) {
        return sum(expr::scan([&](const Vars& v) { return Vars{v[0] + p[0]}; }, {Var(real_pattern({2}))}, {Var(real_pattern({3}))})[0]);
      },
      {real_pattern({2})});
  // Nothing is read back: a linear step.
  compare([](const Vars& p) { return sum(expr::scan([&](const Vars& v) { return Vars{v[0] + v[1]}; }, {p[1]}, {p[0]})[0]); },
          {real_pattern({3, 2}), real_pattern({2})});
}

TEST(ControlFlowGradients, a_state_that_the_loss_does_not_read) {
  compare(
      [](const Vars& p) {
        const Vars made = expr::scan([&](const Vars& v) { return Vars{v[0] * 2 + v[2], v[1] + v[0] * v[0]}; }, {p[1], p[2]}, {p[0]});
        return sum(made[1]);
      },
      {real_pattern({3, 2}), real_pattern({2}), real_pattern({2})});
}

TEST(ControlFlowGradients, while_loop_with_a_count_known_in_the_run) {
  for (const double limit : {0.5, 4.0, 500.0}) {
    const Function f = [&](const Vars& p) {
      const Vars made = expr::while_loop([&](const Vars& v) { return sum(v[0] * v[0]) < limit; },
                                         [&](const Vars& v) {
                                           return Vars{expr::matmul(v[0], p[1]) + p[0], v[1] * v[0]};
                                         },
                                         {p[0], p[2]});
      return sum(made[0] * made[0]) + sum(made[1]);
    };
    compare(f, {real_pattern({2, 3}, 0.2), tensor(DType::f64, {3, 3}, {2, 0.1, 0, 0.3, 1.5, 0.2, 0.1, 0, 1.8}),
                real_pattern({2, 3}, 0.5, 1.5)});
  }
}

TEST(ControlFlowGradients, of_no_iterations_is_that_of_the_initial_values) {
  const auto made = compare(
      [](const Vars& p) {
        return sum(
            expr::while_loop([&](const Vars& v) { return sum(v[0]) > 1e9; }, [&](const Vars& v) { return Vars{v[0] * p[1]}; }, {p[0]})[0] *
            2);
      },
      {real_pattern({2}), real_pattern({2})});
  EXPECT_THAT(made[0], testing::ElementsAre(2, 2));
  EXPECT_THAT(made[1], testing::ElementsAre(0, 0));
}

TEST(ControlFlowGradients, cond_in_either_branch) {
  for (const double limit : {-100.0, 100.0}) {
    const Function f = [&](const Vars& p) {
      const Vars made = expr::cond(
          sum(p[0]) > limit,
          [&] {
            const Var y = expr::exp(p[0]) * p[1];
            return Vars{y * y, p[0]};
          },
          [&] {
            return Vars{expr::sin(p[0] * 2), p[2] * p[2] * p[0]};
          });
      return sum(made[0] * p[0]) + sum(made[1]);
    };
    compare(f, {real_pattern({2, 3}), real_pattern({3}), real_pattern({2, 3})});
  }
}

TEST(ControlFlowGradients, nest) {
  // A loop whose body scans, and takes one of two branches in each step.
  const Function f = [](const Vars& p) {
    const Var one = Var::scalar(1, DType::i64);
    return sum(expr::while_loop(
        [](const Vars& v) { return v[1] < 3; },
        [&](const Vars& v) {
          const Vars scanned = expr::scan(
              [&](const Vars& s) {
                const Var h = expr::cond(
                    sum(s[1]) > 0.0, [&] { return Vars{expr::tanh(s[0] * p[1] + s[1])}; }, [&] { return Vars{s[0] * s[1] + p[2]}; })[0];
                return Vars{h, h * s[1]};
              },
              {v[0]}, {p[0]});
          return Vars{scanned[0] + expr::reduce_sum(scanned[1], Var(Tensor::of_i64({1}, std::vector<int64_t>{0})), {.keepdims = 0}),
                      v[1] + one};
        },
        {p[3], Var::scalar(0, DType::i64)})[0]);
  };
  compare(f, {real_pattern({4, 2}), real_pattern({2}), real_pattern({2}), real_pattern({2})});
}

TEST(ControlFlowGradients, have_gradients_again) {
  const auto gradient_of = [](const Vars& p, const Var& loss) {
    const Var g = expr::gradients(loss, {p[0]})[0];
    return sum(g * g);
  };
  const Function scanned = [&](const Vars& p) {
    return gradient_of(p, sum(expr::scan([&](const Vars& v) { return Vars{expr::sin(v[0] * p[0]) + v[1]}; }, {p[0]}, {p[1]})[0]));
  };
  const Function unrolled = [&](const Vars& p) {
    Var h = p[0];
    for (int64_t t = 0; t < 3; ++t) h = expr::sin(h * p[0]) + row(p[1], t);
    return gradient_of(p, sum(h));
  };
  expect_same(scanned, unrolled, {real_pattern({2}), real_pattern({3, 2})});
  compare(
      [&](const Vars& p) {
        return gradient_of(p, sum(expr::cond(
                                  sum(p[0]) > -10.0, [&] { return Vars{p[0] * p[0] * p[1]}; }, [&] { return Vars{p[0]}; })[0]));
      },
      {real_pattern({2}), real_pattern({2})});
}

TEST(ControlFlowGradients, asked_for_twice_save_values_once) {
  const Vars p = trainables_of({real_pattern({3}), real_pattern({3})});
  const Var loss =
      sum(expr::scan([&](const Vars& v) { return Vars{expr::sin(v[0] * p[1]) * v[1]}; }, {p[0]}, {Var(real_pattern({4, 3}))})[0]);
  const double value = loss.item();
  const std::vector<double> one = numbers(expr::gradients(loss, {p[1]})[0]);
  const std::vector<double> two = numbers(expr::gradients(loss, {p[1]})[0]);
  EXPECT_EQ(one, two);
  EXPECT_EQ(loss.item(), value);
  numbers(expr::gradients(loss, {p[0]})[0]);
  const Model model = expr::to_model({loss});
  for (const Node& node : model.graph().nodes()) EXPECT_LE(node.output_count(), 5u) << node.op();
}

TEST(ControlFlowGradients, of_scans_along_other_axes_and_backward) {
  const char* const text = R"(graph {
    input h: f64[2]
    input x: f64[2, 3]
    input w: f64[2]
    last, all, more = Scan(h, x) {num_scan_inputs = 1, scan_input_axes = [-1], scan_input_directions = [1], scan_output_axes = [-1, 0],
        scan_output_directions = [1, 0], body = graph {
      input s: f64[2]
      input e: f64[2]
      a = Mul(s, w)
      b = Sin(a)
      next = Add(b, e)
      out = Mul(next, e)
      output next
      output out
      output b
    }}
    output last
    output all
    output more
  })";
  const Model model = Model::from_graph(parse_graph(text), nullptr);
  compare(
      [&](const Vars& p) {
        const Vars y = expr::apply(model, p);
        return sum(y[0]) + sum(y[1] * Var(real_pattern({2, 3}))) + sum(y[2] * Var(real_pattern({3, 2})));
      },
      {real_pattern({2}), real_pattern({2, 3}), real_pattern({2})});
}

TEST(ControlFlowGradients, of_an_imported_loop_whose_values_grow) {
  // The carried value doubles in length; its elements are added up in each iteration.
  const char* const text = R"(graph {
    input x: f64[2]
    input count: i64[]
    const yes = bool[] 1
    final, sums = Loop(count, yes, x) {body = graph {
      input i: i64[]
      input c: bool[]
      input v: f64[?]
      const again = bool[] 1
      longer = Concat(v, v) {axis = 0}
      total = ReduceSum(longer) {keepdims = 0}
      squared = Mul(total, total)
      output again
      output longer
      output squared
    }}
    output final
    output sums
  })";
  const Model model = Model::from_graph(parse_graph(text), nullptr);
  compare(
      [&](const Vars& p) {
        const Vars y = expr::apply(model, {p[0], Var::scalar(3, DType::i64)});
        return sum(y[0]) + sum(y[1] * Var(real_pattern({3})));
      },
      {real_pattern({2})});
}

TEST(ControlFlowGradients, errors_name_the_operator_in_the_body) {
  const Vars p = trainables_of({real_pattern({2, 2})});
  const Var loss =
      sum(expr::scan([&](const Vars& v) { return Vars{v[0] + expr::op("Unique", {v[1]})}; }, {Var(real_pattern({1}))}, {p[0]})[0]);
  EXPECT_THAT(error_of([&] { expr::gradients(loss, {p[0]}); }), HasSubstr("Unique has no gradient"));
}

}  // namespace
}  // namespace minnow::test
