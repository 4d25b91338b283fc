// SPDX-License-Identifier: BSD-3-Clause
// Accounting of each training as one unit: all runs of its job, and its extension jobs
// (doc/live.md). Slurm's own tools show each of them separately.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringrt::ringstat {

// A row of sacct.
struct AccountedRun {
    uint32_t job = 0;
    std::string task;  // "100_3" for an array task; else empty
    std::string user, account, state;
    double submit_s = 0, start_s = 0, end_s = 0;  // Unix times; 0: not yet
    double elapsed_s = 0;
    int gpus = 0;
    double billing = 0;        // billing TRES, per unit of time
    std::string record, name;  // AdminComment; the name is untrusted
};

// For sacct --format; with Unix times (SLURM_TIME_FORMAT=%s).
inline constexpr char kSacctFields[] =
    "jobidraw,user,account,state,submit,start,end,elapsedraw,alloctres,admincomment,jobid,jobname";
// delimiter: must be unpredictable to users, or a job's name could forge a row. nullopt: not a row.
[[nodiscard]] std::optional<AccountedRun> parse_run(std::string_view line,
                                                    std::string_view delimiter);

struct Training {
    uint32_t job = 0;
    // Oldest first; no runs: the base is not among the rows.
    std::vector<AccountedRun> runs, extensions;

    [[nodiscard]] std::string task() const { return runs.empty() ? "" : runs.back().task; }
    [[nodiscard]] const AccountedRun &last() const {
        return runs.empty() ? extensions.back() : runs.back();
    }
};

// records: AdminComments of jobs that have not ended, which accounting does not have yet. By job.
[[nodiscard]] std::vector<Training> make_trainings(std::vector<AccountedRun> rows,
                                                   const std::map<uint32_t, std::string> &records);

struct Bill {
    double time_s = 0;  // run time of the job
    double gpu_s = 0, billed_s = 0;
    int gpus_min = 0, gpus_max = 0;  // held at once, including extensions; 0: none yet
};
[[nodiscard]] Bill bill_of(const Training &training);

[[nodiscard]] std::string accounting_table(const std::vector<Training> &trainings);
[[nodiscard]] std::string accounting_json(const std::vector<Training> &trainings);

}  // namespace ringrt::ringstat
