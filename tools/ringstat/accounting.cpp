// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/accounting.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "slurm_plugin/records/extension.h"
#include "slurm_plugin/records/intent.h"
#include "tools/ringstat/job_name.h"
#include "tools/ringstat/text.h"

namespace ringrt::ringstat {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kFields = 12;

// 0: no number, such as "Unknown".
double number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc{} && end == text.data() + text.size();
    return whole && std::isfinite(value) && value > 0 ? value : 0;
}

// For example in "billing=20,cpu=2,gres/gpu:a100=2,gres/gpu=2".
double count_in(std::string_view tres, std::string_view name) {
    while (!tres.empty()) {
        const std::string_view item = tres.substr(0, tres.find(','));
        tres.remove_prefix(std::min(tres.size(), item.size() + 1));
        const std::size_t equals = item.find('=');
        if (item.substr(0, equals) == name && equals != std::string_view::npos)
            return number(item.substr(equals + 1));
    }
    return 0;
}

bool is_older(const AccountedRun &a, const AccountedRun &b) {
    const auto key = [](const AccountedRun &run) {
        return std::tuple(run.start_s > 0 ? run.start_s : 1e18, run.submit_s, run.job);
    };
    return key(a) < key(b);
}

// The GPUs held at once. A run's last second may be the first of the next run.
void add_range(const Training &training, Bill &bill) {
    std::vector<std::pair<double, int>> changes;
    for (const auto *list : {&training.runs, &training.extensions})
        for (const AccountedRun &run : *list) {
            if (run.start_s <= 0 || run.elapsed_s <= 0) continue;
            changes.emplace_back(run.start_s, run.gpus);
            changes.emplace_back(run.start_s + run.elapsed_s, -run.gpus);
        }
    std::ranges::sort(changes);
    int held = 0;
    for (std::size_t i = 0; i < changes.size(); ++i) {
        held += changes[i].second;
        const bool lasts = i + 1 < changes.size() && changes[i + 1].first > changes[i].first;
        if (!lasts || held == 0) continue;
        bill.gpus_min = bill.gpus_min == 0 ? held : std::min(bill.gpus_min, held);
        bill.gpus_max = std::max(bill.gpus_max, held);
    }
}

std::string hours(double seconds) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.2f", seconds / 3600);
    return text.data();
}

std::string counted(std::size_t count, const char *what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string line_of(const std::array<std::string, 9> &cells) {
    constexpr std::array<int, 9> kWidths{8, 9, 8, 9, 5, 6, 10, 8, 8};
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const bool right = i == 0 || i > 3;
        const auto width = static_cast<std::size_t>(kWidths[i]);
        line += i == 0 ? name_cell(cells[i], width) : " " + fit(cells[i], width, right);
    }
    return line + "\n";
}

std::string sizes_of(const Bill &bill) {
    if (bill.gpus_max == 0) return "-";
    const std::string most = std::to_string(bill.gpus_max);
    return bill.gpus_min == bill.gpus_max ? most : std::to_string(bill.gpus_min) + "-" + most;
}

std::string name_of(const Training &training) {
    if (!training.runs.empty()) return training.runs.back().name;
    const std::string &name = training.extensions.back().name;  // the base's name and "+1"
    return name.substr(0, name.rfind('+'));
}

// From Slurm 24.11 on, a run has one more row, RESIZING, for the second before it is billed at its
// size.
std::size_t runs_of(const Training &training) {
    return static_cast<std::size_t>(std::ranges::count_if(
        training.runs, [](const auto &run) { return run.start_s > 0 && run.state != "RESIZING"; }));
}

std::string line_of(const Training &training, const Bill &bill) {
    std::string runs = std::to_string(runs_of(training));
    if (!training.extensions.empty()) runs += "+" + std::to_string(training.extensions.size());
    const std::string state = training.runs.empty() ? "-" : training.runs.back().state;
    return line_of({shown_name(training.job, printable(training.task())),
                    printable(name_of(training)), printable(training.last().user), state, runs,
                    sizes_of(bill), duration(bill.time_s), hours(bill.gpu_s),
                    hours(bill.billed_s)});
}

Json json_of(const AccountedRun &run) {
    return {{"job", run.job},       {"state", run.state},    {"submit", run.submit_s},
            {"start", run.start_s}, {"end", run.end_s},      {"elapsed_s", run.elapsed_s},
            {"gpus", run.gpus},     {"billing", run.billing}};
}

}  // namespace

std::optional<AccountedRun> parse_run(std::string_view line, std::string_view delimiter) {
    std::array<std::string_view, kFields> field;
    for (std::size_t i = 0; i < kFields; ++i) {
        const std::size_t end = line.find(delimiter);
        if ((end == std::string_view::npos) != (i + 1 == kFields)) return std::nullopt;
        field[i] = line.substr(0, end);
        line.remove_prefix(i + 1 == kFields ? line.size() : end + delimiter.size());
    }
    const double job = number(field[0]);
    if (job < 1 || job > UINT32_MAX || job != std::floor(job)) return std::nullopt;
    return AccountedRun{
        .job = static_cast<uint32_t>(job),
        .task = std::string(field[10].find('_') == std::string_view::npos ? std::string_view()
                                                                          : field[10]),
        .user = std::string(field[1]),
        .account = std::string(field[2]),
        .state = std::string(field[3].substr(0, field[3].find(' '))),
        .submit_s = number(field[4]),
        .start_s = number(field[5]),
        .end_s = number(field[6]),
        .elapsed_s = number(field[7]),
        .gpus = static_cast<int>(std::min(1e9, count_in(field[8], "gres/gpu"))),
        .billing = count_in(field[8], "billing"),
        .record = std::string(field[9]),
        .name = std::string(field[11])};
}

std::vector<Training> make_trainings(std::vector<AccountedRun> rows,
                                     const std::map<uint32_t, std::string> &records) {
    std::ranges::sort(rows, is_older);
    // If a job has run before, its pending row has no record yet.
    std::map<uint32_t, std::string> known = records;
    for (const AccountedRun &row : rows)
        if (!row.record.empty()) known[row.job] = row.record;
    std::map<uint32_t, Training> by_job;
    for (AccountedRun &row : rows) {
        const auto record = known.find(row.job);
        if (record == known.end()) continue;
        const auto extension = records::parse_extension(record->second);
        if (!extension && !records::parse_intent(record->second)) continue;
        Training &training = by_job[extension ? extension->base : row.job];
        training.job = extension ? extension->base : row.job;
        (extension ? training.extensions : training.runs).push_back(std::move(row));
    }
    std::vector<Training> trainings;
    for (auto &[job, training] : by_job) trainings.push_back(std::move(training));
    return trainings;
}

Bill bill_of(const Training &training) {
    Bill bill;
    for (const AccountedRun &run : training.runs) bill.time_s += run.elapsed_s;
    for (const auto *list : {&training.runs, &training.extensions})
        for (const AccountedRun &run : *list) {
            bill.gpu_s += run.gpus * run.elapsed_s;
            bill.billed_s += run.billing * run.elapsed_s;
        }
    add_range(training, bill);
    return bill;
}

std::string accounting_table(const std::vector<Training> &trainings) {
    std::string text =
        line_of({"JOBID", "NAME", "USER", "STATE", "RUNS", "GPUS", "TIME", "GPU_H", "BILLED"});
    std::size_t runs = 0, extensions = 0;
    Bill sum;
    for (const Training &training : trainings) {
        const Bill bill = bill_of(training);
        text += line_of(training, bill);
        runs += runs_of(training);
        extensions += training.extensions.size();
        sum.gpu_s += bill.gpu_s;
        sum.billed_s += bill.billed_s;
    }
    return text + counted(trainings.size(), "training") + ", " + counted(runs, "run") + ", " +
           counted(extensions, "extension") + ": " + hours(sum.gpu_s) + " GPU hours, " +
           hours(sum.billed_s) + " billed\n";
}

std::string accounting_json(const std::vector<Training> &trainings) {
    Json list = Json::array();
    for (const Training &training : trainings) {
        const Bill bill = bill_of(training);
        Json one{{"job", training.job},
                 {"array_task", training.task().empty() ? Json(nullptr) : Json(training.task())},
                 {"name", printable(name_of(training))},
                 {"user", training.last().user},
                 {"account", training.last().account},
                 {"state", training.runs.empty() ? "" : training.runs.back().state},
                 {"time_s", bill.time_s},
                 {"gpu_s", bill.gpu_s},
                 {"billed_s", bill.billed_s},
                 {"gpus_min", bill.gpus_min},
                 {"gpus_max", bill.gpus_max},
                 {"runs", Json::array()},
                 {"extensions", Json::array()}};
        for (const AccountedRun &run : training.runs) one["runs"].push_back(json_of(run));
        for (const AccountedRun &run : training.extensions)
            one["extensions"].push_back(json_of(run));
        list.push_back(std::move(one));
    }
    return Json{{"trainings", std::move(list)}}.dump(2, ' ', false,
                                                     Json::error_handler_t::replace) +
           "\n";
}

}  // namespace ringrt::ringstat
