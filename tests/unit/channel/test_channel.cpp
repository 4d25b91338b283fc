// SPDX-License-Identifier: BSD-3-Clause
// The channel between rank 0 and Slurm: both real ends, with mock answers from Slurm.
#include <fcntl.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "libringrt/job/channel.h"
#include "tests/support/channel_service.h"
#include "tests/support/check.h"
#include "tests/support/ranks.h"

using namespace ringrt;
using namespace ringrt::records;
using ringrt::test::ChannelService;

namespace {

channel::SlurmCalls answers(int64_t code, const std::string &words) {
    return {.requeue =
                [=] {
                    return ChannelMessage{ChannelWord::answer, code, words};
                },
            .report = [](const Telemetry &) {}};
}

bool soon(const std::function<bool()> &what) {
    for (int i = 0; i < 4000; ++i, usleep(5000))
        if (what()) return true;
    return false;
}

std::unique_ptr<job::Channel> connected(const ChannelService &service) {
    auto out = job::Channel::open(service.address());
    ck_assert(out != nullptr);
    ck_assert(soon([&] { return out->is_there(); }));
    return out;
}

CommandResult requeue_over(job::Channel &channel) {
    ck_assert(channel.ask_requeue(7));
    std::optional<CommandResult> out;
    ck_assert(soon([&] { return (out = channel.take_answer()).has_value(); }));
    return *out;
}

// Everything that one end sends until the connection ends.
std::string read_all(int fd) {
    std::string out;
    char part[1024];
    for (ssize_t got; (got = recv(fd, part, sizeof part, 0)) > 0;)
        out.append(part, static_cast<size_t>(got));
    return out;
}

}  // namespace

TEST(messages_survive_encoding) {
    for (const ChannelMessage &message :
         {ChannelMessage{ChannelWord::hello, 1, "0123"}, ChannelMessage{ChannelWord::asked, 12, ""},
          ChannelMessage{ChannelWord::answer, 2017, "Invalid job id specified"},
          ChannelMessage{ChannelWord::ended, 1, ""}, ChannelMessage{ChannelWord::requeue, 1200, ""},
          ChannelMessage{ChannelWord::telemetry, 0, "ringrt/1 run=0 gpus=4 step=3"}}) {
        const auto back = parse_channel(format_channel(message));
        ck_assert(back.has_value());
        ck_assert(*back == message);
    }
    EXPECT_TEXT(format_channel({ChannelWord::answer, 1, std::string(600, 'x') + "\n"}),
                "answer 1 " + std::string(kChannelBytesMax - 9, 'x'));
    EXPECT_TEXT(format_channel({ChannelWord::answer, 1, "a\nb\x80"}), "answer 1 a b ");
}

TEST(an_invalid_message_is_refused) {
    for (const std::string &text :
         {std::string(), std::string("asked"), std::string("asked x"), std::string("asked -1"),
          std::string(" asked 1"), std::string("asked 1\n"), std::string("ASKED 1"),
          std::string("asked 99999999999999999999"), std::string("asked 1\0", 8),
          "answer 1 " + std::string(kChannelBytesMax, 'x')})
        ck_assert_msg(!parse_channel(text), "\"%s\" was taken", text.c_str());
}

TEST(an_address_is_a_plain_name_and_a_key) {
    const auto address = parse_channel_address("ringrt-12/0af");
    ck_assert(address.has_value());
    EXPECT_TEXT(address->name, "ringrt-12");
    EXPECT_TEXT(address->key, "0af");
    for (const char *text : {"", "/", "a/", "/a", "a", "a/b/c", "a b/c", "../x", "A/b"})
        ck_assert_msg(!parse_channel_address(text), "\"%s\" was taken", text);
    ck_assert(!parse_channel_address(std::string(65, 'a') + "/b"));
}

TEST(a_signal_to_the_service_reaches_rank_0) {
    const ChannelService service(answers(0, ""));
    const auto rank = connected(service);
    ck_assert_uint_eq(rank->asked() + rank->ended(), 0);
    service.signal(SIGURG);
    ck_assert(soon([&] { return rank->asked() == 1; }));
    service.signal(SIGTERM);
    ck_assert(soon([&] { return rank->ended() == 1; }));
    ck_assert_uint_eq(rank->asked(), 1);
}

// Slurm preempts the job with a GraceTime: it is asked to save and requeue.
TEST(sigterm_of_a_preempted_job_is_a_request_to_leave) {
    channel::SlurmCalls slurm = answers(0, "");
    slurm.is_preempted = [] { return true; };
    const ChannelService service(slurm);
    const auto rank = connected(service);
    service.signal(SIGTERM);
    ck_assert(soon([&] { return rank->asked() == 1; }));
    ck_assert_uint_eq(rank->ended(), 0);
    ck_assert_int_eq(requeue_over(*rank).exit_code, 0);
    service.signal(SIGTERM);  // the SIGTERM of its requeue
    ck_assert(soon([&] { return rank->ended() == 1; }));
    ck_assert_uint_eq(rank->asked(), 1);
}

// A refused requeue does not count: the next SIGTERM may be a preemption's.
TEST(a_job_that_was_refused_its_requeue_can_be_preempted) {
    channel::SlurmCalls slurm = answers(2015, "Access/permission denied");
    slurm.is_preempted = [] { return true; };
    const ChannelService service(slurm);
    const auto rank = connected(service);
    requeue_over(*rank);
    service.signal(SIGTERM);
    ck_assert(soon([&] { return rank->asked() == 1; }));
}

// If Slurm denies a preemption or does not answer, SIGTERM ends the job.
TEST(sigterm_ends_the_job_unless_slurm_preempts_it) {
    for (const char how : {'n', 'c', 'h'}) {
        channel::SlurmCalls slurm = answers(0, "");
        slurm.timeout_s = 0.3;
        slurm.is_preempted = [=] {
            if (how == 'c') _exit(3);
            if (how == 'h') pause();
            return false;
        };
        const ChannelService service(slurm);
        const auto rank = connected(service);
        service.signal(SIGTERM);
        ck_assert(soon([&] { return rank->ended() == 1; }));
        ck_assert_uint_eq(rank->asked(), 0);
    }
}

TEST(a_requeue_returns_slurms_answer) {
    const ChannelService good(answers(0, ""));
    ck_assert_int_eq(requeue_over(*connected(good)).exit_code, 0);
    const ChannelService bad(answers(2015, "Access/permission denied"));
    const auto rank = connected(bad);
    for (int i = 0; i < 3; ++i) {
        const CommandResult got = requeue_over(*rank);
        ck_assert_int_eq(got.exit_code, 1);
        EXPECT_TEXT(got.output, "Access/permission denied");
    }
}

// A call to Slurm that crashes or hangs ends neither the service nor the client that waits for it.
TEST(a_call_that_crashes_or_hangs_gives_no_answer) {
    for (const bool hangs : {false, true}) {
        channel::SlurmCalls slurm = answers(0, "");
        slurm.timeout_s = 0.3;
        slurm.requeue = [=]() -> ChannelMessage {
            if (hangs) pause();
            _exit(3);
        };
        ChannelService service(slurm);
        EXPECT_TEXT(requeue_over(*connected(service)).output, "no answer in time");
        ck_assert_int_eq(service.end(), 0);
    }
}

TEST(telemetry_arrives_while_a_requeue_hangs) {
    const ringrt::test::TemporaryDirectory directory;
    const std::string file = directory.path + "/told";
    channel::SlurmCalls slurm = answers(0, "");
    slurm.requeue = []() -> ChannelMessage {
        pause();
        return {};
    };
    slurm.report = [=](const Telemetry &t) { std::ofstream(file) << t.step; };
    const ChannelService service(slurm);
    const auto rank = connected(service);
    ck_assert(rank->ask_requeue(1));
    ck_assert(rank->send_telemetry({.gpus = 4, .step = 77, .up = true}));
    ck_assert(soon([&] {
        std::string said;
        std::ifstream(file) >> said;
        return said == "77";
    }));
}

// slurmctld is slow, and a newer report arrives meanwhile: the first one continues, and the newest
// follows it.
TEST(a_slow_report_is_not_restarted) {
    const ringrt::test::TemporaryDirectory directory;
    const std::string file = directory.path + "/told";
    channel::SlurmCalls slurm = answers(0, "");
    slurm.report = [=](const Telemetry &t) {
        std::ofstream(file, std::ios::app) << "begun ";
        usleep(500000);
        std::ofstream(file, std::ios::app) << t.step << ' ';
    };
    const ChannelService service(slurm);
    const auto rank = connected(service);
    const auto said = [&] {
        std::ifstream told(file);
        return std::string(std::istreambuf_iterator<char>(told), {});
    };
    ck_assert(rank->send_telemetry({.gpus = 4, .step = 1, .up = true}));
    ck_assert(soon([&] { return !said().empty(); }));
    for (const uint64_t step : {2, 3})
        ck_assert(rank->send_telemetry({.gpus = 4, .step = step, .up = true}));
    ck_assert(soon([&] { return said().ends_with("3 "); }));
    EXPECT_TEXT(said(), "begun 1 begun 3 ");
}

TEST(a_service_that_ends_is_noticed) {
    ChannelService service(answers(0, ""));
    const auto rank = connected(service);
    ck_assert_int_eq(service.end(), 0);
    ck_assert(soon([&] { return !rank->is_there(); }));
    ck_assert(!rank->ask_requeue(1));
    ck_assert(!rank->send_telemetry({.gpus = 1}));
    ck_assert(job::Channel::open(service.address()) == nullptr);
}

// A process that listens under the name of an ended service does not have its key.
TEST(another_key_is_not_accepted) {
    const ChannelService service(answers(0, ""));
    const auto rank = job::Channel::open(service.address("ffff"));
    ck_assert(rank != nullptr);
    ck_assert(soon([&] {
        service.signal(SIGURG);
        return !rank->is_there() && !rank->ask_requeue(1);
    }));
    usleep(50000);
    ck_assert_uint_eq(rank->asked(), 0);
    ck_assert(!rank->is_there());
}

TEST(another_user_gets_no_message) {
    if (getuid() != 0) return;
    const ChannelService service(answers(0, ""));
    const int fd = service.connect_here();  // its credentials are taken at connect()
    ck_assert_int_ge(fd, 0);
    close(fd);
    test::Ranks other(1, [&](int) {
        if (setuid(65534) != 0) return 1;
        const int mine = service.connect_here();
        return mine >= 0 && read_all(mine).empty() ? 0 : 2;
    });
    ck_assert_int_eq(other.wait()[0], 0);
    ck_assert_int_eq(requeue_over(*connected(service)).exit_code, 0);  // the service continues
}

// Whatever its owner sends, the service drops only that connection and serves the next.
TEST(noise_ends_only_its_connection) {
    std::mt19937 random(1);
    ChannelService service(answers(0, ""));
    for (int i = 0; i < 300; ++i) {
        const int fd = service.connect_here();
        ck_assert_int_ge(fd, 0);
        std::string noise(random() % 2000, '\0');
        for (char &c : noise) c = static_cast<char>(random());
        if (i % 3 == 0) noise = "telemetry 0 ringrt/1 run=" + noise;
        (void)!send(fd, noise.data(), noise.size(), MSG_NOSIGNAL);
        if (i % 2 == 0) (void)!read_all(fd).size();
        close(fd);
    }
    ck_assert_int_eq(requeue_over(*connected(service)).exit_code, 0);
    ck_assert_int_eq(service.end(), 0);
}

// A client cannot block the service by not reading, or by opening more connections than it accepts.
TEST(a_client_that_does_not_read_is_dropped) {
    ChannelService service(answers(0, ""));
    std::vector<int> deaf;
    for (int i = 0; i < 20; ++i) deaf.push_back(service.connect_here());
    for (int i = 0; i < 20; ++i)
        for (int k = 0; k < 100; ++k)
            (void)!send(deaf[size_t(i)], "requeue 1", 9, MSG_DONTWAIT | MSG_NOSIGNAL);
    for (int i = 0; i < 2000; ++i) service.signal(SIGURG);
    ck_assert_int_eq(requeue_over(*connected(service)).exit_code, 0);
    for (int fd : deaf) close(fd);
    ck_assert_int_eq(service.end(), 0);
}

int main() { return test::run_all("channel"); }
