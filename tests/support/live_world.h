// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a base job and of its extensions, each with a live::Machine. Their communicators
// complete, break, and give ranks different results if one dies in the middle. A value to copy.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/live_ranks.h"

namespace ringrt::test {

class LiveWorld {
  public:
    // The jobs' sizes, the base's first. `keep`: at some moment the base is asked to keep only so
    // many ranks; the others are on another node. 0: never.
    LiveWorld(const std::vector<int> &jobs, int steps, int faults, int keep = 0)
        : steps_(steps), faults_(faults), keep_(keep) {
        comms_.push_back({});
        for (size_t job = 0; job < jobs.size(); ++job)
            for (int i = 0; i < jobs[job]; ++i) {
                Rank rank;
                rank.job = static_cast<int>(job);
                rank.machine = job == 0 ? Machine(jobs[0], i) : Machine::outside();
                if (job == 0) comms_[0].members.push_back(static_cast<int>(ranks.size()));
                if (job == 0) rank.levels = {0};
                ranks.push_back(rank);
            }
        for (int base : comms_[0].members) wait(base, At::train, 0);
        settle_down();
    }

    std::vector<Rank> ranks;
    std::string violation;

    [[nodiscard]] std::vector<Move> moves() const {
        std::vector<Move> out;
        for (int i = 0; i < count(); ++i) {
            const Rank &r = ranks[size_t(i)];
            auto add = [&](Move::Kind kind) { out.push_back({kind, i}); };
            if (r.at == At::released && faults_ > 0) add(Move::kill);
            if (!r.alive()) continue;
            if (i == 0 && keep_ > 0 && (!ordered_ || faults_ > 0)) add(Move::order);
            if (r.in_collective() && r.granted) add(Move::take);
            if (r.in_collective() && comm(r.on).broken) add(Move::lose);
            if (r.job > 0 && r.at == At::not_started) add(Move::start);
            if (r.next >= 0 && r.formed == Formed::under_way && all_form(r.next)) add(Move::formed);
            if (r.next >= 0 && r.formed == Formed::under_way && hopeless(r.next)) add(Move::failed);
            if (faults_ == 0 || r.at == At::not_started) continue;
            if (!r.asked) add(Move::ask);
            if (r.job == 0 && !leaves(i)) continue;
            add(Move::kill);
            if (r.at == At::joining) add(Move::cut);
        }
        return out;
    }

    void make(Move move) {
        Rank &r = ranks[size_t(move.rank)];
        switch (move.kind) {
            case Move::take:
                taken(move.rank);
                break;
            case Move::lose:
                lose(move.rank);
                break;
            case Move::start:
                r.at = At::asking;
                break;
            case Move::formed:
                has_formed(move.rank);
                break;
            case Move::failed:
                has_failed(move.rank);
                break;
            case Move::ask:
                --faults_, r.asked = true;
                break;
            case Move::kill:
                --faults_;
                lost_leaving_ = lost_leaving_ || r.job == 0;
                may_give_up_ = may_give_up_ || (r.job == 0 && !all_know_order());
                end(move.rank, At::dead);
                break;
            case Move::cut:
                --faults_, has_failed(move.rank);
                break;
            case Move::order:  // a second one withdraws it
                faults_ -= ordered_;
                if (std::exchange(ordered_, !ordered_)) keep_ = 0;
                break;
        }
        settle_down();
    }

    [[nodiscard]] bool is_over() const {
        return std::all_of(ranks.begin(), ranks.end(), [&](const Rank &r) {
            if (r.at == At::released || (r.job == 0 && r.at == At::dead && lost_leaving_))
                return true;
            return r.job == 0 ? r.at == At::ended && r.step == steps_
                              : !r.alive() || r.at == At::not_started;
        });
    }

    // If two texts are equal, everything that can follow is the same.
    [[nodiscard]] std::string signature() const {
        std::string out;
        auto put = [&](int value) { out.push_back(static_cast<char>(value + 2)); };
        for (const Rank &r : ranks) {
            for (int value : numbers_of(r)) put(value);
            for (int level : r.levels) put(level);
            for (const live::Vote &vote : r.votes)
                put(int(vote.offer) * 8 + int(vote.formed) * 2 + vote.leave), put(int(vote.keep));
            out.push_back('|');
        }
        for (const Comm &c : comms_)
            put(c.broken), put(c.parent), put(c.step), put(int(c.members.size()));
        put(faults_), put(keep_), put(ordered_), put(may_give_up_), put(lost_leaving_);
        return out;
    }

    [[nodiscard]] std::string text() const {
        std::string out = violation + "\n";
        for (int i = 0; i < count(); ++i)
            out += "rank " + std::to_string(i) + text_of(ranks[size_t(i)]) + "\n";
        return out;
    }

  private:
    [[nodiscard]] int count() const { return static_cast<int>(ranks.size()); }
    [[nodiscard]] const Comm &comm(int id) const { return comms_[size_t(id)]; }
    [[nodiscard]] bool leaves(int i) const { return kept_ > 0 && i >= kept_; }
    // Whether every rank that stays has started to form the smaller level 0.
    [[nodiscard]] bool all_know_order() const {
        for (int i = 0; i < kept_; ++i) {
            const Machine &machine = ranks[size_t(i)].machine;
            if (machine.keep() == 0 && machine.sizes() != std::vector{kept_}) return false;
        }
        return true;
    }
    void complain(const std::string &what) {
        if (violation.empty()) violation = what;
    }

    void wait(int i, At at, int on) {
        Rank &r = ranks[size_t(i)];
        r.at = at, r.on = on, r.granted = false;
        r.votes.clear();
    }

    // Makes every move that needs no choice: a collective completes once all its members have
    // reached it.
    void settle_down() {
        for (size_t id = 0; id < comms_.size(); ++id) complete(static_cast<int>(id));
        if (std::none_of(ranks.begin(), ranks.end(),
                         [](const Rank &r) { return r.job == 0 && r.alive(); }))
            for (int i = 0; i < count();
                 ++i)  // the base no longer accepts ranks: those outside end
                if (ranks[size_t(i)].at == At::asking || ranks[size_t(i)].at == At::not_started)
                    end(i, At::ended);
        for (int i = 0; i < count(); ++i)
            if (ranks[size_t(i)].at == At::asking && ranks[size_t(i)].asked) end(i, At::ended);
    }

    void complete(int id) {
        const Comm &c = comm(id);
        if (c.broken || c.members.empty()) return;
        const Rank &first = ranks[size_t(c.members[0])];
        bool same_step = true, same_call = true, everywhere = true;
        int newest = 0;
        std::vector<live::Vote> votes;
        for (int i : c.members) {
            const Rank &r = ranks[size_t(i)];
            if (!r.in_collective() || r.on != id || r.granted) return;
            same_call = same_call && r.at == first.at;
            same_step = same_step && (r.step == first.step || r.job > 0);
            everywhere = everywhere && r.received;
            newest = std::max(newest, r.step);
            votes.push_back(r.vote);
        }
        if (!same_call) complain("ranks wait for each other in different calls");
        if (first.at == At::train || first.at == At::ballot)
            for (int i : c.members)
                if (ranks[size_t(i)].step != first.step) complain("ranks are at different steps");
        if (first.at == At::transfer && !same_step) complain("a transfer between different steps");
        for (int i : c.members) {
            Rank &r = ranks[size_t(i)];
            r.granted = true, r.everywhere = everywhere, r.newest = newest;
            if (r.at == At::ballot) r.votes = votes;
            if (r.at == At::transfer) {
                r.sizes = first.machine.sizes();
                r.sizes.push_back(static_cast<int>(c.members.size()));
            }
        }
    }

    void taken(int i) {
        Rank &r = ranks[size_t(i)];
        switch (r.at) {
            case At::train:
                ++r.step;
                ballot(i);
                break;
            case At::ballot:
                count(i);
                break;
            case At::transfer:
                has_state(i, true);
                break;
            case At::confirm:
                follow(i, r.machine.confirmed(r.everywhere));
                break;
            case At::settle:
                if (r.newest < r.step) complain("a step is lost");
                r.step = r.newest;
                follow(i, r.machine.settled());
                break;
            case At::finish:
                return follow(i, r.machine.finished());
            default:
                break;
        }
    }

    void ballot(int i) {
        Rank &r = ranks[size_t(i)];
        r.vote = {.formed = r.formed, .leave = r.asked};
        r.vote.node = leaves(i) ? 2 : 1;
        const bool shrinks = i == 0 && ordered_ && r.machine.level() == 0 &&
                             r.machine.ranks() > keep_ && r.machine.phase() != Phase::forming;
        if (shrinks)
            r.vote.keep = uint32_t(keep_), r.vote.offer = 1;
        else if (i == 0 && r.machine.phase() == Phase::steady)
            r.vote.offer = offer(r.vote.offer_ranks);
        wait(i, At::ballot, r.levels.back());
    }

    void count(int i) {
        Rank &r = ranks[size_t(i)];
        const bool failed = std::any_of(r.votes.begin(), r.votes.end(), [](const live::Vote &vote) {
            return vote.formed == Formed::failed;
        });
        const Act act = r.machine.voted(std::vector(r.votes));
        if (failed && (act == Act::train || act == Act::transfer))
            complain("a join that failed is not called off");
        follow(i, act);
    }

    // Returns the first extension of which all ranks ask to join.
    uint32_t offer(uint32_t &size) const {
        for (int job = 1; job <= ranks.back().job; ++job) {
            uint32_t asking = 0, all = 0;
            for (const Rank &r : ranks)
                all += r.job == job, asking += r.job == job && r.at == At::asking;
            size = all;
            if (asking == all) return static_cast<uint32_t>(job);
        }
        return size = 0;
    }

    void lose(int i) {
        Rank &r = ranks[size_t(i)];
        if (r.at == At::transfer) return has_state(i, false);
        if (r.at == At::finish) return follow(i, r.machine.finished());
        // Training is the program's; it may have communicators of its own.
        if (r.at == At::train) r.machine.told_of_loss();
        follow(i, r.machine.lost());
    }

    void has_state(int i, bool well) {
        Rank &r = ranks[size_t(i)];
        if (r.machine.phase() == Phase::transferring) {
            r.received = well;
            (void)r.machine.transferred();
            return wait(i, At::confirm, r.levels.back());
        }
        if (!well) return has_failed(i);
        r.levels.assign(r.sizes.size() - 1, -1);
        r.levels.push_back(r.next);
        r.machine.joined(r.sizes);
        r.step = r.newest;
        r.next = -1, r.formed = Formed::not_asked;
        train(i);
    }

    void train(int i) {
        const Rank &r = ranks[size_t(i)];
        wait(i, r.step == steps_ ? At::finish : At::train, r.levels.back());
    }

    void follow(int i, Act act) {
        Rank &r = ranks[size_t(i)];
        switch (act) {
            case Act::train:
                break;
            case Act::form:
                form(i);
                break;
            case Act::call_off:
                drop_forming(i);
                break;
            case Act::adopt:
                if (!r.everywhere) complain("adopted, though a rank has not received the state");
                r.levels.push_back(r.next);
                r.next = -1, r.formed = Formed::not_asked;
                break;
            case Act::transfer:
                r.received = false;
                return wait(i, At::transfer, r.next);
            case Act::confirm:
                return wait(i, At::confirm, r.levels.back());
            case Act::settle:
                let_go_above(i, r.machine.level());
                return wait(i, At::settle, r.levels.back());
            case Act::rejoin:
                let_go_above(i, -1);
                r.at = At::asking;
                return;
            case Act::leave:  // at the program's end no rank waits for this one any more
                if (r.at == At::finish) r.levels.clear();
                return end(i, At::ended);
            case Act::shrink:
                if (r.machine.stays()) form_smaller(i);
                break;
            case Act::replace:
                return replace(i);
            case Act::release:
                drop_forming(i);
                r.at = At::released;
                return;
            case Act::fail:
                if (!may_give_up_ && !(lost_leaving_ && leaves(i))) complain("the base gave up");
                return end(i, At::dead);
        }
        train(i);
    }

    // The ranks that see one ballot form the same communicator.
    void form_with(int i, const std::vector<int> &members) {
        Rank &r = ranks[size_t(i)];
        const int parent = r.levels.back();
        auto known = std::find_if(comms_.begin(), comms_.end(), [&](const Comm &c) {
            return c.parent == parent && c.step == r.step;
        });
        if (known == comms_.end()) known = comms_.insert(known, {members, false, parent, r.step});
        r.next = static_cast<int>(known - comms_.begin());
        r.formed = Formed::under_way;
    }

    void form(int i) {
        const Rank &r = ranks[size_t(i)];
        std::vector<int> joining, members = comm(r.levels.back()).members;
        for (int j = 0; j < count(); ++j)
            if (ranks[size_t(j)].job == static_cast<int>(r.machine.offer())) joining.push_back(j);
        members.insert(members.end(), joining.begin(), joining.end());
        form_with(i, members);
        if (i != 0) return;
        for (int j : joining)  // rank 0 invites
            if (Rank &invited = ranks[size_t(j)]; invited.at == At::asking)
                invited.at = At::joining, invited.next = r.next, invited.formed = r.formed;
    }

    void form_smaller(int i) {
        const Rank &r = ranks[size_t(i)];
        const auto &present = comm(r.levels.back()).members;
        form_with(i, {present.begin(), present.begin() + r.machine.keep()});
    }

    void replace(int i) {
        Rank &r = ranks[size_t(i)];
        r.at = At::replacing;
        if (r.formed == Formed::under_way) return;
        if (r.formed != Formed::done) {
            drop_forming(i);
            return follow(i, r.machine.lost());
        }
        r.levels = {r.next};
        r.next = -1, r.formed = Formed::not_asked;
        wait(i, At::settle, r.levels.back());
    }

    // A rank may already use it, because it has formed there.
    [[nodiscard]] bool all_form(int id) const {
        return !comm(id).broken &&
               std::all_of(comm(id).members.begin(), comm(id).members.end(), [&](int i) {
                   const Rank &r = ranks[size_t(i)];
                   return r.next == id || (!r.levels.empty() && r.levels.back() == id);
               });
    }
    // Broken, or a rank of the extension never got or has lost its invitation.
    [[nodiscard]] bool hopeless(int id) const {
        return comm(id).broken ||
               std::any_of(comm(id).members.begin(), comm(id).members.end(), [&](int i) {
                   const Rank &r = ranks[size_t(i)];
                   return !r.alive() || (r.at == At::asking && ranks[0].next == id);
               });
    }

    void has_formed(int i) {
        Rank &r = ranks[size_t(i)];
        r.formed = Formed::done;
        if (r.at == At::replacing) return replace(i);
        if (r.at == At::joining) wait(i, At::transfer, r.next);
    }
    // A rank that joins asks again. A member reports the failure in the next ballot.
    void has_failed(int i) {
        Rank &r = ranks[size_t(i)];
        if (r.machine.is_outside()) {
            r.machine.called_off();
            drop_forming(i);
            r.at = At::asking;
            return;
        }
        r.formed = Formed::failed;
        if (r.at == At::replacing) replace(i);
    }

    void drop_forming(int i) {
        Rank &r = ranks[size_t(i)];
        if (r.next >= 0) comms_[size_t(r.next)].broken = true;
        r.next = -1, r.formed = Formed::not_asked;
    }
    void let_go_above(int i, int level) {
        Rank &r = ranks[size_t(i)];
        drop_forming(i);
        while (static_cast<int>(r.levels.size()) - 1 > level) {
            if (r.levels.back() >= 0) comms_[size_t(r.levels.back())].broken = true;
            r.levels.pop_back();
        }
    }
    void end(int i, At how) {
        let_go_above(i, -1);
        ranks[size_t(i)].at = how;
    }

    std::vector<Comm> comms_;
    int steps_, faults_;
    int keep_, kept_ = keep_;  // by the order; by the layout of the nodes
    bool ordered_ = false, may_give_up_ = false, lost_leaving_ = false;
};

}  // namespace ringrt::test
