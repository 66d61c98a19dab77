// Random specs and plans survive every translation.
#include <string>
#include <tuple>

#include "common/wire/test_specs.h"
#include "common/wire/wire.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "rapidcheck.h"

namespace sdp {

// Field by field: a field that a translation forgets must show. In this namespace for argument-dependent
// lookup.
bool operator==(const LlamaSpec& a, const LlamaSpec& b) {
  const auto all = [](const LlamaSpec& s) {
    return std::tie(s.layers, s.hidden, s.heads, s.kv_heads, s.ffn, s.vocab, s.seq_len, s.rope_theta,
                    s.norm_eps, s.tied_embeddings);
  };
  return all(a) == all(b);
}
bool operator==(const DataSpec& a, const DataSpec& b) {
  return a.train_shards == b.train_shards && a.validation_shards == b.validation_shards &&
         a.format == b.format;
}
bool operator==(const MaskingSpec& a, const MaskingSpec& b) {
  const auto all = [](const MaskingSpec& s) {
    return std::tie(s.unit, s.direction, s.active_ratio, s.generator, s.matrix, s.seed);
  };
  return all(a) == all(b);
}
bool operator==(const OptimizerSpec& a, const OptimizerSpec& b) {
  const auto all = [](const OptimizerSpec& s) {
    return std::tie(s.adamw.learning_rate, s.adamw.beta1, s.adamw.beta2, s.adamw.eps, s.adamw.weight_decay,
                    s.schedule.warmup_steps, s.schedule.final_ratio, s.clip_norm);
  };
  return all(a) == all(b);
}
bool operator==(const JobSpec& a, const JobSpec& b) {
  const auto all = [](const JobSpec& s) {
    return std::tie(s.display_name, s.model, s.data, s.masking, s.averaging.mode, s.averaging.every_steps,
                    s.optimizer, s.batch.global_sequences, s.batch.micro_sequences, s.stop_steps,
                    s.stop_tokens, s.evaluation.interval_steps, s.evaluation.max_sequences, s.workers.min,
                    s.workers.max, s.output_directory, s.seed);
  };
  return all(a) == all(b);
}

namespace {

void ExpectNoProblems(const std::vector<SpecProblem>& problems) {
  if (!problems.empty()) RC_FAIL(ProblemsToStatus(problems).ToString());
}

TEST(RoundTrip, SpecThroughProtoAndYaml) {
  EXPECT_TRUE(rc::check("spec -> proto -> YAML -> proto -> spec", [] {
    const JobSpec spec = *AnyJobSpec();
    const std::string yaml = SpecToYaml(SpecToProto(spec));
    RC_LOG(yaml);
    v1::JobSpec proto;
    ExpectNoProblems(ParseSpecText(yaml, &proto));
    JobSpec back;
    ExpectNoProblems(ValidateSpec(proto, &back));
    RC_ASSERT(back == spec);
  }));
}

TEST(RoundTrip, SpecThroughProtoAndJson) {
  EXPECT_TRUE(rc::check("spec -> proto -> JSON -> proto -> spec", [] {
    const JobSpec spec = *AnyJobSpec();
    google::protobuf::util::JsonPrintOptions options;
    options.preserve_proto_field_names = true;
    std::string json;
    RC_ASSERT(MessageToJsonString(SpecToProto(spec), &json, options).ok());
    v1::JobSpec proto;
    ExpectNoProblems(ParseSpecText(json, &proto));
    JobSpec back;
    ExpectNoProblems(ValidateSpec(proto, &back));
    RC_ASSERT(back == spec);
  }));
}

// Whatever people type, they get problems or a spec, never a crash; and what is read is what validation
// expects.
TEST(RoundTrip, MutilatedTextIsRefusedOrRead) {
  EXPECT_TRUE(rc::check("cut, doubled and replaced characters", [] {
    std::string text = SpecToYaml(SpecToProto(*AnyJobSpec()));
    for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
      const size_t at = *rc::gen::inRange<size_t>(0, text.size());
      const std::string piece = *rc::gen::elementOf(
          std::vector<std::string>{"",   "\n", ": ", "- ", "[", "]", "{",  "}",     "&a ", "*a",  "!",
                                   "\"", "'",  "|",  ">",  "%", "@", "\t", "---\n", "? ",  "<<: "});
      text.replace(at, *rc::gen::inRange<size_t>(0, 4), piece);
    }
    v1::JobSpec proto;
    JobSpec spec;
    if (ParseSpecText(text, &proto).empty() && ValidateSpec(proto, &spec).empty()) {
      JobSpec back;
      RC_ASSERT(ValidateSpec(SpecToProto(spec), &back).empty());
      RC_ASSERT(back == spec);
    }
  }));
}

Plan AnyPlan() {
  using rc::gen::arbitrary;
  using rc::gen::inRange;
  Plan plan;
  const int workers = *inRange(1, 6);
  plan.epoch = Epoch(*inRange<int64_t>(1, 1000));
  plan.first_step = *inRange<int64_t>(0, 1000);
  plan.mask = Mask(workers, *inRange(1, 10));
  for (int rank = 0; rank < workers; ++rank) {
    plan.members.push_back({WorkerName("worker-" + std::to_string(rank)),
                            Incarnation(*arbitrary<uint64_t>()),
                            "10.0.0.1",
                            *inRange(0, 100),
                            *inRange(0, 100),
                            {}});
    for (int column = 0; column < plan.mask.columns(); ++column)
      plan.mask.set(rank, column, *arbitrary<bool>());
    WorkerCost& cost = plan.summary.workers.emplace_back();
    for (int64_t* count :
         {&cost.parameters, &cost.bytes_per_step, &cost.memory_budget_bytes, &cost.communicator_bytes}) {
      *count = *inRange<int64_t>(0, 1'000'000'000'000);
    }
    for (double* value :
         {&cost.flops_per_step, &cost.relative_speed, &cost.compute_seconds, &cost.averaging_seconds}) {
      *value = *inRange(0, 1000) / 7.0;
    }
    WorkerMemory& m = cost.memory;
    for (int64_t* part : {&m.parameters, &m.gradients, &m.moments, &m.activations, &m.logits_and_loss,
                          &m.workspace, &m.buffers}) {
      *part = *inRange<int64_t>(0, 1'000'000'000'000);
    }
    cost.communicators = *inRange(0, 100);
  }
  plan.holder_sets.emplace_back();
  for (int rank = 0; rank < workers; ++rank) plan.holder_sets[0].push_back(rank);
  plan.holder_sets.push_back({*inRange(0, workers)});
  for (int i = *inRange(0, 5); i > 0; --i) {
    plan.buckets.push_back({*inRange(0, 2), *rc::gen::container<std::vector<int>>(inRange(0, 1000)),
                            *inRange<int64_t>(0, 1000), *inRange(0, workers)});
  }
  plan.digest = "0123456789abcdef";
  PlanSummary& s = plan.summary;
  for (double* value : {&s.active_ratio, &s.spectral_gap, &s.spectral_gap_bound, &s.spectral_gap_with_shared,
                        &s.masking_error, &s.imbalance, &s.memory_imbalance, &s.compute_imbalance,
                        &s.step_seconds_shortest, &s.step_seconds_longest}) {
    *value = *inRange(0, 1000) / 999.0;
  }
  s.coverage_minimum = *inRange(0, workers);
  s.parameters = *inRange<int64_t>(0, 1'000'000'000'000);
  s.component_holder_sets = *inRange(0, 100);
  s.data_parallel_bytes_per_step = *inRange<int64_t>(0, 1'000'000'000'000);
  for (int i = *inRange(0, 3); i > 0; --i) s.reasons.push_back("reason " + std::to_string(i));
  return plan;
}

// plan_wire_test checks where each field goes; here, that none is lost on the way back.
TEST(RoundTrip, PlanThroughProto) {
  EXPECT_TRUE(rc::check("plan -> proto -> plan -> proto", [] {
    const Plan plan = AnyPlan();
    const v1::Plan proto = PlanToProto(plan);
    v1::Plan parsed;
    RC_ASSERT(parsed.ParseFromString(proto.SerializeAsString()));
    const absl::StatusOr<Plan> back = PlanFromProto(parsed);
    if (!back.ok()) RC_FAIL(back.status().ToString());
    RC_ASSERT(google::protobuf::util::MessageDifferencer::Equals(PlanToProto(*back), proto));
    RC_ASSERT(back->mask == plan.mask);
    RC_ASSERT(back->holder_sets == plan.holder_sets);
    RC_ASSERT(back->members.back().incarnation == plan.members.back().incarnation);
    RC_ASSERT(back->members.back().first_sequence == plan.members.back().first_sequence);
    RC_ASSERT(back->members.back().sequences == plan.members.back().sequences);
    RC_ASSERT(back->summary.parameters == plan.summary.parameters);
  }));
}

}  // namespace
}  // namespace sdp
