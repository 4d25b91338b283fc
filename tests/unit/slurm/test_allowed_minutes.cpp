// SPDX-License-Identifier: GPL-2.0-or-later
// GrpTRESMins with AccountingStorageEnforce=safe: a job starts only if the minutes of its whole
// time limit are left. One that leaves for a larger size than these allow would be pending.
#include "tests/unit/slurm/limited_site.h"

using namespace ringrt::controller;
using namespace ringrt::slurm;
using namespace ringrt::test;

namespace {

constexpr double kHour_s = 3600;

JobRecord waiting_for_an_hour() {
    JobRecord job = waiting_job();
    job.time_limit_s = 3600;
    return job;
}

// With GPUs since `ago_s`, of a limit of an hour.
JobRecord running_since(int gpus, double ago_s) {
    JobRecord job = running_job(gpus);
    job.time_limit_s = 3600;
    job.start_s = 10000;
    job.slurmctld_s = job.start_s + ago_s;
    return job;
}

}  // namespace

TEST(a_pending_job_gets_the_gpus_for_which_minutes_are_left) {
    for (const auto mins : {&Site::account_mins, &Site::parent_mins, &Site::qos_mins}) {
        Site site;
        site.*mins = limit(gpu, 200);
        ck_assert(site.allow(waiting_for_an_hour()) ==
                  std::nullopt);  // not safe: it only ends then
        site.is_safe = true;
        ck_assert(site.allow(waiting_for_an_hour()) == 3);
        ck_assert(site.allow(waiting_job()) == std::nullopt);  // its time limit is not known
        site.used_s[gpu] = 30 * 60;
        site.running_s[gpu] = 60 * 60;  // others may use these
        ck_assert(site.allow(waiting_for_an_hour()) == 1);
        site.running_s[gpu] = 120 * 60;
        ck_assert(site.allow(waiting_for_an_hour()) == 0);
    }
}

TEST(a_running_job_gets_the_gpus_for_its_remaining_time) {
    Site site;
    site.is_safe = true;
    site.account_mins = limit(gpu, 120);
    // Two GPUs for an hour: exactly what is left. slurmctld notes their use every few minutes.
    for (const double noted_s : {0.0, 600.0})
        for (const double ago_s : {600.0, 1790.0, 1800.0}) {
            if (ago_s < noted_s) continue;
            site.used_s[gpu] = 2 * noted_s;
            site.running_s[gpu] = static_cast<uint64_t>(2 * (kHour_s - noted_s));
            ck_assert(site.allow(running_since(2, ago_s)) == 2);
        }
    site.account_mins = limit(gpu, 180);
    site.used_s[gpu] = 2 * 1800;
    site.running_s[gpu] = 2 * 1800;
    ck_assert(site.allow(running_since(2, 1800)) == 4);  // 60 are used, and 4 x 30 are left
}

TEST(minutes_of_the_qos_replace_the_accounts) {
    Site site;
    site.is_safe = true;
    site.account_mins = limit(gpu, 60);
    site.qos_mins = limit(gpu, 240);
    ck_assert(site.allow(waiting_for_an_hour()) == 4);
    site.qos_mins = limit(cpu, 6000);
    ck_assert(site.allow(waiting_for_an_hour()) == 1);
}

int main() { return ringrt::test::run_all("allowed_minutes"); }
