#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "Eigen/Eigenvalues"
#include "common/base/check.h"
#include "coordinator/planning/search/mask_search.h"

namespace sdp {
namespace {

// lambda_2 is often a multiple eigenvalue, which no single move lowers. The search lowers a smooth maximum
// of all eigenvalues below the first instead: log(sum exp(sharpness lambda)) / sharpness.
constexpr double kSharpness = 50.0;
// Eigenvalues with less than this share of the largest weight in that sum are left out of predictions.
constexpr double kNegligible = 1e-3;
constexpr int kCandidates = 64;
constexpr double kFirstTemperature = 5e-4;
constexpr double kCooling = 0.02;
// Differences below this are rounding; see anneal_overlaps.cc.
constexpr double kNoise = 1e-9;

struct Spectrum {
  double second = 0;     // lambda_2
  double objective = 0;  // the smooth maximum
  // The eigenvalues that count, their weights, and their eigenvectors x as z = D^(-1/2) x, one row each.
  std::vector<double> eigenvalues;
  std::vector<double> weights;
  Eigen::MatrixXd modes;      // (modes, workers)
  Eigen::MatrixXd component;  // (modes, columns): sum of z over the column's holders
};

// A with T = A A^T; see mask_graph.cc.
Eigen::MatrixXd Factor(const MaskState& state) {
  Eigen::MatrixXd factor = Eigen::MatrixXd::Zero(state.mask().workers(), state.mask().columns());
  for (int b = 0; b < factor.cols(); ++b) {
    const double share = state.sizes()[b] / static_cast<double>(state.holders(b).size());
    for (Rank i : state.holders(b)) factor(i, b) = std::sqrt(share / state.held_size(i));
  }
  return factor;
}

Spectrum Solve(const MaskState& state) {
  const Eigen::MatrixXd factor = Factor(state);
  const bool by_workers = factor.rows() <= factor.cols();
  Eigen::MatrixXd gram;
  if (by_workers) {
    gram.noalias() = factor * factor.transpose();
  } else {
    gram.noalias() = factor.transpose() * factor;
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(gram);
  SDP_CHECK(solver.info() == Eigen::Success, "eigenvalues of a symmetric matrix did not converge");
  const Eigen::VectorXd& values = solver.eigenvalues();  // ascending
  const int below_first = static_cast<int>(values.size()) - 1;

  Spectrum spectrum;
  spectrum.second = values(below_first - 1);
  double total = 0;
  int modes = 0;
  for (int q = below_first - 1; q >= 0; --q) {
    const double weight = std::exp(kSharpness * (values(q) - spectrum.second));
    total += weight;
    if (weight < kNegligible) continue;
    spectrum.eigenvalues.push_back(values(q));
    spectrum.weights.push_back(weight);
    ++modes;
  }
  for (double& weight : spectrum.weights) weight /= total;
  spectrum.objective = spectrum.second + std::log(total) / kSharpness;

  Eigen::MatrixXd vectors = solver.eigenvectors().middleCols(below_first - modes, modes).rowwise().reverse();
  if (!by_workers) {  // from eigenvectors of A^T A to those of A A^T
    vectors = factor * vectors;
    for (int q = 0; q < modes; ++q) vectors.col(q).normalize();
  }
  spectrum.modes = vectors.transpose();
  for (Rank i = 0; i < factor.rows(); ++i) spectrum.modes.col(i) /= std::sqrt(state.held_size(i));
  spectrum.component = Eigen::MatrixXd::Zero(modes, factor.cols());
  for (int b = 0; b < factor.cols(); ++b) {
    for (Rank i : state.holders(b)) spectrum.component.col(b) += spectrum.modes.col(i);
  }
  return spectrum;
}

// First-order change of the smooth maximum. With z fixed, z^T W z = sum_b p_b (sum of z over holders)^2 / k_b
// changes in the moved columns only; what ranks gain in size counts against it with the eigenvalue.
double Predict(const MaskState& state, const Spectrum& spectrum, const MaskMove& move) {
  double prediction = 0;
  for (int c = 0; c < move.count; ++c) {
    const auto [column, leaves, joins] = move.changes[c];
    const double holders = static_cast<double>(state.holders(column).size());
    const double holders_after = holders + (joins >= 0 ? 1 : 0) - (leaves >= 0 ? 1 : 0);
    double change = 0;
    for (size_t q = 0; q < spectrum.weights.size(); ++q) {
      const double gained = joins >= 0 ? spectrum.modes(q, joins) : 0.0;
      const double lost = leaves >= 0 ? spectrum.modes(q, leaves) : 0.0;
      const double sum = spectrum.component(q, column);
      const double sum_after = sum + gained - lost;
      change += spectrum.weights[q] * (sum_after * sum_after / holders_after - sum * sum / holders -
                                       spectrum.eigenvalues[q] * (gained * gained - lost * lost));
    }
    prediction += state.sizes()[column] * change;
  }
  return prediction;
}

// Of kCandidates draws, the move that promises most; none when no draw fits.
absl::optional<MaskMove> BestOfSome(const MaskState& state, const Spectrum& spectrum, Random& random) {
  absl::optional<MaskMove> best;
  double best_prediction = 0;
  for (int i = 0; i < kCandidates; ++i) {
    const absl::optional<MaskMove> move = state.Propose(random);
    if (!move) continue;
    const double prediction = Predict(state, spectrum, *move);
    if (best && prediction >= best_prediction - kNoise) continue;
    best = move;
    best_prediction = prediction;
  }
  return best;
}

}  // namespace

void PolishGap(MaskState& state, int64_t steps, Random& random) {
  if (std::min(state.mask().workers(), state.mask().columns()) < 2) return;
  Spectrum current = Solve(state);
  MaskState best = state;
  double best_second = current.second;
  double temperature = kFirstTemperature;
  const double factor = std::pow(kCooling, 1.0 / static_cast<double>(std::max<int64_t>(steps, 1)));
  for (int64_t step = 0; step < steps; ++step, temperature *= factor) {
    const absl::optional<MaskMove> move = BestOfSome(state, current, random);
    if (!move) continue;
    state.Apply(*move);
    Spectrum next = Solve(state);
    const double change = next.objective - current.objective;
    if (change > kNoise && random.Unit() >= std::exp(-change / temperature)) {
      state.Apply(move->Inverse());
      continue;
    }
    current = std::move(next);
    if (current.second < best_second - kNoise) {
      best = state;
      best_second = current.second;
    }
  }
  state = std::move(best);
}

int64_t PolishStepWork(int workers, int columns) {
  const int64_t small = std::min(workers, columns);
  // A quarter, for these multiply-adds are those of dense matrices and run faster than the others that count.
  return (10 * small * small * small + small * workers * columns + 100 * kCandidates) / 4;
}

}  // namespace sdp
