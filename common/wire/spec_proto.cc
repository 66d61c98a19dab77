#include <string>

#include "common/base/quantities.h"
#include "common/wire/enum_maps.h"
#include "common/wire/wire.h"

namespace sdp {
namespace {

void ModelToProto(const LlamaSpec& model, v1::LlamaSpec* proto) {
  proto->set_layers(model.layers);
  proto->set_hidden(model.hidden);
  proto->set_heads(model.heads);
  proto->set_kv_heads(model.kv_heads);
  proto->set_ffn(model.ffn);
  proto->set_vocab(model.vocab);
  proto->set_seq_len(model.seq_len);
  proto->set_rope_theta(model.rope_theta);
  proto->set_norm_eps(model.norm_eps);
  proto->set_tied_embeddings(model.tied_embeddings);
}

void DataToProto(const DataSpec& data, v1::DataSpec* proto) {
  for (const std::string& path : data.train_shards) proto->add_train_shards(path);
  for (const std::string& path : data.validation_shards) proto->add_validation_shards(path);
  proto->set_format(ToWire(kDataFormats, data.format));
}

void MaskingToProto(const MaskingSpec& masking, v1::MaskingSpec* proto) {
  proto->set_unit(ToWire(kMaskingUnits, masking.unit));
  proto->set_direction(ToWire(kMaskingDirections, masking.direction));
  proto->set_generator(ToWire(kMaskGenerators, masking.generator));
  // The matrix says what the ratio is; the wire allows only one of them.
  if (masking.generator != MaskGenerator::kExplicit) proto->set_active_ratio(masking.active_ratio);
  for (const std::vector<bool>& row : masking.matrix) {
    std::string text;
    for (const bool held : row) text += held ? '1' : '0';
    proto->add_matrix(text);
  }
  proto->set_seed(masking.seed);
  proto->set_allow_disconnected(masking.allow_disconnected);
  proto->set_max_holder_sets(masking.max_holder_sets);
}

void WorkersToProto(const WorkersSpec& workers, v1::WorkersSpec* proto) {
  const auto text = [](int64_t bytes) { return bytes == 0 ? "" : WriteBytes(bytes); };
  proto->set_min(workers.min);
  proto->set_max(workers.max);
  proto->set_memory_budget(text(workers.memory_budget_bytes));
  for (const NamedWorkerProfile& profile : workers.profiles) {
    v1::WorkerProfile* out = proto->add_profiles();
    out->set_worker(profile.worker);
    out->set_memory_budget(text(profile.memory_budget_bytes));
    out->set_relative_speed(profile.relative_speed);
  }
}

void OptimizerToProto(const OptimizerSpec& optimizer, v1::OptimizerSpec* proto) {
  v1::AdamWSpec* adamw = proto->mutable_adamw();
  adamw->set_learning_rate(optimizer.adamw.learning_rate);
  adamw->set_beta1(optimizer.adamw.beta1);
  adamw->set_beta2(optimizer.adamw.beta2);
  adamw->set_eps(optimizer.adamw.eps);
  adamw->set_weight_decay(optimizer.adamw.weight_decay);
  proto->mutable_schedule()->set_warmup_steps(optimizer.schedule.warmup_steps);
  proto->mutable_schedule()->set_final_ratio(optimizer.schedule.final_ratio);
  proto->set_clip_norm(optimizer.clip_norm);
}

}  // namespace

v1::JobSpec SpecToProto(const JobSpec& spec) {
  v1::JobSpec proto;
  proto.set_display_name(spec.display_name);
  ModelToProto(spec.model, proto.mutable_model()->mutable_llama());
  DataToProto(spec.data, proto.mutable_data());
  MaskingToProto(spec.masking, proto.mutable_masking());
  proto.mutable_averaging()->set_mode(ToWire(kAveragingModes, spec.averaging.mode));
  proto.mutable_averaging()->set_every_steps(spec.averaging.every_steps);
  OptimizerToProto(spec.optimizer, proto.mutable_optimizer());
  proto.mutable_batch()->set_global_sequences(spec.batch.global_sequences);
  proto.mutable_batch()->set_micro_sequences(spec.batch.micro_sequences);
  proto.mutable_stop()->set_steps(spec.stop_steps);
  proto.mutable_stop()->set_tokens(spec.stop_tokens);
  proto.mutable_evaluation()->set_interval_steps(spec.evaluation.interval_steps);
  proto.mutable_evaluation()->set_max_sequences(spec.evaluation.max_sequences);
  WorkersToProto(spec.workers, proto.mutable_workers());
  proto.set_output_directory(spec.output_directory);
  proto.set_seed(spec.seed);
  return proto;
}

}  // namespace sdp
