// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure.h"

#include <algorithm>
#include <chrono>
#include <map>

namespace minnow {
namespace {

struct Stopwatch {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }
};

// A plan in which the schemes named have cost nothing, and all others of their nodes too much.
std::vector<SchemeTime> forced(const PlanReport& report, size_t turn) {
  std::vector<SchemeTime> times;
  for (const PlanRow& row : report.rows)
    for (size_t c = 0; c < row.candidates.size(); ++c)
      times.push_back({row.node, row.candidates[c].scheme, c == turn % row.candidates.size() ? 1e-9 : 10.0});
  return times;
}

}  // namespace

std::vector<double> race(std::vector<Session>& sessions, std::span<const TensorView> inputs, double seconds, int least,
                         const PartDone& progress) {
  std::vector<double> best(sessions.size(), 1e30);
  std::vector<std::vector<Tensor>> outputs;
  std::vector<std::vector<MutableTensorView>> targets(sessions.size());
  for (size_t i = 0; i < sessions.size(); ++i) {
    outputs.push_back(sessions[i].run(inputs));
    for (Tensor& output : outputs[i]) targets[i].push_back(output.writable());
  }
  const Stopwatch total;
  for (int round = 0; round < least || total.seconds() < seconds; ++round)
    for (size_t i = 0; i < sessions.size(); ++i) {
      const Stopwatch one;
      sessions[i].run(inputs, targets[i]);
      best[i] = std::min(best[i], one.seconds());
      if (progress) progress(std::min({1.0, total.seconds() / seconds, static_cast<double>(round + 1) / least}));
    }
  return best;
}

Measurement measure_schemes(const Model& model, const SessionOptions& given, std::span<const TensorView> views, double seconds,
                            const PartDone& progress) {
  SessionOptions options = given;
  options.weight_cache.clear();  // every scheme packs, and most are not taken
  SessionOptions explaining = options;
  explaining.explain = true;
  Measurement result;
  size_t most = 1;
  {
    Session session(model, explaining);
    session.run(views);
    result.report = session.plan_report();
    for (const PlanRow& row : result.report.rows) most = std::max(most, row.candidates.size());
  }
  // Plan k uses every node's k-th scheme. The last plan is the one chosen by estimates; it shows the cost of its layout conversions.
  std::map<std::pair<std::string, std::string>, double> best;  // by node with shape, and scheme: a batch may be computed in parts
  const auto key = [](const PlanRow& row) { return row.node + " " + row.shape; };
  std::vector<Session> sessions;
  for (size_t k = 0; k < most; ++k) {
    SessionOptions one = options;
    one.times = forced(result.report, k);
    sessions.emplace_back(model, one);
  }
  sessions.emplace_back(model, options);
  const auto tell = [&](double part) {
    if (progress) progress(part);
  };
  // Planning and packing by each scheme take long where a model is large.
  for (size_t k = 0; k < sessions.size(); ++k) {
    sessions[k].run(views), sessions[k].set_profiling(true);
    tell(0.2 * static_cast<double>(k + 1) / static_cast<double>(sessions.size()));
  }
  const Stopwatch total;
  for (int round = 0; round < 10 || total.seconds() < seconds / 2; ++round)
    for (Session& session : sessions) {
      session.run(views);
      tell(0.2 + 0.4 * std::min({1.0, 2 * total.seconds() / seconds, (round + 1) / 10.0}));
    }
  for (const Session& session : sessions)
    for (const PlanRow& row : session.plan_report().rows) {
      if (row.depth) continue;  // of a subgraph
      const auto [place, is_new] = best.try_emplace({key(row), row.scheme}, row.best_seconds);
      if (!is_new) place->second = std::min(place->second, row.best_seconds);
    }
  sessions.clear();
  for (const PlanRow& row : result.report.rows)
    for (const SchemeTime& candidate : row.candidates)
      if (const auto found = best.find({key(row), candidate.scheme}); found != best.end())
        result.times.push_back({row.node, candidate.scheme, found->second});
  SessionOptions measured = explaining;
  measured.times = result.times;
  sessions.emplace_back(model, options);
  sessions.emplace_back(model, measured);
  const std::vector<double> least = race(sessions, views, seconds / 2, 20, [&](double part) { tell(0.6 + 0.4 * part); });
  result.by_estimate = least[0];
  result.by_measurement = least[1];
  return result;
}

}  // namespace minnow
