// SPDX-License-Identifier: BSD-3-Clause
// The node's side of the channel (doc/channel.md): one process per step and node, in addition to
// the tasks, with the rights of the job's owner. It receives the signals that Slurm sends to the
// step, forwards them to the connected clients, and calls Slurm for rank 0.
//
// SIGTERM may mean the end, or the start of the GraceTime when Slurm preempts the job. The service
// asks Slurm which; a preempted job gets `asked`, so that it saves and restarts later.
//
// kKeepSignal means that the job's record names the ranks to keep
// (records/intent.h). The service asks Slurm for it.
//
// The service never blocks on a client: it drops one that does not read or sends invalid messages.
#pragma once

#include <sys/types.h>

#include <functional>
#include <list>
#include <string>
#include <string_view>

#include "slurm_plugin/channel/child_call.h"
#include "slurm_plugin/records/channel.h"
#include "slurm_plugin/records/telemetry.h"

namespace ringrt::channel {

// Calls to Slurm; each runs in a child process.
struct SlurmCalls {
    std::function<records::ChannelMessage()> requeue;  // returns an answer
    std::function<bool()> is_preempted = {};  // whether the running job is in its GraceTime
    std::function<void(const records::Telemetry &)> report;
    std::function<int()> ranks_to_keep = {};  // by the running job's record; 0: all, −1: unknown
    double timeout_s = 10;
};

struct ServiceOptions {
    int listener = -1;   // SOCK_SEQPACKET, non-blocking
    int signals = -1;    // a signalfd for ask_signal, kKeepSignal and SIGTERM
    int lifeline = -1;   // the service ends at its end of file
    int ask_signal = 0;  // the scheduler's signal
    uid_t owner = 0;     // the user who may connect
    std::string key;     // sent first
    SlurmCalls slurm;
};

class Service {
  public:
    explicit Service(ServiceOptions options) : options_(std::move(options)) {}
    ~Service();
    Service(const Service &) = delete;
    Service &operator=(const Service &) = delete;

    void run();  // until the lifeline ends

  private:
    struct Client {
        int fd = -1;
        bool wants_answer = false;
    };

    void accept_client();
    void read_signals();
    void read_from(Client &client);
    void take(Client &client, std::string_view datagram);
    void start_calls();
    void end_calls();
    [[nodiscard]] bool is_calling() const;
    void note_sigterm();
    bool answer(std::string_view text);
    void send_to(Client &client, const records::ChannelMessage &message);
    void send_to_all(records::ChannelWord word, int64_t number);
    static void drop(Client &client);

    const ServiceOptions options_;
    std::list<Client> clients_;
    ChildCall requeue_, report_, preemption_, keep_;
    bool wants_requeue_ = false, wants_report_ = false, wants_keep_ = false;
    bool is_leaving_ = false;  // its requeue was requested: the next SIGTERM is the end
    records::Telemetry newest_;
    int64_t asked_ = 0, ended_ = 0;
};

}  // namespace ringrt::channel
