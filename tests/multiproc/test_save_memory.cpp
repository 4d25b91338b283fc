// SPDX-License-Identifier: BSD-3-Clause
// A rank runs out of memory at any of the allocations of a collective call. No rank waits for
// another: the call ends on all ranks long before the timeout, and no checkpoint is half.
#include <atomic>
#include <cstdlib>
#include <new>

#include "libringrt/ringrt.h"
#include "tests/multiproc/comm_ranks.h"

using namespace ringrt::test;

namespace {

constexpr int64_t kNever = -1;
std::atomic<int64_t> allocations_left{kNever};  // of this thread; after these, one fails
thread_local bool counts = false;

bool fails_now() {
    return counts && allocations_left.load() != kNever && allocations_left.fetch_sub(1) == 0;
}

}  // namespace

// Not inlined: gcc would treat free() as the wrong counterpart of new.
[[gnu::noinline]] void *operator new(size_t bytes) {
    void *memory = fails_now() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
[[gnu::noinline]] void operator delete(void *memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, size_t) noexcept { std::free(memory); }

namespace {

enum class Call { save, step, job_step, job_saving, job_saved };
constexpr int kHappened = 20, kNotHappened = 21;
constexpr int kRanks = 3;

// Runs `call` so that its allocation number `at` fails in this rank, if `is_victim`.
template <typename Body>
ringrt_status_t without_memory(bool is_victim, int64_t at, bool &happened, Body &&call) {
    if (is_victim) allocations_left = at;
    counts = is_victim;
    const ringrt_status_t status = call();
    counts = false;
    happened = is_victim && allocations_left.exchange(kNever) < 0;
    return status;
}

// What a rank may see when memory failed at one. An agreed failure of the save is as good.
bool is_ended(ringrt_status_t status, bool happened) {
    return status == RINGRT_OK || status == RINGRT_CHECKPOINT_FAILED ||
           status == (happened ? RINGRT_NO_MEMORY : RINGRT_PEER_LOST);
}

// The rank without memory keeps its connections until the others' calls have ended: they must not
// learn it from a close.
bool wait_for_others(const std::string &directory, int rank) {
    const auto file = [&](int of) { return directory + "/done." + std::to_string(of); };
    std::ofstream(file(rank)) << "";
    for (int of = 0; of < kRanks; ++of)
        for (int tries = 0; !std::ifstream(file(of)); ++tries) {
            if (tries == 6000) return false;
            usleep(5000);
        }
    return true;
}

int result_of(const std::string &directory, int rank, ringrt_status_t status, bool is_victim,
              bool happened, const char *line) {
    if (!wait_for_others(directory, rank)) return 2;
    if (!is_ended(status, happened)) {
        fprintf(stderr, "%s: %s\n", ringrt_status_string(status), line);
        return 100 + static_cast<int>(status);
    }
    return is_victim && happened ? kHappened : kNotHappened;
}

int runtime_rank(const std::string &directory, Call call, int rank, bool is_victim, int64_t at) {
    const std::string saves = directory + "/ckpt";
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    config.rank = rank;
    config.size = kRanks;
    config.checkpoint_dir = saves.c_str();
    ringrt_t *rt = nullptr;
    std::vector<float> w(5000);
    const uint64_t shape[] = {w.size()};
    if (ringrt_init(&rt, &config) || ringrt_register(rt, "w", w.data(), RINGRT_FLOAT32, 1, shape) ||
        ringrt_save(rt, 1))
        return 1;
    bool happened = false;
    if (call == Call::step && rank == 0) raise(SIGURG);
    const ringrt_status_t status = without_memory(is_victim, at, happened, [&] {
        ringrt_action_t action;
        return call == Call::save ? ringrt_save(rt, 2) : ringrt_step(rt, 2, &action);
    });
    const int result =
        result_of(directory, rank, status, is_victim, happened, ringrt_last_error(rt));
    (void)ringrt_finalize(rt);
    return result;
}

int job_rank(const std::string &directory, Call call, int rank, bool is_victim, int64_t at) {
    const std::string meet = directory + "/meet";
    ringrt_comm_config_t config = RINGRT_COMM_CONFIG_INIT;
    config.rank = rank;
    config.size = kRanks;
    config.rendezvous = meet.c_str();
    ringrt_comm_t *comm = nullptr;
    ringrt_job_t *job = nullptr;
    ringrt_action_t action = RINGRT_CONTINUE;
    if (ringrt_comm_create(&comm, &config) || ringrt_job_open(&job, comm, nullptr, nullptr) ||
        ringrt_job_step(job, 1, &action))
        return 1;
    bool happened = false;
    if (rank == 0) raise(SIGURG);
    if (call == Call::job_saved && (ringrt_job_step(job, 2, &action) || action != RINGRT_SAVE))
        return 1;
    const ringrt_status_t status = without_memory(is_victim, at, happened, [&] {
        if (call == Call::job_step) return ringrt_job_step(job, 2, &action);
        if (call == Call::job_saved) return ringrt_job_saved(job, RINGRT_OK, &action);
        return ringrt_job_saving(job, rank == 1 ? RINGRT_SYSTEM_ERROR : RINGRT_OK);
    });
    const int result =
        result_of(directory, rank, status, is_victim, happened, ringrt_job_last_error(job));
    (void)ringrt_job_close(job);
    (void)ringrt_comm_abort(comm);
    (void)ringrt_comm_destroy(comm);
    return result;
}

void try_each_allocation(Call call) {
    for (int victim : {0, 1, 2}) {
        bool happened = true;
        int64_t at = 0;
        for (; happened; ++at) {
            TemporaryDirectory directory;
            Ranks ranks(kRanks, [&](int rank) {
                unsetenv("SLURM_JOB_ID");
                unsetenv("SLURM_STEP_ID");
                const bool is_job = call != Call::save && call != Call::step;
                return (is_job ? job_rank : runtime_rank)(directory.path, call, rank,
                                                          rank == victim, at);
            });
            // The timeout of an operation is ten minutes.
            const std::vector<int> ended = ranks.wait(60 * kTimeoutScale);
            for (int rank = 0; rank < kRanks; ++rank)
                ck_assert_msg(
                    ended[size_t(rank)] == kHappened || ended[size_t(rank)] == kNotHappened,
                    "allocation %d of rank %d: rank %d ended with %d", int(at), victim, rank,
                    ended[size_t(rank)]);
            happened = ended[size_t(victim)] == kHappened;
        }
        ck_assert_int_gt(at, 1);
    }
}

}  // namespace

TEST(a_save_without_memory_ends_on_all_ranks) { try_each_allocation(Call::save); }
TEST(a_step_without_memory_ends_on_all_ranks) { try_each_allocation(Call::step); }
TEST(a_jobs_step_without_memory_ends_on_all_ranks) { try_each_allocation(Call::job_step); }
TEST(a_jobs_saving_without_memory_ends_on_all_ranks) { try_each_allocation(Call::job_saving); }
TEST(a_jobs_saved_without_memory_ends_on_all_ranks) { try_each_allocation(Call::job_saved); }

int main() { return ringrt::test::run_all("save_memory", 300); }
