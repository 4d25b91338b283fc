// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/acct.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>

#include "slurm_plugin/slurm/cluster/job_listing.h"
#include "tools/ringstat/accounting.h"
#include "tools/ringstat/list.h"
#include "tools/ringstat/output.h"
#include "tools/ringstat/text.h"

namespace ringrt::ringstat {
namespace {

struct Answer {
    std::vector<AccountedRun> rows;
    std::string error;  // empty, or one line: why there are none
};

// Unpredictable to users, so no job's name can forge a row.
std::string new_delimiter() {
    std::random_device random;
    return "|" + std::to_string(random()) + "|" + std::to_string(random()) + "|";
}

std::string joined(const std::vector<std::string> &texts) {
    std::string all;
    for (const std::string &text : texts) all += (all.empty() ? "" : ",") + text;
    return all;
}

// Returns the read end of its standard output; its stderr is this program's. -1: not started
// (errno). The library's Command (base/child_process.h) keeps 64 KiB, and a month of sacct output
// is more.
int start(std::vector<std::string> command, pid_t &pid) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return -1;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
    std::vector<char *> argv;
    for (std::string &word : command) argv.push_back(word.data());
    argv.push_back(nullptr);
    const int rc = ::posix_spawnp(&pid, argv[0], &files, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    ::close(ends[1]);
    if (rc == 0) return ends[0];
    ::close(ends[0]);
    errno = rc;
    return -1;
}

Answer ask_sacct(const std::vector<std::string> &which) {
    const std::string delimiter = new_delimiter();
    std::vector<std::string> command{"sacct",
                                     "--allocations",
                                     "--duplicates",
                                     "--noheader",
                                     "--parsable2",
                                     "--delimiter=" + delimiter,
                                     std::string("--format=") + kSacctFields};
    command.insert(command.end(), which.begin(), which.end());
    ::setenv("SLURM_TIME_FORMAT", "%s", 1);
    pid_t pid = -1;
    const int end = start(command, pid);
    if (end < 0) return {.error = std::string("cannot run sacct: ") + std::strerror(errno)};
    Answer answer;
    std::FILE *file = ::fdopen(end, "r");
    char *line = nullptr;
    std::size_t room = 0;
    for (ssize_t length = 0; (length = ::getline(&line, &room, file)) > 0;) {
        const std::string_view text(line, static_cast<std::size_t>(length));
        auto row = parse_run(text.substr(0, text.find('\n')), delimiter);
        if (row) answer.rows.push_back(std::move(*row));
    }
    std::free(line);
    std::fclose(file);
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    if (status != 0)
        answer.error = "sacct does not answer: accounting may be off, or slurmdbd down";
    return answer;
}

// sacct lists a job's extensions only by their own numbers. So all jobs that its owner has
// submitted since are requested.
Answer ask_rows(const Options &options) {
    std::vector<std::string> which;
    double since_s = options.since_s;
    std::string users = joined(options.filter.users);
    if (!options.filter.jobs.empty() && since_s == 0) {
        std::vector<std::string> ids;
        for (const WantedJob &wanted : options.filter.jobs) ids.push_back(wanted.text());
        Answer first = ask_sacct({"--jobs=" + joined(ids)});
        if (!first.error.empty() || first.rows.empty()) return first;
        since_s = std::ranges::min(first.rows, {}, &AccountedRun::submit_s).submit_s;
        std::vector<std::string> owners;
        for (const AccountedRun &row : first.rows)
            if (std::ranges::count(owners, row.user) == 0) owners.push_back(row.user);
        users = joined(owners);
    }
    if (since_s > 0) which.push_back("--starttime=" + local_time(since_s));
    if (options.until_s > 0) which.push_back("--endtime=" + local_time(options.until_s));
    if (!users.empty()) which.push_back("--user=" + users);
    if (users.empty() && options.all_users) which.emplace_back("--allusers");
    return ask_sacct(which);
}

}  // namespace

int show_accounting(const Options &options) {
    if (const auto status = check_filter(options.filter)) return *status;
    Answer answer = ask_rows(options);
    if (!answer.error.empty()) return fail(kNoAnswer, answer.error);
    // Accounting gets a record when a run ends. If slurmctld is down, those are the only records.
    std::map<uint32_t, std::string> records;
    for (slurm::ListedJob &job : slurm::list_jobs().jobs)
        if (!job.ended && !job.admin_comment.empty()) records[job.id] = job.admin_comment;
    std::vector<Training> trainings = make_trainings(std::move(answer.rows), records);
    const std::vector<WantedJob> &wanted = options.filter.jobs;
    if (!wanted.empty())
        std::erase_if(trainings, [&](const Training &training) {
            return !is_wanted(wanted, training.job, training.task());
        });
    put(options.json ? accounting_json(trainings) : accounting_table(trainings));
    if (!wanted.empty() && trainings.empty())
        return fail(kNoSuchJob, "accounting has none of these malleable jobs");
    return kOk;
}

}  // namespace ringrt::ringstat
