// SPDX-License-Identifier: BSD-3-Clause
// Copies of the state of earlier steps in the host memory of the base's ranks, so that the loss of
// an extension, which takes its rows with it, costs only the steps since the newest copy. A copy is
// of all buffers: those of the ranks that are lost, and those that the others change meanwhile.
// Each rank of the base keeps a part (copy_placement.h). What the program packs is whole at rank 0:
// nothing says that two ranks pack the same bytes, of which each could keep a part.
//
// There are two, so that a loss while one is made leaves the other. A rank makes the next one only
// after a ballot, so it knows that all ranks have completed the one before.
//
// clang-format off
//
//            take()                all ranks agree that they have their parts
//   older ───────────► incomplete ─────────────────────────────────────────────► newest; the other is then the older
//                           │ a rank is lost, or one has no memory
//                           └──────► no copy; the newest stays
//
// clang-format on
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "libringrt/checkpoint/layout.h"
#include "libringrt/collective/communicator.h"
#include "libringrt/live/copy_placement.h"
#include "libringrt/live/position.h"
#include "libringrt/live/program_state.h"

namespace ringrt::live {

class StateCopies {
  public:
    // `buffers` are the handle's.
    explicit StateCopies(const std::vector<checkpoint::Buffer> &buffers) : buffers_(buffers) {}

    void set_program(const ProgramState &program) { program_ = program; }

    // Collective over all ranks that hold the state; the first `base` ranks keep the copy. If a
    // rank fails without being lost, all others return that it has, and the copy is none.
    Status take(Communicator &over, int base, const Position &position);
    // The step of the last try; kNoStep: none since clear().
    [[nodiscard]] uint64_t tried_step() const { return tried_step_; }

    // Adds the steps of the copies of which this rank has its part.
    void add_to(Position &position) const;
    // Collective. Fills the buffers of all ranks of `over` from the copy of this step, which the
    // base's ranks have, and gives them back what was packed. *position: that of the copy.
    Status give_back(Communicator &over, uint64_t step, Position &position);
    // Of a copy that not all have, a later one may not be of the same steps.
    void keep_only(uint64_t step);
    void clear();  // keeps the memory for later ones

  private:
    struct Copy {
        bool complete = false;
        Position position;
        std::vector<CopyPart> parts;
        std::unique_ptr<std::byte[]> memory;  // this rank's parts, one after the other
        uint64_t bytes = 0;                   // of `memory`
        std::vector<std::byte> packed;        // on rank 0
    };
    Copy &older();
    Status gather_held(Communicator &over, std::vector<std::vector<RowSpan>> &out) const;
    void lay_out(const std::vector<std::vector<RowSpan>> &held, int base, Copy &copy) const;
    [[nodiscard]] std::vector<RowLeg> legs_of(const Copy &copy, int rank) const;
    [[nodiscard]] std::vector<RowLeg> legs_of_return(const Copy &copy,
                                                     const std::vector<std::vector<RowSpan>> &held,
                                                     int rank) const;
    Status tell(Communicator &over, Copy &copy) const;
    Status reserve(Copy &copy, int rank) const;
    Status pack(Copy &copy) const;
    Status give_packed(Communicator &over, Copy &copy) const;
    [[nodiscard]] uint64_t bytes_of_part(const CopyPart &part) const;

    const std::vector<checkpoint::Buffer> &buffers_;
    ProgramState program_;
    std::array<Copy, 2> copies_;
    uint64_t tried_step_ = kNoStep;
};

}  // namespace ringrt::live
