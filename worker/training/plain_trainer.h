// Training by subnetworks in one thread, without buckets, meshes or overlap: the reference that tests compare
// the real trainer with.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/data/token_dataset.h"
#include "common/model/job_spec.h"
#include "common/model/parameter_table.h"
#include "common/model/plan.h"

namespace sdp {

// All ranks of a plan; the state is kept in double.
class PlainTrainer {
 public:
  PlainTrainer(const JobSpec& spec, const ParameterTable& table, const Plan& plan,
               std::shared_ptr<const TokenDataset> train);

  struct Outcome {
    double loss = 0;           // mean of the step
    double gradient_norm = 0;  // before clipping; of gradient averaging only
  };
  // One step, with averaged gradients or, when the job averages parameters, without any average.
  Outcome Step();
  // Every holder of a component gets the mean of its holders' parameters, weighted by their tokens.
  void AverageParameters();

  // Values of a parameter on a rank that holds it.
  const std::vector<double>& parameter(Rank rank, int parameter) const {
    return ranks_[rank].parameters[parameter];
  }

 private:
  using Tensors = std::vector<std::vector<double>>;  // by parameter; empty where not held
  struct RankState {
    Tensors parameters;
    Tensors exp_avg;
    Tensors exp_avg_sq;
  };

  Tensors Gradients(Rank rank, double* loss) const;
  std::vector<Rank> HoldersOf(int parameter) const;
  int64_t TokensOf(const std::vector<Rank>& ranks) const;
  double Clip(double norm) const;
  void Apply(Rank rank, const Tensors& gradients, double scale);

  const JobSpec spec_;
  const ParameterTable& table_;
  const Plan& plan_;
  const std::shared_ptr<const TokenDataset> train_;
  std::vector<RankState> ranks_;
  int64_t step_ = 0;
};

}  // namespace sdp
