// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringplan/paper.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/ringplan/comparison.h"
#include "tools/ringplan/models.h"
#include "tools/ringplan/text.h"
#include "tools/ringplan/utilisation.h"

namespace ringrt::ringplan {

using namespace bucketing;

namespace {

constexpr double kAlphaUs = 50, kGbps = 3;
constexpr int kWorkers = 4, kBatch = 16;
constexpr size_t kP3 = 2, kByteScheduler = 3, kTuned = 4, kProphet = 5, kOurs = 6;
constexpr size_t kParts = 10;

constexpr const char *kHead =
    "Iteration times in ms of one model. The paper's own figures are not reproduced here: of them "
    "only\n"
    "\"up to 40 % faster than state-of-the-art priority scheduling\" is in a source (its "
    "abstract).\n"
    "From sources: ResNet-50's 12 stages and their times at batch 64 (the authors' code), "
    "partitions of\n"
    "4,096,000 bytes (BytePS), ByteScheduler's 4 MB and 16 MB. Recalled, not checked: the models, "
    "batches\n"
    "of 16 to 64, 1 to 10 Gb/s, 2 to 8 workers, P3's slices of 50,000 elements. Assumed here: a "
    "latency of 50 us,\n"
    "a forward pass of half a backward pass, other models' times by their operations at "
    "ResNet-50's speed.\n"
    "priority is P3 and ByteScheduler tuned for each point at no cost. Servers are never the "
    "bottleneck;\n"
    "one slow worker limits all, on a ring and at servers that wait for all workers.\n";

std::vector<const Rule *> rules() {
    std::vector<const Rule *> out;
    for (const std::string &name : paper_rules()) out.push_back(find_rule(name));
    return out;
}

class Axes {
  public:
    Axes(bool servers, Paper &out) : servers_(servers), out_(out) {}

    void run(const std::vector<Profile> &more) {
        const std::string at = ", 4 workers, 3 Gb/s";
        for (const Model &model : models()) {
            for (int batch : {16, 32, 64}) {
                const Profile profile = model.profile(batch);
                add("models" + at, profile.name, profile, kGbps, kWorkers);
            }
        }
        for (const Profile &profile : more)
            add("models" + at, profile.name, profile, kGbps, kWorkers);
        const Profile resnet = stepwise_resnet50(kBatch);
        const std::string of = " of " + resnet.name;
        for (double gbps : {1.0, 2.0, 3.0, 5.0, 10.0})
            add("bandwidths" + of, rate(gbps), resnet, gbps, kWorkers);
        for (int workers : {2, 4, 8})
            add("workers" + of + ", 3 Gb/s", std::to_string(workers) + " workers", resnet, kGbps,
                workers);
        for (double slow : {0.5, 1.0, 3.0})
            add("one slow worker" + of, "3 at 10 Gb/s, one at " + rate(slow), resnet, slow,
                kWorkers);
    }

  private:
    static std::string rate(double gbps) { return decimals(gbps, gbps < 1 ? 1 : 0) + " Gb/s"; }

    void add(const std::string &axis, const std::string &point, const Profile &profile, double gbps,
             int workers) {
        const Network network{gbps, kAlphaUs, workers, servers_};
        PaperRow row{axis, point, network, {}};
        for (const Outcome &outcome : compare(profile, network, rules()).outcomes)
            row.iteration_us.push_back(outcome.timeline.iteration_us);
        out_.rows.push_back(std::move(row));
    }

    bool servers_;
    Paper &out_;
};

std::string percents(const std::vector<double> &shares) {
    std::string out;
    for (double share : shares) out += padded(decimals(100 * share, 0), 5);
    return out;
}

std::string utilisation_text() {
    const Profile profile = stepwise_resnet50(kBatch);
    const Comparison comparison = compare(profile, {kGbps, kAlphaUs, kWorkers}, rules());
    std::string out =
        "\nring: busy in each tenth of the iteration, %, " + profile.name + ", 4 workers, 3 Gb/s\n";
    for (const Outcome &outcome : comparison.outcomes) {
        const Utilisation use = utilisation_of(profile, outcome.timeline, kParts);
        out += padded(std::string(outcome.rule), -14) + "compute " + percents(use.compute) +
               "   link " + percents(use.link) + '\n';
    }
    return out;
}

// How many % more iterations per second than under the rule `other`.
double gain(const PaperRow &row, size_t rule, size_t other) {
    return 100 * (row.iteration_us[other] / row.iteration_us[rule] - 1);
}

std::string column(size_t rule, std::string text) {
    return padded(std::move(text), std::max(8, static_cast<int>(paper_rules()[rule].size()) + 2));
}

std::string cell(double percent) { return padded(decimals(percent, 0), 6); }

std::string row_text(const PaperRow &row) {
    std::string out = padded(row.point, -30);
    for (size_t i = 0; i < row.iteration_us.size(); ++i)
        out += column(i, decimals(row.iteration_us[i] / 1e3, 0));
    return out + " |" + cell(gain(row, kProphet, kP3)) + cell(gain(row, kProphet, kByteScheduler)) +
           cell(gain(row, kProphet, kTuned)) + cell(gain(row, kOurs, kTuned)) + '\n';
}

std::string table_head(const PaperRow &row) {
    std::string out = row.network.servers ? "\nservers: " : "\nring: ";
    out += row.axis + "; right: % faster, prophet than p3, bytescheduler, priority; predictive " +
           "than priority\n" + std::string(30, ' ');
    for (size_t i = 0; i < paper_rules().size(); ++i) out += column(i, paper_rules()[i]);
    return out + " |" + padded("P/p3", 6) + padded("P/bs", 6) + padded("P/pri", 6) +
           padded("o/pri", 6) + '\n';
}

std::string range(const Paper &paper, bool servers, size_t rule, size_t other) {
    double least = 1e9, most = -1e9;
    for (const PaperRow &row : paper.rows) {
        if (row.network.servers != servers) continue;
        least = std::min(least, gain(row, rule, other));
        most = std::max(most, gain(row, rule, other));
    }
    return decimals(least, 1) + " to " + decimals(most, 1) + " %";
}

}  // namespace

const std::vector<std::string> &paper_rules() {
    static const std::vector<std::string> names = {
        "fifo", "tictac", "p3", "bytescheduler", "priority", "prophet", "predictive"};
    return names;
}

Paper paper(const std::vector<Profile> &more) {
    Paper out;
    for (bool servers : {true, false}) Axes(servers, out).run(more);
    out.utilisation = utilisation_text();
    return out;
}

std::string paper_text(const Paper &paper) {
    std::string out = kHead;
    const PaperRow *before = nullptr;
    for (const PaperRow &row : paper.rows) {
        if (!before || before->axis != row.axis || before->network.servers != row.network.servers)
            out += table_head(row);
        before = &row;
        out += row_text(row);
    }
    out += paper.utilisation + '\n';
    for (bool servers : {true, false}) {
        out += std::string(servers ? "servers" : "ring") + ": prophet is faster than p3 by " +
               range(paper, servers, kProphet, kP3) + ", than bytescheduler by " +
               range(paper, servers, kProphet, kByteScheduler) + ", than both tuned by " +
               range(paper, servers, kProphet, kTuned) + ";\n  predictive than both tuned by " +
               range(paper, servers, kOurs, kTuned) + ", than prophet by " +
               range(paper, servers, kOurs, kProphet) + '\n';
    }
    return out;
}

std::string paper_json(const Paper &paper) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const PaperRow &row : paper.rows) {
        nlohmann::ordered_json times;
        for (size_t i = 0; i < row.iteration_us.size(); ++i)
            times[paper_rules()[i]] = row.iteration_us[i] / 1e3;
        out.push_back({{"network", row.network.servers ? "servers" : "ring"},
                       {"axis", row.axis},
                       {"point", row.point},
                       {"gbps", row.network.gbps},
                       {"ranks", row.network.ranks},
                       {"iteration_ms", times}});
    }
    return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace ringrt::ringplan
