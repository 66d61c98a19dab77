// Union-find.
#pragma once

#include <numeric>
#include <vector>

namespace sdp {

// Elements 0 .. size-1, each in a set of its own at first.
class DisjointSets {
 public:
  explicit DisjointSets(int size) : parent_(size), sets_(size) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  // The representative of the set that holds `element`.
  int Find(int element) {
    while (parent_[element] != element) {
      parent_[element] = parent_[parent_[element]];  // path halving
      element = parent_[element];
    }
    return element;
  }

  // Merges two sets; false when they were one already.
  bool Merge(int a, int b) {
    a = Find(a);
    b = Find(b);
    if (a == b) return false;
    parent_[b] = a;
    --sets_;
    return true;
  }

  int sets() const { return sets_; }

 private:
  std::vector<int> parent_;
  int sets_;
};

}  // namespace sdp
