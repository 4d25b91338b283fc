// SPDX-License-Identifier: BSD-3-Clause
// Transfers a step's state to ranks that join or are behind: the registered buffers and what the
// program packs. A joining rank on the sender's node reads it from the sender's memory. Otherwise,
// or if a buffer is on a GPU, everything is sent to all ranks.
#pragma once

#include <string>
#include <vector>

#include "libringrt/checkpoint/layout.h"
#include "libringrt/collective/communicator.h"
#include "libringrt/live/peer_memory.h"
#include "libringrt/live/program_state.h"
#include "libringrt/live/state_chunks.h"

namespace ringrt::live {

class StateTransfer {
  public:
    // `buffers` are the handle's; they may grow until the first transfer.
    explicit StateTransfer(const std::vector<checkpoint::Buffer> &buffers)
        : all_buffers_(buffers) {}

    void set_program(const ProgramState &program) { program_ = program; }
    [[nodiscard]] bool has_program() const { return static_cast<bool>(program_); }

    // Touches the buffers' pages before the state arrives, so that the training ranks do not wait.
    void touch();

    // Collective over all of `over`: rank 0's state to the joining ranks. Ok: every rank has it.
    Status to_joiners(Communicator &over, const PeerProcess &sender, bool joins);
    // Collective: root's state to the ranks that are behind. They pass `torn`, which becomes 1 if a
    // loss from then on may leave parts of two states in the buffers. All others pass null.
    Status to_ranks_behind(Communicator &over, int root, uint32_t *torn);

  private:
    struct Piece {
        uint64_t address = 0, bytes = 0;  // address 0: on a GPU
    };
    struct Beginning {
        uint64_t pieces = 0;
        uint8_t packed = 0;  // 0: the sender has no state to send
        uint8_t zero[7] = {};
    };
    Status pack();
    Status tell_pieces(Communicator &over, int root);
    Status check_sizes() const;
    [[nodiscard]] uint64_t room_bytes() const;
    [[nodiscard]] std::vector<Place> places(bool at_sender);
    [[nodiscard]] bool is_on_gpu() const;
    Status read(const PeerProcess &sender);
    Status send(Communicator &over, int root, bool receives);
    Status unpack();

    // The buffers that every rank holds whole. Rows move on their own (moving_rows.h).
    void find_whole();

    const std::vector<checkpoint::Buffer> &all_buffers_;
    std::vector<checkpoint::Buffer> buffers_;  // of a transfer
    ProgramState program_;
    std::vector<Piece> pieces_;    // the sender's
    std::vector<std::byte> room_;  // at a receiver: what the sender's program packed
};

}  // namespace ringrt::live
