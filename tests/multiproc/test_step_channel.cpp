// SPDX-License-Identifier: BSD-3-Clause
// Resizes over the channel, as the ranks see them: no signal reaches them, and there is no
// scontrol.
#include "tests/support/channel_service.h"
#include "tests/support/step_job.h"

using namespace ringrt::test;
using namespace ringrt::records;
namespace channel = ringrt::channel;

namespace {

// The SPANK plugin's service plays Slurm's part.
channel::SlurmCalls slurm_says(const Job &job, int64_t code, const std::string &words) {
    return {
        .requeue =
            [&job, code, words] {
                (void)!system(("echo channel >>" + job.path("calls")).c_str());
                return ChannelMessage{ChannelWord::answer, code, words};
            },
        .report = [&job](const Telemetry &t) { replace(job.path("told"), format_telemetry(t)); }};
}

Job::Options over(const ChannelService &service) {
    Job::Options options;
    // The test may be slow to answer for Slurm, so nothing may be called off or retried meanwhile.
    options.environment = {{"RINGRT_CHANNEL", service.address()},
                           {"RINGRT_LEAVE_TIMEOUT_S", "60"},
                           {"RINGRT_REQUEUE_AGAIN_S", "60"}};
    return options;
}

}  // namespace

TEST(a_resize_needs_only_the_channel) {
    Job job(kAccept);
    fs::remove(job.path("scontrol"));
    const ChannelService service(slurm_says(job, 0, ""));
    Ranks ranks = start(job, 3, over(service));
    expect_training(job, ranks, 3);
    service.signal(SIGURG);
    ck_assert(Job::wait_for([&] { return count(job.calls(), "channel\n") == 1; }));
    service.signal(SIGTERM);
    expect_all(ranks.wait(), kLeft, job);
    const std::string step = std::to_string(job.latest_step());
    for (int r = 0; r < 3; ++r) EXPECT_TEXT(job.steps(r), step);
    expect_log(job, "ringrt: job 7: signalled to save at step " + step + ": saved in ");
    ck_assert(Job::wait_for([&] {  // the service may still be busy with it
        const auto told = parse_telemetry(read(job.path("told")));
        return told && told->up && told->gpus == 3;
    }));
}

// Slurm preempts the job: all ranks get SIGTERM, and time to save.
TEST(a_preempted_job_saves_and_is_requeued) {
    Job job(kAccept);
    fs::remove(job.path("scontrol"));
    channel::SlurmCalls slurm = slurm_says(job, 0, "");
    slurm.is_preempted = [] { return true; };
    const ChannelService service(slurm);
    Ranks ranks = start(job, 3, over(service));
    expect_training(job, ranks, 3);
    for (int r = 0; r < 3; ++r) ranks.signal(r, SIGTERM);
    service.signal(SIGTERM);
    ck_assert(Job::wait_for([&] { return count(job.calls(), "channel\n") == 1; }));
    service.signal(SIGTERM);
    expect_all(ranks.wait(), kLeft, job);
    const std::string step = std::to_string(job.latest_step());
    for (int r = 0; r < 3; ++r) EXPECT_TEXT(job.steps(r), step);
    expect_log(job, "ringrt: job 7: signalled to save at step " + step + ": saved in ");
}

// The preemption comes while the job saves for a resize: it is still requeued.
TEST(a_job_preempted_during_its_save_is_requeued) {
    Job job(kAccept);
    fs::remove(job.path("scontrol"));
    channel::SlurmCalls slurm = slurm_says(job, 0, "");
    slurm.is_preempted = [] { return true; };
    const ChannelService service(slurm);
    Job::Options options = over(service);
    options.floats = 32 << 20;
    Ranks ranks = start(job, 2, options);
    expect_training(job, ranks, 2);
    service.signal(SIGURG);
    ck_assert(Job::wait_for([&] {
        for (auto &entry : fs::directory_iterator(job.path("ckpt"))) {
            const std::string name = entry.path().filename();
            if (name.starts_with(".tmp-") || name.starts_with("step-")) return true;
        }
        return false;
    }));
    for (int r = 0; r < 2; ++r) ranks.signal(r, SIGTERM);
    service.signal(SIGTERM);
    ck_assert(Job::wait_for([&] { return count(job.calls(), "channel\n") == 1; }));
    service.signal(SIGTERM);
    expect_all(ranks.wait(), kLeft, job);
    EXPECT_TEXT(job.steps(0), std::to_string(job.latest_step()));
}

// The preemption's SIGTERM reaches a rank on a slow node while the others already leave. The job is
// not requeued yet, and would have ended permanently.
TEST(no_rank_leaves_before_the_requeue_of_a_preempted_job) {
    Job job(kAccept);
    fs::remove(job.path("scontrol"));
    channel::SlurmCalls slurm = slurm_says(job, 0, "");
    slurm.is_preempted = [] { return true; };
    slurm.requeue = [&job, says = slurm.requeue] {
        std::ofstream(job.path("begun")) << "requeue";
        usleep(500000);
        return says();
    };
    const ChannelService service(slurm);
    Ranks ranks = start(job, 3, over(service));
    expect_training(job, ranks, 3);
    for (int r = 0; r < 2; ++r) ranks.signal(r, SIGTERM);
    service.signal(SIGTERM);
    ck_assert(Job::wait_for([&] { return fs::exists(job.path("begun")); }));
    ranks.signal(2, SIGTERM);
    expect_all(ranks.wait(), kLeft, job);
    ck_assert_uint_eq(count(job.calls(), "channel\n"), 1);
}

// For example scancel --signal=TERM: the ranks end at their next step, as if the signal were not
// caught.
TEST(sigterm_without_a_preemption_ends_the_ranks) {
    Job job(kAccept);
    channel::SlurmCalls slurm = slurm_says(job, 0, "");
    slurm.is_preempted = [] { return false; };
    const ChannelService service(slurm);
    Ranks ranks = start(job, 3, over(service));
    expect_training(job, ranks, 3);
    for (int r = 0; r < 3; ++r) ranks.signal(r, SIGTERM);
    service.signal(SIGTERM);
    expect_all(ranks.wait(), 1000 + SIGTERM, job);
    expect_log(job, "ringrt: job 7: ended by SIGTERM after step ");
    ck_assert_uint_eq(count(job.calls(), "channel\n") + count(job.calls(), "requeue"), 0);
}

TEST(a_requeue_that_is_refused_over_the_channel_is_called_off) {
    Job job(kAccept);
    fs::remove(job.path("scontrol"));
    const ChannelService service(slurm_says(job, 2, "Requested operation is presently disabled"));
    Ranks ranks = start(job, 2, over(service));
    expect_training(job, ranks, 2);
    service.signal(SIGURG);
    expect_goes_on(ranks, job,
                   "Slurm refused the requeue (Requested operation is presently disabled)");
    ck_assert_uint_eq(count(job.calls(), "channel\n"), 1);
}

TEST(scontrol_is_used_if_the_channel_is_lost) {
    for (const bool at_once : {true, false}) {
        Job job(kAccept);
        ChannelService service(slurm_says(job, 0, ""));
        if (at_once) service.end();
        Ranks ranks = start(job, 2, over(service));
        expect_training(job, ranks, 2);
        if (!at_once) service.signal(SIGKILL);  // the ranks hold its lifeline as well
        usleep(50000);
        ranks.signal(1, SIGURG);
        expect_left(ranks, 2, job);
        expect_log(job, "no channel to Slurm at ringrt-test-", at_once ? 1 : 0);
    }
}

int main() { return run_all("step_channel"); }
