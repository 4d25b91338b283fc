// SPDX-License-Identifier: BSD-3-Clause
// A Chrome trace of one rank's gradients, blocks and waits, written by the destructor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ringrt {

class Trace {
  public:
    enum Line : int { gradients = 1, link = 2, waits = 3 };

    // `file` empty: records nothing. The rank is added to the name: a.json is a.3.json on rank 3,
    // and a.77.3.json on rank 3 of job 77.
    Trace(const std::string &file, uint64_t job, int rank);
    ~Trace();

    [[nodiscard]] bool on() const { return !file_.empty(); }
    void add(Line line, const std::string &name, double start_us, double end_us);

  private:
    struct Event {
        Line line;
        std::string name;
        double start_us, end_us;
    };

    std::string file_;
    const std::string who_;
    const unsigned long long pid_;  // of the viewer: it shows equal numbers as one process
    std::vector<Event> events_;
};

}  // namespace ringrt
