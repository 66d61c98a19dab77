#include "common/model/parameter_table.h"

#include <cmath>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp {
namespace {

using ::testing::ElementsAre;

// Grouped-query attention: 4 query heads of 4, 2 key/value heads.
LlamaSpec SmallSpec() {
  LlamaSpec spec;
  spec.layers = 3;
  spec.hidden = 16;
  spec.heads = 4;
  spec.kv_heads = 2;
  spec.ffn = 24;
  spec.vocab = 50;
  spec.seq_len = 32;
  return spec;
}

// Norms 16 + 16; q and o 16x16 each; k and v 8x16 each; gate, up and down 24x16 each.
constexpr int64_t kBlockElements = 32 + 2 * 256 + 2 * 128 + 3 * 384;

std::vector<std::string> Names(const ParameterTable& table, const Component& component) {
  std::vector<std::string> names;
  for (int i = component.first_slice; i < component.end_slice; ++i) {
    names.push_back(table.parameters[table.slices[i].parameter].name);
  }
  return names;
}

TEST(ParameterTableTest, CountsByHand) {
  const ParameterTable table = MakeParameterTable(SmallSpec());
  ASSERT_EQ(table.components.size(), 5u);
  EXPECT_EQ(table.mask_columns, 3);
  EXPECT_EQ(table.components[0].elements, 50 * 16);
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(table.components[i].elements, kBlockElements);
  EXPECT_EQ(table.components[4].elements, 16 + 50 * 16);
  EXPECT_EQ(table.elements, 2 * 800 + 16 + 3 * kBlockElements);
  EXPECT_EQ(table.parameters.size(), 1u + 3 * 9 + 2);
}

TEST(ParameterTableTest, TiedEmbeddingsLeaveOnlyTheNormInTheHead) {
  LlamaSpec spec = SmallSpec();
  const double untied_flops = MakeParameterTable(spec).components.back().flops_per_token;
  spec.tied_embeddings = true;
  const ParameterTable table = MakeParameterTable(spec);
  EXPECT_THAT(Names(table, table.components.back()), ElementsAre("model.norm.weight"));
  EXPECT_EQ(table.components.back().elements, 16);
  EXPECT_EQ(table.elements, 800 + 16 + 3 * kBlockElements);
  EXPECT_DOUBLE_EQ(table.components.back().flops_per_token, untied_flops);
}

TEST(ParameterTableTest, NamesAreThoseOfTheUsualLibraries) {
  const ParameterTable table = MakeParameterTable(SmallSpec());
  EXPECT_EQ(table.components[0].name, "embedding");
  EXPECT_THAT(Names(table, table.components[0]), ElementsAre("model.embed_tokens.weight"));
  EXPECT_EQ(table.components[2].name, "block 1");
  EXPECT_THAT(
      Names(table, table.components[2]),
      ElementsAre("model.layers.1.input_layernorm.weight", "model.layers.1.self_attn.q_proj.weight",
                  "model.layers.1.self_attn.k_proj.weight", "model.layers.1.self_attn.v_proj.weight",
                  "model.layers.1.self_attn.o_proj.weight", "model.layers.1.post_attention_layernorm.weight",
                  "model.layers.1.mlp.gate_proj.weight", "model.layers.1.mlp.up_proj.weight",
                  "model.layers.1.mlp.down_proj.weight"));
  EXPECT_EQ(table.components[4].name, "head");
  EXPECT_THAT(Names(table, table.components[4]), ElementsAre("model.norm.weight", "lm_head.weight"));
}

TEST(ParameterTableTest, ShapesInitialValuesAndDecay) {
  const ParameterTable table = MakeParameterTable(SmallSpec());
  const int block = table.components[1].first_slice;
  const auto parameter = [&](int offset) { return table.parameters[table.slices[block + offset].parameter]; };
  EXPECT_THAT(parameter(0).shape, ElementsAre(16));
  EXPECT_EQ(parameter(0).init, Init::kOnes);
  EXPECT_FALSE(parameter(0).decayed);
  EXPECT_THAT(parameter(2).shape, ElementsAre(8, 16));  // k: (kv, hidden)
  EXPECT_EQ(parameter(2).init, Init::kNormal);
  EXPECT_TRUE(parameter(2).decayed);
  EXPECT_DOUBLE_EQ(parameter(2).init_std, 0.02);
  EXPECT_DOUBLE_EQ(parameter(4).init_std, 0.02 / std::sqrt(6.0));  // o
  EXPECT_THAT(parameter(6).shape, ElementsAre(24, 16));            // gate
  EXPECT_THAT(parameter(8).shape, ElementsAre(16, 24));            // down
  EXPECT_DOUBLE_EQ(parameter(8).init_std, 0.02 / std::sqrt(6.0));
}

TEST(ParameterTableTest, SlicesAreWholeParametersAndComponentsPartitionThem) {
  const ParameterTable table = MakeParameterTable(SmallSpec());
  int next_slice = 0;
  int64_t elements = 0;
  std::set<std::string> names;
  for (size_t c = 0; c < table.components.size(); ++c) {
    const Component& component = table.components[c];
    EXPECT_EQ(component.first_slice, next_slice);
    int64_t component_elements = 0;
    for (int i = component.first_slice; i < component.end_slice; ++i) {
      const Slice& slice = table.slices[i];
      const Parameter& parameter = table.parameters[slice.parameter];
      EXPECT_EQ(slice.component, static_cast<int>(c));
      EXPECT_EQ(slice.axis, 0);
      EXPECT_EQ(slice.begin, 0);
      EXPECT_EQ(slice.end, parameter.shape[0]);
      EXPECT_EQ(slice.elements, parameter.elements());
      EXPECT_TRUE(names.insert(parameter.name).second) << parameter.name;
      component_elements += slice.elements;
    }
    EXPECT_EQ(component.elements, component_elements);
    elements += component_elements;
    next_slice = component.end_slice;
  }
  EXPECT_EQ(next_slice, static_cast<int>(table.slices.size()));
  EXPECT_EQ(names.size(), table.parameters.size());
  EXPECT_EQ(elements, table.elements);
}

TEST(ParameterTableTest, MaskColumnsFollowTheBlocks) {
  const ParameterTable table = MakeParameterTable(SmallSpec());
  EXPECT_TRUE(table.components[0].shared());
  EXPECT_TRUE(table.components[4].shared());
  for (int column = 0; column < 3; ++column) {
    EXPECT_EQ(table.ComponentOfColumn(column), column + 1);
    EXPECT_EQ(table.components[column + 1].mask_column, column);
  }
}

TEST(ParameterTableTest, FlopsByHand) {
  const ParameterTable table = MakeParameterTable(SmallSpec());
  EXPECT_DOUBLE_EQ(table.components[0].flops_per_token, 0);
  // 6 per weight of a matrix; for attention 6 x 2 x 16 hidden x (32 + 1) / 2 positions.
  EXPECT_DOUBLE_EQ(table.components[1].flops_per_token, 6.0 * (kBlockElements - 32) + 6 * 33 * 16);
  EXPECT_DOUBLE_EQ(table.components[4].flops_per_token, 6.0 * 800);
}

TEST(ParameterTableTest, ActivationsByHand) {
  const ParameterTable table = MakeParameterTable(SmallSpec());
  // 8 hidden + 2 kv + heads + 4 ffn floats.
  EXPECT_DOUBLE_EQ(table.components[1].activation_bytes_per_token, 4.0 * (8 * 16 + 2 * 8 + 4 + 4 * 24));
  EXPECT_DOUBLE_EQ(table.components[4].activation_bytes_per_token, 4.0 * (3 * 16 + 50));
  EXPECT_DOUBLE_EQ(table.components[0].activation_bytes_per_token, 8.0);  // a 64-bit index
}

}  // namespace
}  // namespace sdp
