// Fields of a message that this version does not know: a newer sender meant something by them.
#pragma once

#include <vector>

#include "common/wire/wire.h"
#include "google/protobuf/message.h"

namespace sdp {

// A problem for each unknown field of `message` and of the messages in it.
std::vector<SpecProblem> UnknownFieldProblems(const google::protobuf::Message& message);

}  // namespace sdp
