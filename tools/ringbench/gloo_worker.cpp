// SPDX-License-Identifier: BSD-3-Clause
// Measures Gloo's allreduce (ring) over its TCP transport; started by ringbench.
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <cstdlib>
#include <memory>

#include "tools/ringbench/worker.h"

namespace {

class Gloo : public ringrt::bench::Backend {
  public:
    Gloo(int rank, int ranks, const char *directory)
        : store_(std::make_shared<gloo::rendezvous::FileStore>(directory)) {
        gloo::transport::tcp::attr attributes;
        const char *interface = getenv("RINGRT_INTERFACE");
        attributes.iface = interface != nullptr ? interface : "lo";
        device_ = gloo::transport::tcp::CreateDevice(attributes);
        context_ = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
        connect(*context_);
    }
    int rank() const override { return context_->rank; }
    bool allreduce(float *data, size_t count) override {
        gloo::AllreduceOptions options(context_);
        options.setOutput(data, count);
        options.setReduceFunction([](void *out, const void *a, const void *b, size_t n) {
            gloo::sum<float>(out, a, b, n);
        });
        gloo::allreduce(options);
        return true;
    }
    void barrier() override {
        gloo::BarrierOptions options(context_);
        gloo::barrier(options);
    }
    float *alloc(size_t bytes, bool) override { return static_cast<float *>(malloc(bytes + 1)); }
    void free(float *data, bool) override { ::free(data); }

  private:
    // Gloo of 2025 shares ownership of the store, earlier versions borrow it.
    template <typename Context>
    void connect(Context &context) {
        if constexpr (requires { context.connectFullMesh(store_, device_); })
            context.connectFullMesh(store_, device_);
        else
            context.connectFullMesh(*store_, device_);
    }

    std::shared_ptr<gloo::rendezvous::FileStore> store_;
    std::shared_ptr<gloo::transport::Device> device_;
    std::shared_ptr<gloo::rendezvous::Context> context_;
};

}  // namespace

int main(int argc, char **argv) {
    if (argc != 4) return 2;  // RANK RANKS DIRECTORY
    Gloo contestant(atoi(argv[1]), atoi(argv[2]), argv[3]);
    return ringrt::bench::serve(contestant);
}
