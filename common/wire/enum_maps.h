// Which enum value of the model is which on the wire. The first row of each table is also what "unspecified"
// stands for, unless unspecified has a row of its own.
#pragma once

#include <optional>
#include <utility>

#include "common/model/job_spec.h"
#include "sdp/v1/spec.pb.h"

namespace sdp {

inline constexpr std::pair<DataFormat, v1::DataFormat> kDataFormats[] = {
    {DataFormat::kDetect, v1::DATA_FORMAT_UNSPECIFIED},
    {DataFormat::kLlmc, v1::DATA_FORMAT_LLMC},
    {DataFormat::kNanogpt, v1::DATA_FORMAT_NANOGPT},
    {DataFormat::kMegatron, v1::DATA_FORMAT_MEGATRON},
};
inline constexpr std::pair<MaskingUnit, v1::MaskingUnit> kMaskingUnits[] = {
    {MaskingUnit::kBlock, v1::MASKING_UNIT_BLOCK},
};
inline constexpr std::pair<MaskingDirection, v1::MaskingDirection> kMaskingDirections[] = {
    {MaskingDirection::kForward, v1::MASKING_DIRECTION_FORWARD},
};
inline constexpr std::pair<MaskGenerator, v1::MaskGenerator> kMaskGenerators[] = {
    {MaskGenerator::kBalanced, v1::MASK_GENERATOR_BALANCED},
    {MaskGenerator::kExplicit, v1::MASK_GENERATOR_EXPLICIT},
    {MaskGenerator::kFull, v1::MASK_GENERATOR_FULL},
    {MaskGenerator::kRandom, v1::MASK_GENERATOR_RANDOM},
    {MaskGenerator::kCyclic, v1::MASK_GENERATOR_CYCLIC},
};
inline constexpr std::pair<AveragingMode, v1::AveragingMode> kAveragingModes[] = {
    {AveragingMode::kGradients, v1::AVERAGING_MODE_GRADIENTS},
    {AveragingMode::kParameters, v1::AVERAGING_MODE_PARAMETERS},
};

// The wire's value for `value`; every value has a row.
template <typename Model, typename Wire, size_t N>
Wire ToWire(const std::pair<Model, Wire> (&table)[N], Model value) {
  for (const auto& [model, wire] : table) {
    if (model == value) return wire;
  }
  return static_cast<Wire>(0);
}

// The model's value for `value`; nothing when this version does not know it.
template <typename Model, typename Wire, size_t N>
std::optional<Model> FromWire(const std::pair<Model, Wire> (&table)[N], Wire value) {
  for (const auto& [model, wire] : table) {
    if (wire == value) return model;
  }
  if (value == static_cast<Wire>(0)) return table[0].first;
  return std::nullopt;
}

}  // namespace sdp
