// Specs for tests.
#pragma once

#include "common/model/job_spec.h"
#include "rapidcheck.h"
#include "sdp/v1/spec.pb.h"

namespace sdp {

// A valid spec with only the required fields, for 4 workers.
inline v1::JobSpec MinimalSpec() {
  v1::JobSpec spec;
  v1::LlamaSpec* llama = spec.mutable_model()->mutable_llama();
  llama->set_layers(8);
  llama->set_hidden(128);
  llama->set_heads(4);
  llama->set_ffn(344);
  llama->set_vocab(256);
  llama->set_seq_len(128);
  spec.mutable_data()->add_train_shards("/data/train.bin");
  spec.mutable_batch()->set_global_sequences(32);
  spec.mutable_stop()->set_steps(300);
  spec.mutable_workers()->set_min(4);
  spec.set_output_directory("/out");
  return spec;
}

// Any valid spec.
rc::Gen<JobSpec> AnyJobSpec();

}  // namespace sdp
