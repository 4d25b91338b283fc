// SPDX-License-Identifier: BSD-3-Clause
// Measures ringrt; forked by ringbench itself.
#include "tools/ringbench/ringrt_worker.h"

#include <cstdio>
#include <cstdlib>

#include "libringrt/collective/communicator.h"
#include "tools/ringbench/worker.h"

namespace ringrt::bench {
namespace {

class Ringrt : public Backend {
  public:
    explicit Ringrt(CommunicatorConfig config) : communicator_(std::move(config)) {}
    bool start() {
        if (communicator_.start() == RINGRT_OK) return true;
        fprintf(stderr, "ringbench: %s\n", communicator_.last_error().c_str());
        return false;
    }
    int rank() const override { return communicator_.rank(); }
    bool allreduce(float *data, size_t count) override {
        return communicator_.allreduce(data, data, count, RINGRT_FLOAT32, RINGRT_SUM) == RINGRT_OK;
    }
    void barrier() override { (void)communicator_.barrier(); }
    float *alloc(size_t bytes, bool shared) override {
        void *out = nullptr;
        if (!shared) return static_cast<float *>(malloc(bytes + 1));
        return communicator_.alloc(bytes, &out) == RINGRT_OK ? static_cast<float *>(out) : nullptr;
    }
    void free(float *data, bool shared) override {
        if (!shared) ::free(data);
        if (shared) (void)communicator_.free(data);
    }

  private:
    Communicator communicator_;
};

}  // namespace

int run_ringrt_rank(int rank, int ranks, const std::string &directory) {
    CommunicatorConfig config;
    config.rank = rank, config.size = ranks, config.rendezvous = directory + "/meet";
    Ringrt contestant(std::move(config));
    return contestant.start() ? serve(contestant) : 1;
}

}  // namespace ringrt::bench
