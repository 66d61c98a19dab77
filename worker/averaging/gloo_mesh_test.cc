// Connecting, and what the conformance suite cannot see: processes, sockets, threads.
#include "worker/averaging/gloo_mesh.h"

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/process_stats.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/averaging/conformance.h"
#include "worker/averaging/gloo_address.h"
#include "worker/averaging/local_rendezvous.h"
#include "worker/averaging/test_socket.h"

namespace sdp {
namespace {

using ::testing::HasSubstr;

using MeshOrError = absl::StatusOr<std::unique_ptr<Mesh>>;

MeshOptions Options(Rank rank, int world_size, absl::Duration connect_timeout = absl::Minutes(1)) {
  MeshOptions options;
  options.rank = rank;
  options.world_size = world_size;
  options.connect_timeout = connect_timeout;
  return options;
}

MeshOrError Connect(AddressBook& book, const MeshOptions& options) {
  LocalRendezvous rendezvous(book, options.rank);
  return ConnectGlooMesh(options, rendezvous);
}

// ConnectGlooMesh on a thread of its own.
class Attempt {
 public:
  Attempt(AddressBook& book, const MeshOptions& options)
      : thread_([this, &book, options] { result_ = Connect(book, options); }) {}
  ~Attempt() {
    if (thread_.joinable()) thread_.join();
  }

  MeshOrError& Result() {
    if (thread_.joinable()) thread_.join();
    return result_;
  }

 private:
  MeshOrError result_{absl::UnknownError("not run")};
  std::thread thread_;
};

// What the rank has published.
MeshAddress PublishedBy(AddressBook& book, Rank rank, int world_size) {
  const absl::StatusOr<std::string> text = book.Get(rank, absl::InfiniteFuture());
  EXPECT_TRUE(text.ok()) << text.status();
  absl::StatusOr<MeshAddress> address = ParseMeshAddress(*text, rank, world_size);
  EXPECT_TRUE(address.ok()) << address.status();
  return *address;
}

// The address of a rank that only pretends to take part, reached at `port` on 127.0.0.1 by all others.
MeshAddress Pretended(Rank rank, int world_size, uint16_t port) {
  MeshAddress address;
  address.rank = rank;
  address.key = 1;
  address.host = "127.0.0.1";
  address.ports.assign(world_size, port);
  address.ports[rank] = 0;
  return address;
}

void ExpectAllReduceWorks(Mesh& zero, Mesh& one) {
  OnEveryRank(2, [&](Rank rank) {
    auto all = (rank == 0 ? zero : one).Group({0, 1}, 0);
    ASSERT_TRUE(all.ok()) << all.status();
    std::vector<float> data = Contribution(rank, 1000);
    EXPECT_EQ((*all)->AllReduce(absl::MakeSpan(data))->Wait(), absl::OkStatus());
    EXPECT_EQ(data, SumOfContributions({0, 1}, 1000));
  });
}

TEST(GlooMeshTest, OneRankNeedsNoAddress) {
  AddressBook book;
  MeshOrError mesh = Connect(book, Options(0, 1));
  ASSERT_TRUE(mesh.ok()) << mesh.status();
  auto all = (*mesh)->Group({0}, 0);
  ASSERT_TRUE(all.ok()) << all.status();
  std::vector<float> data = {3.0f};
  EXPECT_EQ((*all)->AllReduce(absl::MakeSpan(data))->Wait(), absl::OkStatus());
  EXPECT_EQ(data[0], 3.0f);
}

TEST(GlooMeshTest, AdvertisesTheGivenAddressAndNeverAWildcard) {
  AddressBook book;
  MeshOptions zero = Options(0, 2), one = Options(1, 2);
  zero.bind_address = "0.0.0.0";
  zero.advertised_address = "localhost";
  one.bind_address = "127.0.0.2";
  Attempt other(book, zero);
  MeshOrError mesh = Connect(book, one);
  ASSERT_TRUE(other.Result().ok()) << other.Result().status();
  ASSERT_TRUE(mesh.ok()) << mesh.status();
  EXPECT_EQ(PublishedBy(book, 0, 2).host, "127.0.0.1");
  EXPECT_NE(PublishedBy(book, 0, 2).ports[1], 0);
  EXPECT_EQ(PublishedBy(book, 1, 2).host, "127.0.0.2");
  ExpectAllReduceWorks(**other.Result(), **mesh);
}

TEST(GlooMeshTest, ConnectsOverIpv6OrSaysWhichAddressTheMachineLacks) {
  AddressBook book;
  MeshOptions zero = Options(0, 2), one = Options(1, 2);
  zero.bind_address = one.bind_address = "::1";
  Attempt other(book, zero);
  MeshOrError mesh = Connect(book, one);
  if (absl::IsFailedPrecondition(mesh.status())) {
    EXPECT_THAT(mesh.status().message(), HasSubstr("::1"));
    return;
  }
  ASSERT_TRUE(other.Result().ok()) << other.Result().status();
  ASSERT_TRUE(mesh.ok()) << mesh.status();
  ExpectAllReduceWorks(**other.Result(), **mesh);
}

TEST(GlooMeshTest, NamesTheOptionThatCannotBeUsed) {
  AddressBook book;
  const auto status = [&](const std::string& bind, const std::string& advertised) {
    MeshOptions options = Options(0, 2);
    options.bind_address = bind;
    options.advertised_address = advertised;
    return Connect(book, options).status();
  };
  EXPECT_THAT(status("no-such-host.invalid", "").ToString(),
              HasSubstr("bind_address \"no-such-host.invalid\""));
  EXPECT_THAT(status("127.0.0.1", "no-such-host.invalid").ToString(),
              HasSubstr("advertised_address \"no-such-host.invalid\""));
  EXPECT_THAT(status("0.0.0.0", "").ToString(),
              HasSubstr("bind_address \"0.0.0.0\" stands for all interfaces"));
  EXPECT_THAT(status("127.0.0.1", "0.0.0.0").ToString(), HasSubstr("advertised_address \"0.0.0.0\""));
  const absl::Status foreign = status("192.0.2.1", "");  // reserved for documentation
  EXPECT_EQ(foreign.code(), absl::StatusCode::kFailedPrecondition) << foreign;
  EXPECT_THAT(std::string(foreign.message()), HasSubstr("192.0.2.1"));
  EXPECT_EQ(Connect(book, Options(2, 2)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Connect(book, Options(-1, 2)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Connect(book, Options(0, 0)).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(GlooMeshTest, NamesARankThatPublishesNonsenseOrNothing) {
  AddressBook book;
  book.Set(1, "tcp://elsewhere:80");
  const absl::Status nonsense = Connect(book, Options(0, 2)).status();
  EXPECT_EQ(nonsense.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(nonsense.message()), HasSubstr("rank 1"));
  book.Set(1, FormatMeshAddress(Pretended(1, 3, 1)));
  const absl::Status missing = Connect(book, Options(0, 3, absl::Milliseconds(20))).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("rank 2"));
}

TEST(GlooMeshTest, NamesAPeerThatRefuses) {
  AddressBook book;
  TestSocket bound;
  const uint16_t port = bound.Bind();  // does not listen
  book.Set(0, FormatMeshAddress(Pretended(0, 2, port)));
  const absl::Status status = Connect(book, Options(1, 2)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat("rank 0 (127.0.0.1:", port, "): Connection refused")));
}

TEST(GlooMeshTest, NamesAPeerThatDoesNotAnswer) {
  AddressBook book;
  TestSocket silent;
  book.Set(0, FormatMeshAddress(Pretended(0, 2, silent.Listen())));
  const absl::Status status = Connect(book, Options(1, 2, absl::Seconds(2))).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("rank 0 (127.0.0.1) is connected but does not answer"));
}

TEST(GlooMeshTest, NamesAPeerThatDoesNotConnect) {
  AddressBook book;
  book.Set(1, FormatMeshAddress(Pretended(1, 2, 1)));
  const absl::Status status = Connect(book, Options(0, 2, absl::Milliseconds(100))).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat("rank 1 (127.0.0.1) does not connect to this rank, 0, at 127.0.0.1:",
                                     PublishedBy(book, 0, 2).ports[1])));
}

// An address that swallows packets; where the network is no such thing, it is refused at once.
TEST(GlooMeshTest, NamesAPeerThatCannotBeReached) {
  AddressBook book;
  MeshAddress far_away = Pretended(0, 2, 4711);
  far_away.host = "240.0.0.1";
  book.Set(0, FormatMeshAddress(far_away));
  const absl::Status status = Connect(book, Options(1, 2, absl::Milliseconds(100))).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("240.0.0.1:4711"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 0"));
}

TEST(GlooMeshTest, AllMissingPeersAreNamed) {
  AddressBook book;
  TestSocket silent;
  const uint16_t port = silent.Listen();
  book.Set(0, FormatMeshAddress(Pretended(0, 3, port)));
  book.Set(2, FormatMeshAddress(Pretended(2, 3, port)));
  const absl::Status status = Connect(book, Options(1, 3, absl::Milliseconds(100))).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 0 "));
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 2 "));
}

TEST(GlooMeshTest, TheRendezvousCancelsAtAnyTime) {
  for (const bool peer_has_published : {false, true}) {
    AddressBook book;
    if (peer_has_published) book.Set(1, FormatMeshAddress(Pretended(1, 2, 1)));
    Attempt attempt(book, Options(0, 2, absl::Hours(1)));
    PublishedBy(book, 0, 2);
    book.Cancel("epoch 3 is over");
    const absl::Status status = attempt.Result().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("epoch 3 is over"));
  }
}

// Port scanners and the like reach the port on which a rank waits for its peer.
TEST(GlooMeshTest, StrangersDoNotKeepThePeerOut) {
  for (int round = 0; round < 20; ++round) {
    AddressBook book;
    Attempt zero(book, Options(0, 2));
    const uint16_t port = PublishedBy(book, 0, 2).ports[1];
    TestSocket resets, closes, talks, talks_and_resets, stays;
    for (TestSocket* stranger : {&resets, &closes, &talks, &talks_and_resets, &stays}) {
      ASSERT_TRUE(stranger->Connect(port));
      if (stranger == &resets) resets.Reset();
      if (stranger == &closes) closes.Close();
      if (stranger == &talks)
        talks.Write("GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: a scanner\r\n\r\n");
      if (stranger == &talks_and_resets) {
        talks_and_resets.Write(std::string(48, '\1'));
        talks_and_resets.Reset();
      }
    }
    MeshOrError one = Connect(book, Options(1, 2));
    ASSERT_TRUE(one.ok()) << one.status();
    ASSERT_TRUE(zero.Result().ok()) << zero.Result().status();
    ExpectAllReduceWorks(**zero.Result(), **one);
  }
}

// A rank that holds an address of an earlier attempt comes to whoever has the port now.
TEST(GlooMeshTest, MembersOfAnotherMeshAreNotTakenForPeers) {
  AddressBook book, stale;
  Attempt zero(book, Options(0, 2));
  MeshAddress address = PublishedBy(book, 0, 2);
  ++address.key;
  stale.Set(0, FormatMeshAddress(address));
  const absl::Status status = Connect(stale, Options(1, 2, absl::Milliseconds(500))).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 0"));
  MeshOrError one = Connect(book, Options(1, 2));  // the true one still can
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_TRUE(zero.Result().ok()) << zero.Result().status();
}

TEST(GlooMeshTest, APeerThatGivesUpEndsTheAttempt) {
  for (int round = 0; round < 10; ++round) {
    AddressBook book, cancelled;
    book.Set(2, FormatMeshAddress(Pretended(2, 3, 1)));  // never comes
    Attempt zero(book, Options(0, 3));
    cancelled.Set(0, FormatMeshAddress(PublishedBy(book, 0, 3)));
    cancelled.Set(2, FormatMeshAddress(Pretended(2, 3, 1)));
    Attempt one(cancelled, Options(1, 3));
    book.Set(1, FormatMeshAddress(PublishedBy(cancelled, 1, 3)));
    cancelled.Cancel("gone");
    EXPECT_EQ(one.Result().status().code(), absl::StatusCode::kCancelled);
    book.Cancel("gone as well");
    EXPECT_FALSE(zero.Result().ok());
  }
}

TEST(GlooMeshTest, TwentyMeshesLeaveNothingBehind) {
  const auto run = [](int round) {
    AddressBook book;
    Attempt zero(book, Options(0, 3)), two(book, Options(2, 3));
    MeshOrError one = Connect(book, Options(1, 3));
    ASSERT_TRUE(one.ok()) << one.status();
    ASSERT_TRUE(zero.Result().ok() && two.Result().ok());
    if (round % 4 == 1) (*one)->Abort("half way");
    if (round % 4 == 2) {
      std::vector<float> data(100000);
      auto all = (*one)->Group({0, 1, 2}, 0);
      ASSERT_TRUE(all.ok()) << all.status();
      auto work = (*all)->AllReduce(absl::MakeSpan(data));
      one->reset();
      EXPECT_FALSE(work->Wait().ok());
    }
    if (round % 4 == 3) {
      TestSocket silent;
      AddressBook failing;
      failing.Set(0, FormatMeshAddress(Pretended(0, 2, silent.Listen())));
      EXPECT_FALSE(Connect(failing, Options(1, 2, absl::Milliseconds(5))).ok());
    }
  };
  for (int round = 0; round < 4; ++round) run(round);  // what is opened once and kept
  const absl::StatusOr<ProcessStats> before = ReadProcessStats();
  ASSERT_TRUE(before.ok()) << before.status();
  for (int round = 0; round < 20; ++round) run(round);
  const absl::StatusOr<ProcessStats> after = ReadProcessStats();
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->threads, before->threads);
  EXPECT_EQ(after->open_file_descriptors, before->open_file_descriptors);
}

}  // namespace
}  // namespace sdp
