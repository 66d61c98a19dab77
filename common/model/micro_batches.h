// How many sequences run at once, in training and in evaluations. The trainer does so and the planner
// predicts memory from it.
#pragma once

#include "common/model/job_spec.h"
#include "common/model/parameter_table.h"
#include "common/model/plan.h"

namespace sdp {

// Sequences that a worker with `share` of each step's runs at once.
int MicroBatch(const JobSpec& spec, int share);

struct EvaluationRows {
  int batch = 1;  // sequences run at once
  int chunk = 1;  // sequences whose hidden states are kept between components, a multiple of `batch`
};

// The rows of an evaluation: a function of the plan, for all ranks must agree. A batch is the smallest
// micro-batch of any worker. A chunk is bounded by what a training step of the smallest share takes, in two
// ways: hidden states kept between components take no more memory than its activations, and one component of
// one chunk no more computing than the step, so that collectives wait for slower ranks no longer than in
// training.
EvaluationRows ChooseEvaluationRows(const JobSpec& spec, const ParameterTable& table, const Plan& plan);

}  // namespace sdp
