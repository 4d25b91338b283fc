// SPDX-License-Identifier: BSD-3-Clause
// Resizing in place at one rank: carries out its Machine's actions on the stack of communicators.
// Each extension that joins adds one. Those below stay open and unused, so that a planned leave or
// a loss needs no new start: the ranks that stay continue on a communicator that they have.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libringrt/checkpoint/layout.h"
#include "libringrt/live/closer.h"
#include "libringrt/live/forming.h"
#include "libringrt/live/join_listener.h"
#include "libringrt/live/join_request.h"
#include "libringrt/live/moving_rows.h"
#include "libringrt/live/position.h"
#include "libringrt/live/settlement.h"
#include "libringrt/live/state_copies.h"
#include "libringrt/live/state_machine.h"
#include "libringrt/live/state_transfer.h"

namespace ringrt::live {

struct ResizerOptions {
    bool extension = false;
    uint64_t job = 0;        // this rank's own job
    int rank = 0, size = 1;  // in that job
    int local_rank = -1;
    std::string directory;  // checkpoints; extensions also find the base here
    uint32_t timeout_ms = 0, start_timeout_ms = 0;
    uint32_t node = 0;                        // checksum of its node's name
    std::function<void(Communicator &)> use;  // makes this the ranks' communicator
    std::function<bool()> asked_to_leave;     // whether an extension's rank is signalled to leave
    std::function<uint64_t()> layout;         // hash of registered buffers, batch and seed
    std::function<int()> gpu;        // that a rank outside is going to use; -1: none, or not known
    std::function<uint32_t()> keep;  // the ranks that the base is asked to keep; 0: no order
    uint32_t copy_steps = 0;         // from one copy of the ranks' rows to the next; 0: none
    bool save_inline = false;
    int spares = 0;  // communicators that the program's handles take; the same at all ranks
};

class Resizer {
  public:
    // `base`: the started communicator of the base job's ranks. An extension's rank does not use
    // it.
    Resizer(ResizerOptions options, Communicator &base,
            const std::vector<checkpoint::Buffer> &buffers, MovingRows &rows);
    ~Resizer();
    Resizer(const Resizer &) = delete;
    Resizer &operator=(const Resizer &) = delete;

    // Call before the first vote or recovery, on all ranks.
    void set_program(const ProgramState &program) {
        state_.set_program(program);
        copies_.set_program(program);
    }
    [[nodiscard]] bool has_program() const { return state_.has_program(); }

    // This rank's vote at the end of `step`.
    Vote vote(uint64_t step, bool leave, bool hold);
    // Whether voted() will drop communicators: no operation may be under way on the present one.
    [[nodiscard]] bool narrows(const std::vector<Vote> &votes) const;
    // Collective. PEER_LOST: call recover() next. *left: this rank's job must end, or its node
    // leaves the job: is_released().
    Status voted(const std::vector<Vote> &votes, Position &position, bool *left);

    // A rank outside the base's communicators, or one that has lost a peer but not its base.
    [[nodiscard]] bool must_recover();
    // A communicator of the present ranks, for a handle. All ranks take as many in the same order.
    // After each change of the ranks there are ResizerOptions::spares; null: none is left.
    [[nodiscard]] std::shared_ptr<Communicator> take_spare();
    [[nodiscard]] bool has_failed() { return present().failure() != RINGRT_OK; }
    // The program has met a loss on a communicator of its own.
    void lose();
    [[nodiscard]] bool has_extensions() const { return machine_.level() > 0; }
    // After a resize or recover(): the rank that has the state, if a rank has not; -1: all have it.
    [[nodiscard]] int newest_rank() const { return settled_.is_a_rank_behind ? settled_.root : -1; }
    // After recover(): other ranks have ended the training.
    [[nodiscard]] bool has_ended() const { return settled_.is_over; }
    [[nodiscard]] bool is_outside() const { return machine_.is_outside(); }
    // Collective over the ranks concerned: joins, or returns to the newest step that the base's
    // ranks hold in memory: this one, or that of a copy.
    Status recover(Position &position);

    // Lost ranks had rows, of which there is no copy: the ranks of the present communicator
    // continue from a checkpoint, which they load into the fresh rows of place_rows(). If the load
    // fails, recover() is next.
    [[nodiscard]] bool has_rows() const { return rows_.any(); }
    [[nodiscard]] bool has_lost_rows() const { return settled_.rows == RowsFrom::checkpoint; }
    Status place_rows();
    void rows_loaded();

    // This rank's node leaves the job: it ends with status 0 before Slurm takes the node. Slurm
    // would kill it, and srun and the job would end with its status.
    [[nodiscard]] bool is_released() const { return machine_.phase() == Phase::released; }
    [[nodiscard]] bool is_shrinking() const { return machine_.is_shrinking(); }
    // On rank 0 of the base: the sum of the checksums of its nodes; 0: not known, or its ranks are
    // not in blocks by node, so that no nodes can leave.
    [[nodiscard]] uint32_t nodes() const;

    // Collective, at the end of training: only the base's ranks stay together.
    void finish(Position position);
    [[nodiscard]] bool is_extension() const { return options_.extension; }

  private:
    struct Header;
    [[nodiscard]] Communicator &present();
    [[nodiscard]] Level &present_level() { return above_.empty() ? lowest_ : above_.back(); }
    [[nodiscard]] CommunicatorConfig config(std::string file, int rank, int size) const;
    [[nodiscard]] uint32_t order() const;
    [[nodiscard]] uint32_t settings() const;
    void tell(const std::string &line);  // once, until ranks have joined
    [[nodiscard]] bool listens();        // on rank 0 of the base
    void shrink();
    void call_off();
    Status replace(Position &position);
    void form();
    void drop_forming();
    void adopt();
    void drop_above(int level, bool finish_top = false);
    [[nodiscard]] bool finishes_in_background();
    void close_in_background(std::vector<Level> dropped, bool finish_first);
    Status transfer(Communicator &over, Header &header);
    Status widen(const Position &position);
    [[nodiscard]] bool is_copy_due(uint64_t step) const;
    [[nodiscard]] bool is_copied_at(Act act) const;
    Status copy_state(const Position &position);
    Status go_back(Position &position);
    void hand_over_rows();
    [[nodiscard]] Status rows_status() const;
    Status settle(Position &position, bool finish_top = false);
    Status settle_once(Position &position);
    Status meet(Position &position);
    Status join(Position &position);
    Status rest(int *pause_ms) const;
    Status await_invitation(JoinConnection &base, JoinAnswer *answer);
    Status receive(JoinConnection &base, const JoinAnswer &answer, Position &position);

    const ResizerOptions options_;
    Communicator &base_;
    StateTransfer state_;
    MovingRows &rows_;
    StateCopies copies_;
    Settlement settled_;  // the last one
    Machine machine_;
    Level lowest_;  // level 0; its communicator replaces base_ once nodes of the base have left
    std::vector<Level> above_;                // levels 1 and up; empty: this rank joined above it
    std::unique_ptr<JoinListener> listener_;  // on rank 0 of the base
    double listen_from_s_ = 0;                // after it could not start
    std::string told_;                        // why ranks could not join or leave, the last time
    std::unique_ptr<Forming> forming_;
    uint32_t number_ = 0;  // of the join in forming_; 0: a smaller level 0 is formed
    uint32_t shrinks_ = 0;
    double shrink_from_s_ = 0;                       // after one that was called off
    std::vector<Vote> votes_;                        // on rank 0 of the base: of its last ballot
    std::vector<std::unique_ptr<Forming>> retired_;  // called off, but not yet ended
    // Of dropped levels and of the handles' communicators, which may live longer than this object.
    const std::shared_ptr<Closer> closer_ = std::make_shared<Closer>();
};

}  // namespace ringrt::live
