// SPDX-License-Identifier: GPL-2.0-or-later
// How an srun is recorded, and that a shell repeats it word by word.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "slurm_plugin/records/extension.h"
#include "slurm_plugin/slurm/spank/srun_record.h"
#include "tests/support/check.h"
#include "tests/support/directory.h"

using namespace ringrt::slurm;
using namespace ringrt::test;

namespace {

using Words = std::vector<std::string>;

// The arguments of the script's srun, one per line, then the environment.
std::string repeated(const TemporaryDirectory &directory, SrunCall call) {
    const std::string srun = directory.path + "/srun";
    std::ofstream(srun) << "#!/bin/sh\nfor word; do echo \"[$word]\"; done\n"
                           "echo \"A=$A B=$B SLURM_NTASKS=$SLURM_NTASKS mask=$(umask) in=$PWD\"\n";
    ck_assert(chmod(srun.c_str(), 0700) == 0);
    call.arguments.front() = srun;
    const auto script = script_of(call);
    ck_assert(script.has_value());
    std::ofstream(directory.path + "/script") << *script;
    const std::string command = "RINGRT_EXTENSION_TASKS=3 SLURM_NTASKS=own sh " + directory.path +
                                "/script >" + directory.path + "/out";
    ck_assert(std::system(command.c_str()) == 0);
    std::stringstream out;
    out << std::ifstream(directory.path + "/out").rdbuf();
    return out.str();
}

bool has(const Words &words, const std::string &word) {
    return std::ranges::find(words, word) != words.end();
}

}  // namespace

TEST(whether_slurm_ends_a_step_after_its_first_task) {
    const auto wait = [](Words options, Words environment = {}) {
        options.insert(options.begin(), "srun");
        for (const char *word : {"./train", "--wait=9"}) options.emplace_back(word);
        return step_wait({.arguments = options,
                          .program_words = 2,
                          .environment = std::move(environment),
                          .directory = {},
                          .open_files = {}});
    };
    EXPECT_TEXT(wait({}), "");
    EXPECT_TEXT(wait({"-n2", "--wait=60"}), "60");
    EXPECT_TEXT(wait({"--wait", "30", "-l"}), "30");
    EXPECT_TEXT(wait({"-W5"}), "5");
    EXPECT_TEXT(wait({"-W", "6"}), "6");
    EXPECT_TEXT(wait({"--wait-for-switch=1"}), "");
    EXPECT_TEXT(wait({}, {"SLURM_WAIT=61"}), "61");
    EXPECT_TEXT(wait({"--wait=0"}, {"SLURM_WAIT=61"}), "");
    EXPECT_TEXT(wait({"--wait"}), "");
    EXPECT_TEXT(step_wait({}), "");
}

TEST(a_shell_repeats_it_word_by_word) {
    const TemporaryDirectory directory;
    const std::string out = repeated(
        directory,
        {.arguments = {"srun", "-n", "2", "--label", "./a b", "it's", "$HOME `x` \\", "two\nlines"},
         .program_words = 4,
         .environment = {"A=it's $B", "B=1\n2", "SLURM_NTASKS=2", "PATH=/usr/bin:/bin"},
         .directory = directory.path,
         .umask = 027,
         .open_files = 64});
    EXPECT_TEXT(out,
                "[--label]\n[-n]\n[3]\n[--open-mode=append]\n[--kill-on-bad-exit=1]\n[./a "
                "b]\n[it's]\n[$HOME `x` \\]\n"
                "[two\nlines]\nA=it's $B B=1\n2 SLURM_NTASKS=own mask=0027 in=" +
                    directory.path + "\n");
}

// Another user may also write into the job's directory: that user's file is not run as the job's
// owner.
TEST(a_record_of_another_user_is_not_run) {
    if (getuid() != 0) return;  // cannot create one
    const TemporaryDirectory directory;
    const std::string name = directory.path + "/" + ringrt::records::srun_record_name(7);
    std::ofstream(directory.path + "/batch") << ringrt::records::extension_script(7);
    const auto runs = [&] {
        std::remove((directory.path + "/ran").c_str());
        const std::string command =
            "cd " + directory.path + " && sh ./batch 2>/dev/null </dev/null; test -e ran";
        return std::system(command.c_str()) == 0;
    };
    ck_assert(!runs());  // there is none
    std::ofstream(name) << "touch ran\n";
    ck_assert(chmod(name.c_str(), 0600) == 0);
    ck_assert(runs());
    ck_assert(chown(name.c_str(), 65534, 65534) == 0);
    ck_assert(!runs());
    ck_assert(std::rename(name.c_str(), (directory.path + "/own").c_str()) == 0);
    ck_assert(chown((directory.path + "/own").c_str(), 0, 0) == 0);
    ck_assert(symlink("own", name.c_str()) == 0);
    ck_assert(!runs());  // the owner's file, but not the one that the job's srun wrote
    std::remove(name.c_str());
    ck_assert(mkdir(name.c_str(), 0700) == 0 && !runs());
}

TEST(an_extension_has_its_own_size) {
    const Words left = without_size({"-n", "2", "-N1", "--gpus=4", "--ntasks-per-node", "2",
                                     "--cpu-bind=none", "-l", "--gres=gpu:2", "--nodes=1-2"});
    ck_assert(left == (Words{"--cpu-bind=none", "-l"}));
    // Keeps options that only begin alike.
    ck_assert(has(without_size({"--ntasks-per-core=1", "--network=x", "--nice=3"}), "--nice=3"));
    ck_assert(has(without_size({"--ntasks-per-core=1"}), "--ntasks-per-core=1"));
    ck_assert(without_size({"-n"}).empty());
}

TEST(variables_that_slurm_sets_per_job_are_not_passed_on) {
    for (const char *own :
         {"SLURM_JOB_ID=1", "SLURM_GPUS=2", "SLURMD_NODENAME=n1", "CUDA_VISIBLE_DEVICES=0",
          "RINGRT_CHANNEL=x/y", "RINGRT_EXTENDS=7", "RINGRT_STEP_VARIABLES=RANK",
          "SLURM_SPANK_MALLEABLE=1:4", "_=/usr/bin/srun", "no value", "=x", "",
          "SLURM_SPANK__SLURM_SPANK_OPTION_malleable_malleable=1:4"})
        ck_assert_msg(!is_passed_on(own), "%s", own);
    for (const char *users :
         {"HOME=/h", "RINGRT_CHECKPOINT_DIR=c", "RINGRT_SIGNAL=10", "RINGRT_MALLEABLE=1:4",
          "SLURM_CONF=/etc/slurm.conf", "SLURM_ARRAY_TASK_ID=3", "BASH_FUNC_ml%%=() { :; }",
          "SLURM_SPANK__SLURM_SPANK_OPTION_pyxis_container_image=x"})
        ck_assert_msg(is_passed_on(users), "%s", users);
}

TEST(a_call_that_cannot_be_recorded_is_not) {
    SrunCall call{.arguments = {"srun", "x"}, .program_words = 1, .directory = "/"};
    ck_assert(script_of(call).has_value());
    call.program_words = 0;
    ck_assert(!script_of(call));
    call.program_words = 2;  // then there would be no srun
    ck_assert(!script_of(call));
    call.program_words = 1;
    call.environment = {"A=" + std::string(kSrunRecordBytesMax, 'x')};
    ck_assert(!script_of(call));
}

int main() { return ringrt::test::run_all("srun_record"); }
