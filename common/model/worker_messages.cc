#include "common/model/worker_messages.h"

namespace sdp {

const char* PhaseName(AssignmentPhase phase) {
  switch (phase) {
    case AssignmentPhase::kPreparing:
      return "preparing";
    case AssignmentPhase::kReady:
      return "ready";
    case AssignmentPhase::kRunning:
      return "running";
    case AssignmentPhase::kExporting:
      return "exporting";
    case AssignmentPhase::kFinished:
      return "finished";
    case AssignmentPhase::kFailed:
      return "failed";
    case AssignmentPhase::kAborted:
      return "aborted";
  }
  return "unknown";
}

bool IsTerminal(AssignmentPhase phase) {
  return phase == AssignmentPhase::kFinished || phase == AssignmentPhase::kFailed ||
         phase == AssignmentPhase::kAborted;
}

const char* PhaseName(StepPhase phase) {
  switch (phase) {
    case StepPhase::kNone:
      return "between steps";
    case StepPhase::kData:
      return "data";
    case StepPhase::kForward:
      return "forward";
    case StepPhase::kBackward:
      return "backward";
    case StepPhase::kAverageWait:
      return "average wait";
    case StepPhase::kCommit:
      return "commit";
    case StepPhase::kUpdate:
      return "update";
    case StepPhase::kEvaluate:
      return "evaluate";
    case StepPhase::kExport:
      return "export";
  }
  return "unknown";
}

}  // namespace sdp
