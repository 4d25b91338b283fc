// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringbench/worker.h"

#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tools/ringbench/protocol.h"

namespace ringrt::bench {
namespace {

using Seconds = std::chrono::duration<double>;

void pin(int rank) {
    cpu_set_t usable, one;
    if (sched_getaffinity(0, sizeof usable, &usable) != 0) return;
    int cores = CPU_COUNT(&usable), wanted = rank % cores;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &usable) && wanted-- == 0) CPU_SET(cpu, &one);
    }
    sched_setaffinity(0, sizeof one, &one);
}

int connect_to_ringbench() {
    const char *path = getenv("RINGBENCH_SOCKET");
    if (path == nullptr) return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0 ? fd : -1;
}

// Small whole numbers, so that the sum does not depend on the order of addition.
float element(size_t i, int rank) { return float(i % 13) + float(rank); }

void produce(float *data, size_t count, int rank) {
    for (size_t i = 0; i < count; ++i) data[i] = element(i, rank);
}

float consume(const float *data, size_t count) {
    float sums[16] = {};
    for (size_t i = 0; i < count / 16 * 16; i += 16) {
        for (size_t k = 0; k < 16; ++k) sums[k] += data[i + k];
    }
    return sums[0] + sums[15];
}

uint64_t count_wrong(const float *data, size_t count, int ranks) {
    uint64_t wrong = 0;
    for (size_t i = 0; i < count; ++i) {
        float right = float(i % 13) * float(ranks) + float(ranks * (ranks - 1) / 2);
        wrong += data[i] != right;
    }
    return wrong;
}

volatile float sink;  // keeps the compiler from removing consume()

class Server {
  public:
    explicit Server(Backend &contestant) : contestant_(contestant) {}
    ~Server() { release(); }

    Result run(const Command &command) {
        size_t count = command.bytes / sizeof(float);
        prepare(command);
        Result result{};
        if (command.task == Task::Verify) {
            produce(data_, count, contestant_.rank());
            result.failed = !contestant_.allreduce(data_, count);
            result.wrong = count_wrong(data_, count, int(command.ranks));
            return result;
        }
        bool compute = command.task != Task::Measure, reduce = command.task != Task::Compute;
        contestant_.barrier();
        auto start = std::chrono::steady_clock::now();
        for (uint32_t i = 0; i < command.iterations; ++i) {
            if (compute) produce(data_, count, contestant_.rank());
            if (reduce && !contestant_.allreduce(data_, count)) result.failed = 1;
            if (compute) sink = consume(data_, count);
        }
        result.seconds = Seconds(std::chrono::steady_clock::now() - start).count();
        return result;
    }

  private:
    void release() {
        if (data_ != nullptr) contestant_.free(data_, shared_);
        data_ = nullptr;
    }
    void prepare(const Command &command) {
        bool shared = command.shared != 0;
        if (data_ != nullptr && command.bytes == bytes_ && shared == shared_) return;
        release();
        bytes_ = command.bytes, shared_ = shared;
        data_ = contestant_.alloc(bytes_, shared);
        if (data_ == nullptr) {
            fprintf(stderr, "ringbench: no memory for %zu bytes\n", size_t(bytes_));
            exit(1);
        }
        produce(data_, bytes_ / sizeof(float), contestant_.rank());
    }

    Backend &contestant_;
    float *data_ = nullptr;
    uint64_t bytes_ = 0;
    bool shared_ = false;
};

}  // namespace

int serve(Backend &contestant) {
    pin(contestant.rank());
    int fd = connect_to_ringbench();
    const char *index = getenv("RINGBENCH_INDEX");
    if (fd < 0 || index == nullptr) {
        fprintf(stderr, "this is a part of ringbench: run ringbench instead\n");
        return 2;
    }
    Hello hello{.implementation = uint32_t(atoi(index)), .rank = uint32_t(contestant.rank())};
    if (write(fd, &hello, sizeof hello) != ssize_t(sizeof hello)) return 1;
    Server server(contestant);
    for (Command command;
         recv(fd, &command, sizeof command, MSG_WAITALL) == ssize_t(sizeof command);) {
        if (command.task == Task::Quit) return 0;
        Result result = server.run(command);
        if (write(fd, &result, sizeof result) != ssize_t(sizeof result)) return 1;
    }
    return 1;
}

}  // namespace ringrt::bench
