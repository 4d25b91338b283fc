// SPDX-License-Identifier: BSD-3-Clause
// A program with its own files in the checkpoints (ringrt_set_saver()): real processes, signals and
// directories, and a script in place of Slurm.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/support/alone.h"

using namespace ringrt::test;

namespace {

namespace fs = std::filesystem;

constexpr int kLeft = 0, kEnded = 10;  // exit statuses of a rank; others are 100 + status
constexpr uint64_t kSteps = 300;       // of at least 2 ms each

std::string read(const fs::path &path) {
    std::ifstream in(path);
    std::stringstream out;
    out << in.rdbuf();
    return out.str();
}

bool wait_for(const std::function<bool()> &what) {
    for (int i = 0; i < 4000; ++i, usleep(5000))
        if (what()) return true;
    return false;
}

enum class Fault { none, no_line, with_line, no_file, a_directory, bad_name, load_fails };

struct Options {
    int restart = 0;
    Fault fault = Fault::none;  // at the last rank's saves or loads
    bool with_saver = true;
    uint64_t steps = kSteps;
};

// The program's state is the step. Each rank keeps it in its own file; rank 0's file also holds the
// number of ranks.
struct Program {
    int rank = 0, size = 1;
    Options options;
    uint64_t step = 0;

    bool fails(Fault what) const { return options.fault == what && rank == size - 1; }

    static int save(void *context, const char *directory, uint64_t step, char *error,
                    size_t bytes) {
        auto &me = *static_cast<Program *>(context);
        if (me.fails(Fault::no_line)) return 5;
        if (me.fails(Fault::with_line)) {
            snprintf(error, bytes, "the moon is\nfull");
            return 1;
        }
        if (me.options.fault == Fault::no_file) return 0;
        const std::string at = std::string(directory) + "/";
        if (me.fails(Fault::a_directory)) mkdir((at + "directory").c_str(), 0777);
        if (me.fails(Fault::bad_name)) std::ofstream(at + "two words") << 1;
        std::ofstream(at + "rank-" + std::to_string(me.rank)) << step << " " << me.size;
        return 0;
    }

    static int load(void *context, const char *directory, uint64_t step, char *error,
                    size_t bytes) {
        auto &me = *static_cast<Program *>(context);
        std::ifstream in(std::string(directory) + "/rank-0");
        int was = 0;
        in >> me.step >> was;
        for (int r = 0; in && r < was; ++r)
            if (!fs::exists(std::string(directory) + "/rank-" + std::to_string(r))) return 1;
        if (in && me.step == step && !me.fails(Fault::load_fails)) return 0;
        snprintf(error, bytes, "not mine");
        return 1;
    }
};

class Job {
  public:
    Job() {
        fs::create_directory(path("pids"));
        std::ofstream script(path("scontrol"));
        script << "#!/bin/sh\ncd " << directory_.path << "\necho \"$*\" >>calls\n"
               << "[ $1 != requeue ] || { sleep 0.05; kill -TERM $(ls pids) 2>/dev/null; }\n";
        script.close();
        fs::permissions(path("scontrol"), fs::perms::owner_all);
    }

    std::string path(const std::string &name) const { return directory_.path + "/" + name; }
    std::string log() const { return read(path("log")); }
    std::vector<std::string> checkpoints() const {
        std::vector<std::string> names;
        for (const auto &entry : fs::directory_iterator(path("ckpt")))
            if (entry.path().filename().string().starts_with("step-"))
                names.push_back(entry.path());
        std::ranges::sort(names);
        return names;
    }
    bool nothing_half_written() const {
        for (const auto &entry : fs::directory_iterator(path("ckpt")))
            if (entry.path().filename().string().starts_with(".")) return false;
        return true;
    }

    int train(int rank, int size, const Options &options) const {
        dup2(open(path("log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666), STDERR_FILENO);
        signal(SIGTERM, SIG_DFL);  // not Check's handler, which ends the test
        std::ofstream(path("pids/" + std::to_string(getpid()))) << "";
        for (auto [name, value] : {std::pair<const char *, std::string>{"SLURM_JOB_ID", "7"},
                                   {"SLURM_RESTART_COUNT", std::to_string(options.restart)},
                                   {"RINGRT_SCONTROL", path("scontrol")},
                                   {"RINGRT_CHECKPOINT_DIR", path("ckpt")},
                                   {"RINGRT_TELEMETRY_FILE", path("telemetry")},
                                   {"RINGRT_LEAVE_TIMEOUT_S", "3"}})
            setenv(name, value.c_str(), 1);
        ringrt_config_t config = RINGRT_CONFIG_INIT;
        config.rank = rank, config.size = size, config.timeout_ms = 20000;
        Program program{rank, size, options};
        ringrt_t *rt = nullptr;
        ringrt_status_t status = ringrt_init(&rt, &config);
        ringrt_action_t action = RINGRT_CONTINUE;
        if (status == RINGRT_OK) status = loop(rt, program, action);
        if (status != RINGRT_OK) fprintf(stderr, "rank %d: %s\n", rank, ringrt_last_error(rt));
        ringrt_finalize(rt);
        unlink(path("pids/" + std::to_string(getpid())).c_str());
        if (status != RINGRT_OK) return 100 + static_cast<int>(status);
        return action == RINGRT_LEAVE ? kLeft : kEnded;
    }

  private:
    ringrt_status_t loop(ringrt_t *rt, Program &program, ringrt_action_t &action) const {
        ringrt_status_t status = RINGRT_OK;
        if (program.options.with_saver)
            status = ringrt_set_saver(rt, Program::save, Program::load, &program);
        uint64_t step = 0;
        if (status == RINGRT_OK) status = ringrt_restore(rt, &step);
        if (status == RINGRT_NOT_FOUND) status = RINGRT_OK;
        if (status == RINGRT_OK && program.options.with_saver && program.step != step)
            return RINGRT_UNSUPPORTED;
        while (status == RINGRT_OK && step < program.options.steps && action == RINGRT_CONTINUE) {
            usleep(2000);
            std::ofstream(path("step." + std::to_string(program.rank))) << ++step;
            status = ringrt_step(rt, step, &action);
        }
        return status;
    }

    TemporaryDirectory directory_;
};

std::vector<int> run(const Job &job, int size, const Options &options, int signalled) {
    for (int r = 0; r < 8; ++r) fs::remove(job.path("step." + std::to_string(r)));
    Ranks ranks(size, [&](int rank) { return job.train(rank, size, options); });
    if (signalled >= 0) {
        const std::string last = job.path("step." + std::to_string(signalled));
        wait_for([&] { return !read(last).empty(); });
        ranks.signal(signalled, SIGURG);
    }
    return ranks.wait();
}

void expect_all(const Job &job, const std::vector<int> &got, int expected) {
    for (size_t r = 0; r < got.size(); ++r)
        ck_assert_msg(got[r] == expected, "rank %zu ended with %d, expected %d; log:\n%s", r,
                      got[r], expected, job.log().c_str());
}

void expect_log(const Job &job, const std::string &part) {
    ck_assert_msg(job.log().find(part) != std::string::npos, "no \"%s\" in\n%s", part.c_str(),
                  job.log().c_str());
}

}  // namespace

TEST(the_programs_files_follow_it_through_resizes) {
    const Job job;
    int restart = 0;
    for (int size : {1, 4, 2, 3}) {
        expect_all(job, run(job, size, {.restart = restart++}, size - 1), kLeft);
        ck_assert(job.nothing_half_written());
    }
    expect_all(job, run(job, 2, {.restart = restart}, -1), kEnded);
    expect_log(job, " on 2 GPUs (was 3), load ");
}

TEST(a_save_that_the_program_fails_is_called_off) {
    const std::pair<Fault, const char *> rows[] = {
        {Fault::no_line, "the program could not save: it returned 5 and no error line"},
        {Fault::with_line, "the program could not save: the moon is full"},
        {Fault::no_file, "the program's save wrote no file into "},
        {Fault::a_directory, "/directory is no plain file: the program's save may make files only"},
        {Fault::bad_name, "/two words is no plain file: "},
    };
    for (auto [fault, line] : rows) {
        const Job job;
        expect_all(job, run(job, 2, {.fault = fault}, 0), kEnded);
        expect_log(job, line);
        expect_log(job, "resize called off, training continues with 2 GPUs");
        ck_assert(read(job.path("calls")).find("requeue") == std::string::npos);
        ck_assert_uint_eq(job.checkpoints().size(), 0);
    }
}

TEST(a_damaged_file_of_the_program_is_set_aside_for_an_older_checkpoint) {
    for (const char *damage : {"cut", "changed", "removed"}) {
        const Job job;
        expect_all(job, run(job, 2, {.restart = 0}, 0), kLeft);
        expect_all(job, run(job, 2, {.restart = 1}, 1), kLeft);
        ck_assert_uint_eq(job.checkpoints().size(), 2);
        const fs::path victim = job.checkpoints()[1] + "/rank-1";
        if (damage == std::string("cut")) fs::resize_file(victim, 1);
        if (damage == std::string("changed")) std::ofstream(victim) << "7 7";
        if (damage == std::string("removed")) fs::remove(victim);
        expect_all(job, run(job, 2, {.restart = 2}, -1), kEnded);
        expect_log(job, " incomplete (rank-1: ");
        expect_log(job, "): using step ");
    }
}

TEST(a_load_that_the_program_fails_ends_all_ranks_with_its_line) {
    const Job job;
    expect_all(job, run(job, 2, {}, 0), kLeft);
    expect_all(job, run(job, 3, {.restart = 1, .fault = Fault::load_fails}, -1),
               100 + RINGRT_SYSTEM_ERROR);
    expect_log(job, "rank 0: the program could not load ");
    expect_log(job, ": not mine");
    ck_assert_uint_eq(job.checkpoints().size(), 1);  // the checkpoint is not at fault
    expect_all(job, run(job, 3, {.restart = 2}, -1), kEnded);
}

TEST(a_checkpoint_of_another_kind_of_program_is_refused) {
    const Job with;
    expect_all(with, run(with, 2, {}, 0), kLeft);
    expect_all(with, run(with, 2, {.restart = 1, .with_saver = false}, -1), 100 + RINGRT_MISMATCH);
    expect_log(with, "call ringrt_set_saver() first");
    const Job without;
    expect_all(without, run(without, 2, {.with_saver = false}, 0), kLeft);
    expect_all(without, run(without, 2, {.restart = 1}, -1), 100 + RINGRT_MISMATCH);
    expect_log(without, "holds no files for ringrt_set_saver()'s load");
}

TEST(a_saver_needs_both_functions) {
    const Alone alone;
    Program program;
    expect(alone.rt, ringrt_set_saver(alone.rt, Program::save, nullptr, &program),
           RINGRT_INVALID_ARGUMENT, "save and load are both needed");
    ck_assert_int_eq(ringrt_version(), 1000 * RINGRT_VERSION_MAJOR + RINGRT_VERSION_MINOR);
}

int main() { return run_all("saver"); }
