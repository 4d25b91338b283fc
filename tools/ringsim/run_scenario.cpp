// SPDX-License-Identifier: BSD-3-Clause
// `ringsim run`: a scenario under its policies, or through the plugin's own controller.
#include <cstdio>

#include "sim/slurm/plugin_run.h"
#include "sim/slurm/scenario.h"
#include "sim/slurm/sim_cluster.h"
#include "sim/workload/csv.h"
#include "slurm_plugin/controller/controller.h"
#include "tools/ringsim/commands.h"
#include "tools/ringsim/report.h"

namespace ringrt::sim {
namespace {

// The plugin's event log, with the scenario's clock.
class EventLog final : public controller::EventSink {
  public:
    void write(const controller::Event &event) override {
        controller::Event at = event;
        at.time_s -= SimCluster::kStart_s;
        text_ += controller::to_json(at) + "\n";
    }
    [[nodiscard]] const std::string &text() const { return text_; }

  private:
    std::string text_;
};

int run_controller(const Scenario &scenario, const RunArguments &a) {
    SimCluster cluster(scenario.site());
    EventLog log;
    controller::Controller controller(cluster, log, scenario.controller);
    if (!drive(cluster, controller)) throw InputError(a.scenario + ": some job never ends");
    if (a.events_path.empty() || a.events_path == "-")
        std::fputs(log.text().c_str(), stdout);
    else
        write_file(a.events_path, log.text());
    const RunResult run = cluster.result();
    if (!a.report.csv_path.empty())
        write_file(a.report.csv_path, jobs_csv_header() + jobs_csv(scenario.workload, run));
    return 0;
}

}  // namespace

int run_scenario(const RunArguments &a) {
    Scenario scenario = read_scenario(a.scenario);
    if (a.controller) return run_controller(scenario, a);
    CompareArguments compare = a.report;
    compare.policies = scenario.policies;
    compare.sim = scenario.sim;
    compare.start_s = scenario.sim.start_s;
    compare.payback = scenario.payback;
    return run_compared(compare, {std::move(scenario.workload)});
}

}  // namespace ringrt::sim
