// A mesh of one: stands for all other ranks, whose contributions to every sum are zero. For measuring one
// rank alone.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "worker/averaging/communicator.h"

namespace sdp {

// Every collective is complete at once: sums keep this rank's values, and what others would send is zero.
class ImmediateMesh : public Mesh {
 public:
  ImmediateMesh(Rank rank, int world_size) : rank_(rank), world_size_(world_size) {}

  Rank rank() const override { return rank_; }
  int world_size() const override { return world_size_; }
  absl::StatusOr<std::unique_ptr<Communicator>> Group(std::vector<Rank> ranks, uint32_t /*id*/) override {
    return std::make_unique<Immediate>(std::move(ranks), rank_);
  }
  void Abort(absl::string_view /*reason*/) override {}
  ByteCount bytes(Collective /*collective*/) const override { return {}; }
  ByteCount bytes_of_group_size(int /*size*/) const override { return {}; }

 private:
  class Complete : public Work {
   public:
    absl::Status Wait() override { return absl::OkStatus(); }
    bool Done() const override { return true; }
    absl::Time began() const override { return absl::UnixEpoch(); }
    absl::Time ended() const override { return absl::UnixEpoch(); }
  };

  class Immediate : public Communicator {
   public:
    Immediate(std::vector<Rank> ranks, Rank self) : ranks_(std::move(ranks)), self_(self) {}

    const std::vector<Rank>& ranks() const override { return ranks_; }
    std::unique_ptr<Work> AllReduce(absl::Span<float> /*data*/) override { return Done(); }
    std::unique_ptr<Work> AllReduceSmall(absl::Span<double> /*data*/) override { return Done(); }
    std::unique_ptr<Work> ReduceScatter(absl::Span<float> /*data*/) override { return Done(); }
    std::unique_ptr<Work> AllGather(absl::Span<float> /*data*/) override { return Done(); }
    std::unique_ptr<Work> Broadcast(absl::Span<float> data, int root) override {
      return ranks_[root] == self_ ? Done() : Recv(data, root);
    }
    std::unique_ptr<Work> Send(absl::Span<const float> /*data*/, int /*peer*/) override { return Done(); }
    std::unique_ptr<Work> Recv(absl::Span<float> data, int /*peer*/) override {
      std::fill(data.begin(), data.end(), 0.0f);
      return Done();
    }

   private:
    static std::unique_ptr<Work> Done() { return std::make_unique<Complete>(); }

    const std::vector<Rank> ranks_;
    const Rank self_;
  };

  const Rank rank_;
  const int world_size_;
};

}  // namespace sdp
