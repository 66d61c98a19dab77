#include "common/model/parameter_table.h"

#include "common/base/check.h"

namespace sdp {

int ParameterTable::ComponentOfColumn(int column) const {
  for (size_t i = 0; i < components.size(); ++i) {
    if (components[i].mask_column == column && column >= 0) return static_cast<int>(i);
  }
  SDP_CHECK(false, "no component has this mask column");
  return -1;
}

}  // namespace sdp
