#include "common/rpc/status.h"

#include <string>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/wire/wire.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "gtest/gtest.h"
#include "rapidcheck.h"

namespace sdp {
namespace {

TEST(StatusConversion, OkStaysOk) {
  EXPECT_TRUE(ToGrpc(absl::OkStatus()).ok());
  EXPECT_TRUE(FromGrpc(grpc::Status::OK).ok());
  EXPECT_TRUE(WithReason(absl::OkStatus(), "X").ok());
}

TEST(StatusConversion, EveryCodeGoesThereAndBackWithMessageAndReason) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status = WithReason(
        absl::Status(static_cast<absl::StatusCode>(code), absl::StrCat("message ", code)), "A_REASON");
    const grpc::Status sent = ToGrpc(status);
    EXPECT_EQ(sent.error_code(), code);
    EXPECT_EQ(FromGrpc(sent), status);
    EXPECT_EQ(ReasonOf(FromGrpc(sent)), "A_REASON");
  }
}

TEST(StatusConversion, DetailsAreWhatOtherLanguagesExpect) {
  const grpc::Status sent = ToGrpc(absl::NotFoundError("no job x"));
  google::rpc::Status rich;
  ASSERT_TRUE(rich.ParseFromString(sent.error_details()));
  EXPECT_EQ(rich.code(), 5);
  EXPECT_EQ(rich.message(), sent.error_message());  // Python's grpcio-status insists
  ASSERT_EQ(rich.details_size(), 1);
  google::rpc::ErrorInfo info;
  ASSERT_TRUE(rich.details(0).UnpackTo(&info));
  EXPECT_EQ(info.domain(), "sdp");
  EXPECT_EQ(info.reason(), "NOT_FOUND");
}

TEST(StatusConversion, SpecProblemsTravelAsFieldViolations) {
  const std::vector<SpecProblem> problems = {{"model.llama.heads", "is 3"}, {"stop", "is required"}};
  const absl::Status received = FromGrpc(ToGrpc(ProblemsToStatus(problems)));
  EXPECT_EQ(received.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(received.message(), "model.llama.heads: is 3\nstop: is required");
  const std::vector<SpecProblem> back = ProblemsFromStatus(received);
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].field, "model.llama.heads");
  EXPECT_EQ(back[1].message, "is required");
}

TEST(StatusConversion, StatusWithoutDetailsFromAnotherServer) {
  EXPECT_EQ(FromGrpc(grpc::Status(grpc::UNAVAILABLE, "gone")), absl::UnavailableError("gone"));
  EXPECT_EQ(FromGrpc(grpc::Status(grpc::UNAVAILABLE, "gone", "\xff not a proto")),
            absl::UnavailableError("gone"));
}

TEST(StatusConversion, BytesThatAreNoTextDoNotSpoilTheStatus) {
  const grpc::Status sent = ToGrpc(absl::NotFoundError("no file /a\xff"));
  EXPECT_EQ(sent.error_message(), "no file /a?");
  EXPECT_EQ(ReasonOf(FromGrpc(sent)), "NOT_FOUND");
}

// Bytes of the status in trailing metadata: grpc-message percent-encoded, the details in base64.
size_t MetadataSize(const grpc::Status& status) {
  size_t size = (status.error_details().size() + 2) / 3 * 4;
  for (const char c : status.error_message()) size += c >= ' ' && c <= '~' && c != '%' ? 1 : 3;
  return size;
}

TEST(StatusConversion, AlwaysFitsInMetadata) {
  EXPECT_TRUE(rc::check("any problems and payloads", [] {
    std::vector<SpecProblem> problems;
    for (int i = *rc::gen::inRange(1, 300); i > 0; --i) {
      const bool ascii = *rc::gen::arbitrary<bool>();
      std::string message;
      for (int j = *rc::gen::inRange(0, 200); j > 0; --j) message += ascii ? "x" : "\xc3\xa4";
      problems.push_back({absl::StrCat("field[", i, "]"), message});
    }
    absl::Status status = ProblemsToStatus(problems);
    if (*rc::gen::arbitrary<bool>()) {
      status.SetPayload("type.googleapis.com/other",
                        absl::Cord(std::string(*rc::gen::inRange(0, 10000), 'p')));
    }
    const grpc::Status sent = ToGrpc(status);
    RC_ASSERT(MetadataSize(sent) <= 7u * 1024);
    const absl::Status received = FromGrpc(sent);
    RC_ASSERT(ReasonOf(received) == "INVALID_ARGUMENT");
  }));
}

TEST(StatusConversion, ManyProblemsAreCutAndCounted) {
  std::vector<SpecProblem> problems;
  for (int i = 0; i < 500; ++i)
    problems.push_back({absl::StrCat("data.train_shards[", i, "]"), "must be absolute"});
  const std::vector<SpecProblem> received = ProblemsFromStatus(FromGrpc(ToGrpc(ProblemsToStatus(problems))));
  ASSERT_GT(received.size(), 40u);
  const size_t kept = received.size() - 1;
  for (size_t i = 0; i < kept; ++i) EXPECT_EQ(received[i].field, problems[i].field);
  EXPECT_EQ(received.back().message, absl::StrCat("and ", 500 - kept, " problems more"));
}

}  // namespace
}  // namespace sdp
