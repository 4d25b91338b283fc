// SPDX-License-Identifier: BSD-3-Clause
// The exposition for monitoring, read back by the grammar of OpenMetrics 1.0 and of the older text
// format. Python's prometheus_client has accepted both as well.
#include <charconv>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "slurm_plugin/slurm/host/metrics.h"
#include "tests/support/check.h"

using namespace ringrt;
using slurm::Diag;
using slurm::Exposition;

namespace {

struct Family {
    std::string type, help, unit;
    std::map<std::string, double> samples;  // by name and labels
};

std::string text_after(const std::string &line, const std::string &start) {
    return line.substr(start.size());
}

bool is_name(std::string_view name) {
    for (const char c : name)
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
    return !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0]));
}

// {name="value",…}: each label once, and no value that would need escaping.
void check_labels(std::string_view labels) {
    if (labels.empty()) return;
    ck_assert_msg(labels.starts_with('{') && labels.ends_with('}'), "labels %s", labels.data());
    labels = labels.substr(1, labels.size() - 2);
    std::set<std::string> seen;
    while (!labels.empty()) {
        const std::size_t equals = labels.find("=\""), end = labels.find('"', equals + 2);
        ck_assert(equals != labels.npos && end != labels.npos);
        ck_assert(is_name(labels.substr(0, equals)));
        ck_assert(seen.emplace(labels.substr(0, equals)).second);
        ck_assert(labels.substr(equals + 2, end - equals - 2).find_first_of("\\\n") == labels.npos);
        labels.remove_prefix(end + 1);
        if (!labels.empty()) ck_assert(labels[0] == ',' && labels.size() > 1);
        if (!labels.empty()) labels.remove_prefix(1);
    }
}

std::vector<std::string> suffixes_of(const std::string &type, bool open) {
    if (type == "summary") return {"_count", "_sum"};
    if (open && type == "counter") return {"_total"};
    if (open && type == "info") return {"_info"};
    return {""};
}

// All rules that both formats share: metadata before samples, a family in one block, known types,
// the right suffix, no duplicate sample, a number.
class Parser {
  public:
    explicit Parser(bool open) : open_(open) {}

    std::map<std::string, Family> read(const std::string &text) {
        ck_assert_msg(text.ends_with('\n'), "no newline at the end");
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            ck_assert_msg(!ended_ && !line.empty(), "line %s", line.c_str());
            take(line);
        }
        ck_assert(ended_ == open_);
        return families_;
    }

  private:
    void take(const std::string &line) {
        if (line == "# EOF") {
            ended_ = true;
        } else if (line.starts_with("# TYPE ")) {
            std::istringstream words(text_after(line, "# TYPE "));
            std::string type;
            words >> now_ >> type;
            static const std::set<std::string> both{"counter", "gauge", "summary"};
            static const std::set<std::string> only_open{"info", "stateset"};
            ck_assert_msg(both.contains(type) || (open_ && only_open.contains(type)), "type %s",
                          type.c_str());
            ck_assert_msg(is_name(now_) && !families_.contains(now_), "again %s", now_.c_str());
            ck_assert(!open_ || !now_.ends_with("_total"));
            families_[now_].type = type;
        } else if (line.starts_with("# HELP ")) {
            metadata(line, "# HELP ", families_[now_].help);
        } else if (line.starts_with("# UNIT ")) {
            ck_assert(open_);
            metadata(line, "# UNIT ", families_[now_].unit);
            ck_assert(now_.ends_with("_" + families_[now_].unit));
        } else {
            sample(line);
        }
    }

    void metadata(const std::string &line, const std::string &start, std::string &out) {
        ck_assert_msg(line.starts_with(start + now_ + " "), "%s in %s", line.c_str(), now_.c_str());
        ck_assert(out.empty() && families_[now_].samples.empty());
        out = text_after(line, start + now_ + " ");
        ck_assert(!out.empty());
    }

    void sample(const std::string &line) {
        const std::size_t space = line.rfind(' '), brace = std::min(line.find('{'), space);
        const std::string name = line.substr(0, brace), labels = line.substr(brace, space - brace);
        Family &family = families_.at(now_);
        bool right = false;
        for (const std::string &suffix : suffixes_of(family.type, open_))
            right |= name == now_ + suffix;
        ck_assert_msg(right, "%s within %s", line.c_str(), now_.c_str());
        check_labels(labels);
        double value = -1;
        const char *end = line.data() + line.size();
        ck_assert(std::from_chars(line.data() + space + 1, end, value).ptr == end);
        ck_assert(value >= 0);
        ck_assert(family.type != "stateset" || value == 0 || value == 1);
        ck_assert_msg(family.samples.emplace(name + labels, value).second, "twice %s",
                      line.c_str());
    }

    bool open_, ended_ = false;
    std::string now_;
    std::map<std::string, Family> families_;
};

struct Account {
    controller::Options options;
    controller::Statistics statistics;
    slurm::ApiTimes api;
    Diag diag{.time_s = 2000.5,
              .started_s = 1000.25,
              .options = &options,
              .statistics = &statistics,
              .api = &api};
};

std::map<std::string, Family> read_open(const Account &account) {
    return Parser(true).read(to_metrics(account.diag, Exposition::openmetrics));
}

double value_of(const std::map<std::string, Family> &families, const std::string &family,
                const std::string &sample) {
    const auto found = families.find(family);
    ck_assert_msg(found != families.end(), "no family %s", family.c_str());
    const auto value = found->second.samples.find(sample);
    ck_assert_msg(value != found->second.samples.end(), "no sample %s", sample.c_str());
    return value->second;
}

}  // namespace

TEST(an_empty_exposition_is_valid_in_both_formats) {
    const Account account;
    const auto families = read_open(account);
    ck_assert_uint_ge(families.size(), 20);
    for (const auto &[name, family] : families) ck_assert(!family.help.empty());
    // From 0, so that the first increase counts as one.
    ck_assert(value_of(families, "ringrt_resizes_lost", "ringrt_resizes_lost_total") == 0);
    (void)Parser(false).read(to_metrics(account.diag, Exposition::prometheus));
}

TEST(each_count_has_its_name) {
    Account account;
    controller::Statistics &s = account.statistics;
    s.resizes = {.asked = 9, .resized = 5, .called_off = 2, .lost = 1, .refused = 3};
    s.by_reason["best_gain"] = {.asked = 4, .resized = 3};
    s.called_off_why["late"] = 2;
    s.malleable = 7, s.waiting = 3, s.paused = 2, s.pauses = 9, s.gpus_held = 24,
    s.gpus_borrowed = 20;
    s.restarts = 2, s.restart_s = 5.5, s.restart_gpu_s = 44;
    s.breaker_until_s = 3000;
    account.diag.passes.add(250);
    account.diag.refusal = "malleable.yaml:3: unknown key";
    (void)account.api.time(slurm::Call::load_jobs, [] { return 0; });
    const auto f = read_open(account);
    ck_assert(value_of(f, "ringrt_resizes_asked", "ringrt_resizes_asked_total") == 9);
    ck_assert(value_of(f, "ringrt_resizes_refused", "ringrt_resizes_refused_total") == 3);
    ck_assert(value_of(f, "ringrt_resizes_by_reason",
                       "ringrt_resizes_by_reason_total{outcome=\"done\",reason=\"best_gain\"}") ==
              3);
    ck_assert(value_of(f, "ringrt_resizes_called_off_by_cause",
                       "ringrt_resizes_called_off_by_cause_total{cause=\"late\"}") == 2);
    ck_assert(value_of(f, "ringrt_malleable_jobs", "ringrt_malleable_jobs{state=\"running\"}") ==
              4);
    ck_assert(value_of(f, "ringrt_jobs_paused", "ringrt_jobs_paused") == 2);
    ck_assert(value_of(f, "ringrt_pauses", "ringrt_pauses_total") == 9);
    ck_assert(value_of(f, "ringrt_gpus_borrowed", "ringrt_gpus_borrowed") == 20);
    ck_assert(value_of(f, "ringrt_restart_seconds", "ringrt_restart_seconds_sum") == 5.5);
    ck_assert(value_of(f, "ringrt_restart_gpu_seconds", "ringrt_restart_gpu_seconds_total") == 44);
    ck_assert(value_of(f, "ringrt_breaker_open", "ringrt_breaker_open") == 1);
    ck_assert(value_of(f, "ringrt_configuration_refused", "ringrt_configuration_refused") == 1);
    ck_assert(value_of(f, "ringrt_pass_seconds", "ringrt_pass_seconds_sum") == 0.25);
    ck_assert(value_of(f, "ringrt_rpc_seconds", "ringrt_rpc_seconds_count{call=\"load_jobs\"}") ==
              1);
    ck_assert(value_of(f, "ringrt_start_time_seconds", "ringrt_start_time_seconds") == 1000.25);
}

TEST(one_mode_is_active) {
    Account account;
    account.options.mode = controller::Mode::observe;
    const auto families = read_open(account);
    double sum = 0;
    for (const auto &[sample, value] : families.at("ringrt_mode").samples) sum += value;
    ck_assert(sum == 1);
    ck_assert(value_of(families, "ringrt_mode", "ringrt_mode{ringrt_mode=\"observe\"}") == 1);
}

TEST(a_hostile_reason_cannot_break_the_text) {
    Account account;
    account.statistics.by_reason["a\"} 1\nringrt_x{y=\"\\"] = {.asked = 1};
    account.statistics.by_reason[std::string(5000, 'x')] = {.asked = 1};
    account.statistics.called_off_why["\xff\n"] = 1;
    (void)read_open(account);
    (void)Parser(false).read(to_metrics(account.diag, Exposition::prometheus));
}

TEST(an_invalid_number_is_0) {
    Account account;
    account.statistics.restart_s = 1.0 / 0.0 - 1.0 / 0.0;
    account.statistics.restart_gpu_s = 1e300;
    (void)read_open(account);
}

int main() { return ringrt::test::run_all("metrics"); }
