// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringbench/group.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "tools/ringbench/ringrt_worker.h"

namespace ringrt::bench {
namespace {

constexpr int kAnswerMs = 120000;

// Next to this program in the build tree, otherwise in the installation.
std::string worker_path(const std::string &name) {
    std::string self = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
    for (const std::string &directory :
         {self, self + "/tools/ringbench", std::string(RINGBENCH_LIBEXEC)}) {
        std::string path = directory + "/ringbench-" + name;
        if (access(path.c_str(), X_OK) == 0) return path;
    }
    return "";
}

void exec(const Implementation &implementation, std::vector<std::string> arguments) {
    for (const auto &[name, value] : implementation.environment)
        setenv(name.c_str(), value.c_str(), 1);
    std::vector<char *> argv;
    for (std::string &each : arguments) argv.push_back(each.data());
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    fprintf(stderr, "ringbench: cannot start %s\n", argv[0]);
}

// Puts the rank on a node of its own, as far as the network is concerned.
void enter(const std::string &netns, int rank) {
    const std::string name = netns + "-" + std::to_string(rank);
    const int fd = open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) != 0) {
        fprintf(stderr, "ringbench: cannot enter the network namespace %s\n", name.c_str());
        _exit(1);
    }
    close(fd);
    setenv("RINGRT_NODE", std::to_string(rank).c_str(), 1);
    setenv("RINGRT_INTERFACE", "eth0", 1);
}

}  // namespace

std::vector<Implementation> find_implementations(const std::vector<std::string> &wanted,
                                                 int ranks) {
    std::string n = std::to_string(ranks);
    const std::map<std::string, std::string> root{{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                                  {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
    auto huge = root;
    huge["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1";
    std::string openmpi = worker_path("openmpi"), mpich = worker_path("mpich"),
                gloo = worker_path("gloo");
    std::vector<std::string> mpirun{"mpirun.openmpi", "-n",   n,      "--oversubscribe",
                                    "--bind-to",      "none", openmpi};
    std::vector<std::string> hydra{"mpiexec.mpich", "-n", n, mpich};
    std::vector<Implementation> all{{"ringrt", {}, false, {}}};
    if (!openmpi.empty()) {
        all.push_back({"openmpi", mpirun, false, root});
        all.push_back({"openmpi-huge", mpirun, false, huge});
    }
    if (!mpich.empty()) {
        all.push_back({"mpich", hydra, false, {}});
        all.push_back({"mpich-huge", hydra, false, {{"GLIBC_TUNABLES", huge["GLIBC_TUNABLES"]}}});
    }
    if (!gloo.empty()) all.push_back({"gloo", {gloo}, true, {}});
    if (wanted.empty()) return all;
    std::vector<Implementation> chosen;
    for (const std::string &name : wanted) {
        auto found = std::find_if(all.begin(), all.end(),
                                  [&](const auto &each) { return each.name == name; });
        if (found == all.end())
            throw std::runtime_error("\"" + name + "\" is not built here; see --help");
        chosen.push_back(*found);
    }
    return chosen;
}

Groups::Groups(const std::vector<Implementation> &implementations, int ranks, double start_s,
               std::string netns)
    : ranks_(ranks),
      netns_(std::move(netns)),
      sockets_(implementations.size(), std::vector<int>(size_t(ranks), -1)) {
    char directory[] = "/tmp/ringbench-XXXXXX";
    if (mkdtemp(directory) == nullptr) throw std::runtime_error("cannot make a directory in /tmp");
    directory_ = directory;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", directory);
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool bound = bind(listener_, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0;
    if (!bound || listen(listener_, 1024) != 0) throw std::runtime_error("cannot listen in /tmp");
    setenv("RINGBENCH_SOCKET", address.sun_path, 1);
    for (size_t i = 0; i < implementations.size(); ++i) launch(implementations[i], i);
    welcome(start_s);
    for (size_t i = 0; i < implementations.size(); ++i) {
        if (!there(i))
            fprintf(stderr, "ringbench: %s did not start: left out\n",
                    implementations[i].name.c_str());
    }
}

void Groups::launch(const Implementation &implementation, size_t index) {
    std::string directory = directory_ + "/" + std::to_string(index);
    std::filesystem::create_directory(directory);
    bool mpi = !implementation.command.empty() && !implementation.each_rank;
    for (int rank = 0; rank < (mpi ? 1 : ranks_); ++rank) {
        pid_t pid = fork();
        if (pid < 0) throw std::runtime_error("cannot fork");
        if (pid > 0) {
            children_.push_back(pid);
            continue;
        }
        setenv("RINGBENCH_INDEX", std::to_string(index).c_str(), 1);
        if (!mpi && !netns_.empty()) enter(netns_, rank);
        if (implementation.command.empty()) _exit(run_ringrt_rank(rank, ranks_, directory));
        std::vector<std::string> arguments = implementation.command;
        if (!mpi) {
            for (std::string each : {std::to_string(rank), std::to_string(ranks_), directory})
                arguments.push_back(each);
        }
        exec(implementation, std::move(arguments));
        _exit(127);
    }
}

void Groups::welcome(double start_s) {
    auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(start_s);
    size_t missing = sockets_.size() * size_t(ranks_);
    while (missing > 0 && std::chrono::steady_clock::now() < end) {
        pollfd waiting{.fd = listener_, .events = POLLIN, .revents = 0};
        if (poll(&waiting, 1, 100) <= 0) continue;
        int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        Hello hello{};
        bool sound = fd >= 0 &&
                     recv(fd, &hello, sizeof hello, MSG_WAITALL) == ssize_t(sizeof hello) &&
                     hello.implementation < sockets_.size() && hello.rank < uint32_t(ranks_);
        if (!sound) {
            close(fd);
            continue;
        }
        sockets_[hello.implementation][hello.rank] = fd;
        --missing;
    }
}

bool Groups::there(size_t implementation) const {
    const auto &group = sockets_[implementation];
    return std::find(group.begin(), group.end(), -1) == group.end();
}

std::optional<Result> Groups::run(size_t implementation, const Command &command) {
    if (!there(implementation)) return {};
    auto &group = sockets_[implementation];
    for (int fd : group) (void)!write(fd, &command, sizeof command);
    Result all{};
    for (int &fd : group) {
        Result one{};
        pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
        bool heard = poll(&waiting, 1, kAnswerMs) > 0 &&
                     recv(fd, &one, sizeof one, MSG_WAITALL) == ssize_t(sizeof one);
        if (!heard) {
            close(fd);
            fd = -1;
            return {};
        }
        all.seconds = std::max(all.seconds, one.seconds);
        all.wrong += one.wrong;
        all.failed |= one.failed;
    }
    return all;
}

Groups::~Groups() {
    Command quit{};
    quit.task = Task::Quit;
    for (const auto &group : sockets_) {
        for (int fd : group) {
            if (fd >= 0) (void)!send(fd, &quit, sizeof quit, MSG_NOSIGNAL), close(fd);
        }
    }
    close(listener_);
    for (int i = 0; i < 200 && !children_.empty(); ++i) {
        std::erase_if(children_, [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) == pid; });
        usleep(10000);
    }
    for (pid_t pid : children_) kill(pid, SIGTERM), waitpid(pid, nullptr, 0);
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
}

}  // namespace ringrt::bench
