// SPDX-License-Identifier: BSD-3-Clause
// A program's own state as blobs: one of a step number, one of floats, and one whose length grows
// from step to step, and is 0 in every second one. A process that finds anything else ends with a
// status of its own.
#pragma once

#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "libringrt/ringrt_checkpoint.h"

namespace ringrt::test {

class LiveBlobs {
  public:
    explicit LiveBlobs(ringrt_checkpoint_t *checkpoint) : checkpoint_(checkpoint) {}

    void set(uint64_t step, const std::vector<float> &floats) {
        const std::vector<unsigned char> growing = growing_at(step);
        set("step", &step, sizeof step);
        set("floats", floats.data(), floats.size() * sizeof(float));
        set("growing", growing.data(), growing.size());
    }

    // What ringrt_job_resize() has sent. Of root -1 nothing, and the state stays.
    void get(int root, uint64_t &step, std::vector<float> &floats) {
        if (root < 0) return expect_none();
        expect(root + 1, "step", RINGRT_NOT_FOUND);
        expect(root, "other", RINGRT_NOT_FOUND);
        memcpy(&step, expect(root, "step", RINGRT_OK, sizeof step), sizeof step);
        const size_t bytes = floats.size() * sizeof(float);
        memcpy(floats.data(), expect(root, "floats", RINGRT_OK, bytes), bytes);
        const std::vector<unsigned char> growing = growing_at(step);
        const void *sent = expect(root, "growing", RINGRT_OK, growing.size());
        if (!growing.empty() && memcmp(sent, growing.data(), growing.size()) != 0) _exit(243);
        if (holds("step") != 1 || holds("other") != 0) _exit(242);
    }

    void expect_none() {
        expect(0, "step", RINGRT_NOT_FOUND);
        if (holds("step") != 0) _exit(242);
    }

  private:
    static std::vector<unsigned char> growing_at(uint64_t step) {
        return std::vector<unsigned char>(step % 2 == 0 ? 0 : 3 * step + 1,
                                          static_cast<unsigned char>(step));
    }

    void set(const char *name, const void *data, size_t bytes) {
        if (ringrt_checkpoint_set_blob(checkpoint_, name, data, bytes) != RINGRT_OK) _exit(244);
    }

    const void *expect(int rank, const char *name, ringrt_status_t status, size_t bytes = 0) {
        const void *data = nullptr;
        size_t found = 0;
        if (ringrt_checkpoint_get_blob(checkpoint_, name, rank, &data, &found) != status)
            _exit(245);
        if (found != bytes) _exit(246);
        return data;
    }

    int holds(const char *name) {
        int held = -1;
        (void)ringrt_checkpoint_holds(checkpoint_, name, &held);
        return held;
    }

    ringrt_checkpoint_t *const checkpoint_;
};

}  // namespace ringrt::test
