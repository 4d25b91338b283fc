// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/live/program_state.h"

#include <array>

namespace ringrt::live {
namespace {

constexpr size_t kLineBytes = 512;  // of a callback's message

}  // namespace

Status ProgramState::pieces(std::vector<ringrt_piece_t> &out) const {
    out.clear();
    if (!pack) return {};
    const ringrt_piece_t *packed = nullptr;
    size_t count = 0;
    std::array<char, kLineBytes> line{};
    const int failed = pack(context, &packed, &count, line.data(), line.size());
    line.back() = '\0';
    if (failed != 0)
        return {RINGRT_SYSTEM_ERROR,
                format_text("the program could not pack its state: %s", line.data())};
    if (count > kPiecesMax || (count > 0 && !packed))
        return {RINGRT_INVALID_ARGUMENT, "the program packed its state into too many pieces"};
    out.assign(packed, packed + count);
    return {};
}

Status ProgramState::take(const std::vector<std::byte> &packed) const {
    if (!unpack) return {};
    std::array<char, kLineBytes> line{};
    const int failed = unpack(context, packed.data(), packed.size(), line.data(), line.size());
    line.back() = '\0';
    if (failed == 0) return {};
    return {RINGRT_SYSTEM_ERROR,
            format_text("the program could not unpack its state: %s", line.data())};
}

}  // namespace ringrt::live
