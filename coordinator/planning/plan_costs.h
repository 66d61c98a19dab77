// What a plan costs each worker, and its summary.
#pragma once

#include <cstdint>
#include <vector>

#include "common/model/job_spec.h"
#include "common/model/parameter_table.h"
#include "common/model/plan.h"

namespace sdp {

// Bytes that each of `members` workers sends to average `elements` float32 values: 2 (k-1)/k of their bytes,
// the least that any all-reduce of this kind can do; rounded up.
int64_t RingBytes(int64_t elements, int members);

// Costs by rank of a plan that is complete but for digest and summary. When parameters are averaged every H
// steps, the bytes are the mean over those steps.
std::vector<WorkerCost> WorkerCosts(const JobSpec& spec, const ParameterTable& table, const Plan& plan);

// Largest held parameter count divided by the mean.
double Imbalance(const std::vector<WorkerCost>& workers);

// Component sizes (number of parameters) by mask column.
std::vector<double> MaskableSizes(const ParameterTable& table);

// Quality and cost of a plan that is complete but for digest and summary.
PlanSummary SummarizePlan(const JobSpec& spec, const ParameterTable& table, const Plan& plan);

}  // namespace sdp
