// SPDX-License-Identifier: BSD-3-Clause
// The output of the digits example's rank 0: one CSV line per step, and a JSON summary.
#pragma once

#include <cstdint>
#include <string>

namespace digits {

struct StepRow {
    uint64_t step = 0;  // 1-based, over all restarts
    double epoch = 0;   // passes over the data after this step
    double loss = 0;    // mean over the step's batch, before its update
    int gpus = 0;
    int restart = 0;  // how often the job was requeued before
};

// Appends rows. append() writes the row before it returns, so that after a kill the file shows
// exactly which steps were done, and by which incarnation. Throws std::runtime_error.
class StepLog {
  public:
    StepLog() = default;                        // logs nothing
    explicit StepLog(const std::string &path);  // appends; a header only if the file is empty
    ~StepLog();
    StepLog(const StepLog &) = delete;
    StepLog &operator=(const StepLog &) = delete;
    void append(const StepRow &row);

  private:
    int file_ = -1;
};

struct Summary {
    uint64_t steps = 0, samples = 0, samples_lost = 0, samples_duplicated = 0;
    double loss = 0;      // of the last step
    double accuracy = 0;  // on the test images, 0..1
    double seconds = 0;   // of this incarnation
    double device_ms_per_sample = 0;
    int gpus = 0, restarts = 0;
};

// Replaces the file atomically (write, then rename). Throws std::runtime_error.
void write_json(const std::string &path, const Summary &summary);

}  // namespace digits
