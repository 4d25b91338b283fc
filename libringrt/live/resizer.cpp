// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/live/resizer.h"

#include <algorithm>
#include <new>
#include <utility>

#include "libringrt/base/clock.h"
#include "libringrt/bootstrap/siphash.h"

namespace ringrt::live {
namespace {

constexpr size_t kLevelsMax = 32;

Status over_now(const std::string &what) {
    return {RINGRT_PEER_LOST,
            what + ": ringrt_restore() continues from the state of the other ranks"};
}

// Whether the ranks of the present level part, as all of them know.
bool drops_ranks(Act act) {
    return act == Act::settle || act == Act::leave || act == Act::rejoin || act == Act::replace ||
           act == Act::release;
}

}  // namespace

// Precedes the state on its way to joining ranks.
struct Resizer::Header {
    Position position;
    uint32_t levels = 0;
    int32_t sizes[kLevelsMax] = {};
    PeerProcess root;
};

Resizer::Resizer(ResizerOptions options, Communicator &base,
                 const std::vector<checkpoint::Buffer> &buffers, MovingRows &rows)
    : options_(std::move(options)),
      base_(base),
      state_(buffers),
      rows_(rows),
      copies_(buffers),
      machine_(options_.extension ? Machine::outside() : Machine(options_.size, options_.rank)) {}

Resizer::~Resizer() { closer_->wait(); }

Communicator &Resizer::present() {
    const Level &level = present_level();
    return level.own ? *level.own : base_;
}

std::shared_ptr<Communicator> Resizer::take_spare() {
    std::vector<std::unique_ptr<Communicator>> &left = present_level().spares.left;
    if (left.empty()) return nullptr;
    std::unique_ptr<Communicator> spare = std::move(left.back());
    left.pop_back();
    auto close = [closer = closer_](Communicator *dropped) noexcept {
        try {
            std::shared_ptr<Communicator> owned(dropped);
            closer->add([owned = std::move(owned)]() mutable { owned.reset(); });
        } catch (const std::bad_alloc &) {  // it is closed here
        }
    };
    return {spare.release(), close};
}

CommunicatorConfig Resizer::config(std::string file, int rank, int size) const {
    CommunicatorConfig out;
    out.rank = rank, out.size = size;
    out.local_rank = options_.local_rank;
    out.rendezvous = std::move(file);
    out.timeout_ms = options_.timeout_ms, out.start_timeout_ms = options_.start_timeout_ms;
    out.warn = log_line;
    return out;
}

// ---- a step's end -----------------------------------------------------------------------------

Vote Resizer::vote(uint64_t step, bool leave, bool hold) {
    std::erase_if(retired_, [](const auto &each) { return each->state() != Formed::under_way; });
    Vote out{.leave = leave, .hold = hold, .node = options_.node};
    if (forming_) out.formed = forming_->state();
    if (options_.extension || options_.rank != 0) return out;
    if (forming_ && number_ > 0 && out.formed == Formed::under_way && listener_->is_gone(number_))
        out.formed = Formed::failed;
    out.copy = static_cast<uint8_t>(is_copy_due(step));
    out.keep = order();
    if (out.keep > 0) {
        if (!forming_) out.offer = ++shrinks_;
    } else if (listens() && !forming_ && machine_.sizes().size() < kLevelsMax) {
        const JoinListener::Offer offer = listener_->offer();
        out.offer = offer.number, out.offer_ranks = offer.ranks;
    }
    return out;
}

bool Resizer::narrows(const std::vector<Vote> &votes) const {
    Machine probe = machine_;
    return drops_ranks(probe.voted(votes));
}

Status Resizer::voted(const std::vector<Vote> &votes, Position &position, bool *left) {
    *left = false;
    if (!options_.extension && options_.rank == 0) votes_ = votes;
    const Act act = machine_.voted(votes);
    if (drops_ranks(act)) *present_level().spares.retired = true;
    if (votes[0].copy != 0 && is_copied_at(act)) RINGRT_TRY(copy_state(position));
    switch (act) {
        case Act::form:
            form();
            return {};
        case Act::call_off:
            call_off();
            return {};
        case Act::shrink:
            shrink();
            return {};
        case Act::replace:
            hand_over_rows();
            (void)present().finish();  // all voters are here; a later loss does not matter
            RINGRT_TRY(replace(position));
            return rows_status();
        case Act::release:
            *left = true;
            hand_over_rows();
            (void)present().finish();
            return {};
        case Act::transfer:
            return widen(position);
        case Act::settle: {
            hand_over_rows();
            const bool later = finishes_in_background();
            if (!later) (void)present().finish();  // a loss from now on does not matter
            RINGRT_TRY(settle(position, later));
            return rows_status();
        }
        case Act::leave:
            *left = true;
            hand_over_rows();
            (void)present().finish();
            drop_above(-1);
            return {};
        case Act::rejoin:
            hand_over_rows();
            (void)present().finish();
            drop_above(-1);
            return over_now("an extension below this one left");
        default:
            return {};
    }
}

void Resizer::drop_forming() {
    if (!forming_) return;
    forming_->abort();
    if (forming_->state() == Formed::under_way) retired_.push_back(std::move(forming_));
    forming_.reset();
    if (listener_ && number_ > 0) listener_->close(number_);
    rows_.discard();
}

// Joining ranks get the whole state; the others have it. Then all ranks of the present level report
// whether the transfer succeeded at theirs. The present level changes only if all succeeded.
Status Resizer::widen(const Position &position) {
    Header header{.position = position,
                  .levels = static_cast<uint32_t>(machine_.sizes().size() + 1)};
    std::copy(machine_.sizes().begin(), machine_.sizes().end(), header.sizes);
    header.sizes[header.levels - 1] = machine_.ranks_then();
    Secret token{};  // without a token no rank reads this process's memory, and everything is sent
    if (make_random(token).ok()) header.root = readable_process(token);
    const Status sent = transfer(forming_->communicator(), header);
    if (sent.code == RINGRT_SYSTEM_ERROR || sent.code == RINGRT_INVALID_ARGUMENT)
        tell(sent.message + ": no extension joins now");  // an error in this rank's program
    (void)machine_.transferred();
    const auto mine = static_cast<uint8_t>(sent.ok());
    std::vector<uint8_t> all(static_cast<size_t>(machine_.ranks()));
    RINGRT_TRY(present().outcome(present().all_gather(&mine, all.data(), 1)));
    const bool everywhere = std::count(all.begin(), all.end(), 1) == machine_.ranks();
    if (machine_.confirmed(everywhere) != Act::adopt) {
        drop_forming();
        if (machine_.level() == 0) copies_.clear();
        return {};
    }
    adopt();
    return {};
}

Status Resizer::transfer(Communicator &over, Header &header) {
    RINGRT_TRY(over.outcome(over.broadcast(&header, sizeof header, 0)));
    RINGRT_TRY(state_.to_joiners(over, header.root, is_outside()));
    return rows_.move(over, over.size(), true);
}

// ---- lost, or outside -------------------------------------------------------------------------

bool Resizer::must_recover() {
    if (is_outside()) return true;
    if (settled_.rows != RowsFrom::memory && present().failure() == RINGRT_OK) return true;
    if (machine_.phase() == Phase::told) return true;
    if (is_released() || (machine_.level() == 0 && !is_shrinking())) return false;
    const ringrt_status_t failure = present().failure();
    return failure == RINGRT_PEER_LOST || failure == RINGRT_TIMEOUT;
}

// The other ranks see a loss when this one drops the levels above the base's. While nodes of the
// base leave there is none.
void Resizer::lose() {
    machine_.told_of_loss();
    if (is_shrinking()) present().abort();
}

Status Resizer::recover(Position &position) {
    for (;;) {
        RINGRT_TRY(meet(position));
        if (settled_.rows != RowsFrom::copy) return {};
        Status back = go_back(position);
        if (back.ok() || !has_failed() || !must_recover()) return back;
    }
}

Status Resizer::meet(Position &position) {
    if (!is_outside()) {
        const bool has_settled = settled_.rows != RowsFrom::memory;
        if (has_settled && present().failure() == RINGRT_OK) return {};
        const Act act = machine_.lost();
        if (act == Act::settle) return settle(position);
        if (act == Act::replace) return replace(position);
        if (act == Act::release) {
            rows_.drop();
            return {RINGRT_ABORTED, "another rank was lost while this rank's node left the job"};
        }
        drop_above(-1);
    }
    return join(position);
}

Status Resizer::join(Position &position) {
    const JoinRequest request{.rank = static_cast<uint32_t>(options_.rank),
                              .size = static_cast<uint32_t>(options_.size),
                              .settings = settings(),
                              .job = options_.job,
                              .layout = options_.layout()};
    // A base that ran a moment ago answers soon, or is gone for good.
    constexpr uint32_t kAgain_ms = 3000;
    RankContext self;
    self.warn = log_line;
    for (int pause_ms = 0;;) {
        Deadline deadline(self, "join",
                          machine_.phase() == Phase::apart
                              ? std::min(kAgain_ms, options_.start_timeout_ms)
                              : options_.start_timeout_ms);
        JoinConnection base;
        JoinAnswer answer;
        RINGRT_TRY(base.ask(options_.directory, request, &deadline, options_.asked_to_leave));
        Status invited = await_invitation(base, &answer);
        const bool called_off = invited.ok();
        if (invited.ok()) invited = receive(base, answer, position);
        const bool lost = invited.code == RINGRT_PEER_LOST ||
                          invited.code == RINGRT_TIMEOUT;  // a rank is stopped in the transfer
        if (!lost) return invited;
        machine_.called_off();  // or the base is gone: look once more
        if (called_off) RINGRT_TRY(rest(&pause_ms));
    }
}

// Each try costs the base's ranks a forming, and NCCL's start.
Status Resizer::rest(int *pause_ms) const {
    constexpr int kFirst_ms = 100, kMost_ms = 5000;
    const double until_s = monotonic_s() + *pause_ms / 1e3;
    while (monotonic_s() < until_s) {
        if (options_.asked_to_leave())
            return {RINGRT_ABORTED, "signalled to leave before it had joined"};
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    *pause_ms = std::clamp(2 * *pause_ms, kFirst_ms, kMost_ms);
    return {};
}

Status Resizer::await_invitation(JoinConnection &base, JoinAnswer *answer) {
    for (bool invited = false; !invited;) {
        if (options_.asked_to_leave())
            return {RINGRT_ABORTED, "signalled to leave before it had joined"};
        RINGRT_TRY(base.poll(kSliceMs, &invited, answer));
    }
    return {};
}

Status Resizer::receive(JoinConnection &base, const JoinAnswer &answer, Position &position) {
    forming_ = std::make_unique<Forming>(
        config(join_file(options_.directory, answer.number), answer.rank, answer.size),
        Forming::Wanted{.gpu = options_.gpu(), .spares = options_.spares});
    state_.touch();
    Status met;
    while (met.ok() && forming_->state() == Formed::under_way) {
        bool ignored = false;
        JoinAnswer none;
        met = base.poll(1, &ignored, &none);
        if (options_.asked_to_leave())
            met = {RINGRT_ABORTED, "signalled to leave before it had joined"};
    }
    if (met.ok() && forming_->state() == Formed::failed) met = forming_->outcome();
    Header header;
    if (met.ok()) met = transfer(forming_->communicator(), header);
    if (met.ok() && (header.levels < 2 || header.levels > kLevelsMax))
        met = {RINGRT_MISMATCH, "the base sent an invalid state"};
    if (!met.ok()) {
        drop_forming();
        return met;
    }
    above_.clear();
    above_.resize(header.levels - 2);
    adopt();
    machine_.joined({header.sizes, header.sizes + header.levels});
    position = header.position;
    return {};
}

}  // namespace ringrt::live
