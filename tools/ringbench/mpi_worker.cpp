// SPDX-License-Identifier: BSD-3-Clause
// Measures MPI_Allreduce; compiled once per MPI found, started by its own mpiexec.
#include <mpi.h>

#include <climits>
#include <cstdlib>

#include "tools/ringbench/worker.h"

namespace {

class Mpi : public ringrt::bench::Backend {
  public:
    Mpi() { MPI_Comm_rank(MPI_COMM_WORLD, &rank_); }
    int rank() const override { return rank_; }
    bool allreduce(float *data, size_t count) override {
        return count <= INT_MAX && MPI_Allreduce(MPI_IN_PLACE, data, int(count), MPI_FLOAT, MPI_SUM,
                                                 MPI_COMM_WORLD) == MPI_SUCCESS;
    }
    void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }
    float *alloc(size_t bytes, bool) override { return static_cast<float *>(malloc(bytes + 1)); }
    void free(float *data, bool) override { ::free(data); }

  private:
    int rank_ = 0;
};

}  // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    Mpi contestant;
    int status = ringrt::bench::serve(contestant);
    if (status != 0) MPI_Abort(MPI_COMM_WORLD, status);
    MPI_Finalize();
    return status;
}
