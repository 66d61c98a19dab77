// Initial values of parameters, the same bits on every machine.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "common/model/parameter_table.h"

namespace sdp {

// Fills `values` (parameter.elements() of them) with the parameter's initial values. They depend on `seed`
// and the parameter's name alone: whoever holds it begins with the same bits, whatever else he holds.
void FillInitialValues(const Parameter& parameter, uint64_t seed, absl::Span<float> values);

}  // namespace sdp
