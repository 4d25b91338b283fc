// SPDX-License-Identifier: BSD-3-Clause
// The lease of ringrtd: every order of contenders, their writes and the clock, exhaustively for two
// contenders and randomly for three; then the files.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "slurm_plugin/slurm/ringrtd/lease.h"
#include "slurm_plugin/slurm/ringrtd/lease_file.h"
#include "tests/support/check.h"
#include "tests/support/directory.h"

namespace {

using namespace ringrt::slurm;
using ringrt::test::TemporaryDirectory;

// Small integers keep the number of distinct states small: the guard is 1 of 4 seconds.
constexpr LeaseTimes kTimes{.lease_s = 3, .guard_s = 1, .margin_s = 1, .renew_s = 1, .look_s = 1};

// One contender in the model. An operation begins, takes effect in the store later, and its answer
// arrives later still. Anything may happen in between, including a crash.
struct Contender {
    Contender(std::string name, LeaseTimes times, double beside)
        : lease(std::move(name), times), offset(beside) {}

    Lease lease;
    double offset = 0;  // its clock relative to the others'
    LeaseOp op = LeaseOp::rest;
    bool in_store = false;  // the operation has taken effect
    LeaseSeen found;
    LeaseWrite wrote = LeaseWrite::failed;
    LeaseRecord record;  // being written
    uint64_t number = 0;
    bool dead = false;
};

struct World {
    double now = 0;
    std::map<uint64_t, LeaseRecord> store;
    std::vector<Contender> all;
    bool same_host = false;  // dead processes can be recognized
};

World world_of(int contenders, bool same_host = false, LeaseTimes times = kTimes) {
    World world;
    world.same_host = same_host;
    for (int i = 0; i < contenders; ++i)
        world.all.emplace_back(std::string(1, static_cast<char>('A' + i)), times, 1000.0 * i);
    return world;
}

enum class Move : uint8_t { begin, take_effect, answer, fail, crash };
constexpr std::array kMoves{Move::begin, Move::take_effect, Move::answer, Move::fail, Move::crash};

bool is_dead_in(const World &world, const std::string &holder) {
    return world.same_host && world.all[static_cast<std::size_t>(holder[0] - 'A')].dead;
}

void reach_store(World &world, Contender &c) {
    c.in_store = true;
    c.found = {};
    if (c.op == LeaseOp::look && !world.store.empty()) {
        const auto &[number, record] = *world.store.rbegin();
        c.found = {
            .number = number, .record = record, .holder_is_dead = is_dead_in(world, record.holder)};
    } else if (c.op == LeaseOp::create) {
        const bool fresh = world.store.emplace(c.number, c.record).second;
        c.wrote = fresh ? LeaseWrite::done : LeaseWrite::exists;
        while (world.store.size() > 2) world.store.erase(world.store.begin());
    } else if (c.op == LeaseOp::renew) {
        world.store[c.number] = c.record;  // even if it was removed: rename() creates it again
        c.wrote = LeaseWrite::done;
    }
}

LeaseSeen failed_look() {
    LeaseSeen seen;
    seen.failed = true;
    return seen;
}

// Returns false if the move is impossible now.
bool play(World &world, std::size_t who, Move move) {
    Contender &c = world.all[who];
    if (c.dead) return false;
    const double mine = world.now + c.offset;
    switch (move) {
        case Move::begin:
            if (c.op != LeaseOp::rest) return false;
            c.op = c.lease.next(mine);
            c.in_store = false;
            c.record = c.lease.record();
            c.number = c.lease.number();
            return c.op != LeaseOp::rest;
        case Move::take_effect:
            if (c.op == LeaseOp::rest || c.in_store) return false;
            reach_store(world, c);
            return true;
        case Move::answer:
        case Move::fail:
            if (c.op == LeaseOp::rest || (move == Move::answer && !c.in_store)) return false;
            if (c.op == LeaseOp::look)
                c.lease.done(move == Move::fail ? failed_look() : c.found, mine);
            else
                c.lease.done(move == Move::fail ? LeaseWrite::failed : c.wrote, mine);
            c.op = LeaseOp::rest;
            return true;
        case Move::crash:
            c.dead = true;
            return true;
    }
    return false;
}

int acting(const World &world) {
    return static_cast<int>(std::ranges::count_if(world.all, [&](const Contender &c) {
        return !c.dead && c.lease.may_act(world.now + c.offset);
    }));
}

// A number for each state of the machine.
std::size_t number_of(const Lease &lease) {
    static std::map<Lease, std::size_t> known;
    return known.emplace(lease, known.size()).first->second;
}

std::string key_of(const World &world) {
    std::ostringstream out;
    out << world.now;
    for (const auto &[number, r] : world.store) out << '|' << number << r.holder << r.beat;
    for (const Contender &c : world.all) {
        out << '/' << c.dead << static_cast<int>(c.op) << c.in_store << static_cast<int>(c.wrote)
            << c.number << c.record.beat << ',' << c.found.number << c.found.holder_is_dead;
        if (c.found.record) out << c.found.record->holder << c.found.record->beat;
        out << ',' << number_of(c.lease);
    }
    return out.str();
}

struct Explored {
    std::size_t states = 0, active = 0;
    int most = 0;  // the most that act at once
};

// Every state that is reachable until `end_s`, in every order.
Explored explore(const World &start, double end_s, int crashes_max, int failures_max) {
    struct Node {
        World world;
        int crashes = 0, failures = 0;
    };
    Explored out;
    std::deque<Node> open{{start}};
    std::set<std::string> known;
    while (!open.empty()) {
        const Node node = std::move(open.back());
        open.pop_back();
        const std::string key =
            key_of(node.world) + ';' + std::to_string(node.crashes * 100 + node.failures);
        if (!known.insert(key).second) continue;
        const int acts = acting(node.world);
        out.most = std::max(out.most, acts);
        out.active += acts == 1;
        for (std::size_t who = 0; who < node.world.all.size(); ++who) {
            for (const Move move : kMoves) {
                Node next = node;
                next.crashes += move == Move::crash;
                next.failures += move == Move::fail;
                if (next.crashes > crashes_max || next.failures > failures_max) continue;
                if (play(next.world, who, move)) open.push_back(std::move(next));
            }
        }
        if (node.world.now < end_s) {
            Node later = node;
            later.world.now += 1;
            open.push_back(std::move(later));
        }
    }
    out.states = known.size();
    return out;
}

void tell(const char *what, const Explored &explored) {
    printf("# %s: %zu states, one acts in %zu of them\n", what, explored.states, explored.active);
    ck_assert_int_eq(explored.most, 1);
}

TEST(two_contenders_never_both_act_from_nothing) {
    tell("from nothing", explore(world_of(2), 4, 0, 0));
}

// A holds the lease, and B has just started. A stalls, crashes, or continues, at each point of a
// renewal.
World held_by_a(int contenders, bool same_host = false, LeaseTimes times = kTimes) {
    World world = world_of(contenders, same_host, times);
    for (int i = 0; i < 20 && !world.all[0].lease.may_act(world.now); ++i)
        for (const Move move : {Move::begin, Move::take_effect, Move::answer})
            (void)play(world, 0, move);
    ck_assert_int_eq(acting(world), 1);
    return world;
}

TEST(a_holder_that_stalls_is_succeeded_and_never_joined) {
    tell("held, no fault but stalls", explore(held_by_a(2), 6, 0, 0));
}

TEST(a_holder_that_crashes_anywhere_is_succeeded) {
    tell("held, one crash", explore(held_by_a(2), 5, 1, 0));
    tell("held, one crash, one host", explore(held_by_a(2, true), 4, 1, 0));
}

TEST(a_write_whose_answer_is_lost_makes_no_second_holder) {
    tell("held, one failure", explore(held_by_a(2), 4, 0, 1));
}

// This test can fail: margins that are too short are detected.
TEST(a_lease_without_margins_is_detected) {
    LeaseTimes hasty = kTimes;
    hasty.guard_s = 0;
    hasty.margin_s = -2;
    ck_assert_int_eq(explore(held_by_a(2, false, hasty), 4, 0, 0).most, 2);
}

// Random walks for what is too large to enumerate: three contenders, crashes, failures, long times.
TEST(three_contenders_never_act_together) {
    std::mt19937 random(17);
    std::size_t steps = 0, active = 0, holders = 0;
    for (int walk = 0; walk < 4000; ++walk) {
        World world = world_of(3, walk % 2 == 1);
        std::set<std::size_t> held;
        for (int step = 0; step < 600; ++step) {
            const auto who = random() % 3;
            const auto dice = random() % 200;
            if (dice < 2)
                world.now += 1;
            else if (dice == 30)
                world.now += static_cast<double>(random() % 9);  // all contenders stall
            else if (dice == 31 && step > 60)
                (void)play(world, who, Move::crash);
            else if (dice < 36)
                (void)play(world, who, Move::fail);
            else
                (void)play(world, who, kMoves[random() % 3]);
            const int acts = acting(world);
            ck_assert_msg(acts <= 1, "walk %d step %d: %d act at once", walk, step, acts);
            ++steps;
            active += acts == 1;
            for (std::size_t i = 0; i < 3; ++i)
                if (world.all[i].lease.holds()) held.insert(i);
        }
        holders += held.size() > 1;
    }
    printf("# %zu steps, one acts in %zu, the lease changed hands in %zu walks\n", steps, active,
           holders);
    fflush(stdout);
    ck_assert(active > steps / 20 && holders > 200);
}

// Runs every contender promptly. Returns the one that acts at the end, or -1.
int settle(World &world, double seconds) {
    for (const double end = world.now + seconds; world.now < end; world.now += 0.25)
        for (std::size_t who = 0; who < world.all.size(); ++who)
            for (int i = 0; i < 4; ++i)
                for (const Move move : {Move::begin, Move::take_effect, Move::answer})
                    (void)play(world, who, move);
    int found = -1;
    for (std::size_t who = 0; who < world.all.size(); ++who)
        if (!world.all[who].dead && world.all[who].lease.may_act(world.now + world.all[who].offset))
            found = static_cast<int>(who);
    return found;
}

TEST(one_contender_acts_soon_and_continues) {
    World world = world_of(3);
    const int first = settle(world, 1);
    ck_assert_int_ge(first, 0);
    ck_assert_int_eq(settle(world, 100), first);  // it does not change hands
    world.all[static_cast<std::size_t>(first)].dead = true;
    ck_assert_int_eq(settle(world, 2), -1);  // not before the lease has expired
    const int second = settle(world, 4);
    ck_assert_int_ge(second, 0);
    ck_assert_int_ne(second, first);
}

TEST(a_dead_process_of_the_same_host_is_succeeded_at_once) {
    World world = world_of(2, true);
    const int first = settle(world, 1);
    world.all[static_cast<std::size_t>(first)].dead = true;
    ck_assert_int_eq(settle(world, 1.5), 1 - first);
}

// From any state that the walks reach, the survivors find a holder again.
TEST(after_any_disorder_one_contender_acts_again) {
    std::mt19937 random(18);
    for (int walk = 0; walk < 2000; ++walk) {
        World world = world_of(3);
        for (int step = 0; step < 100; ++step) {
            if (random() % 6 == 0) world.now += 1;
            (void)play(world, random() % 3, kMoves[random() % 4]);
        }
        world.all[random() % 3].dead = true;
        ck_assert_msg(settle(world, 20) >= 0, "walk %d: nobody acts", walk);
    }
}

TEST(an_unreadable_lease_is_waited_out) {
    Lease lease("A", kTimes);
    LeaseSeen unreadable;
    unreadable.number = 7;
    double now = 0;
    for (; now < 20 && lease.state() != Lease::State::taking; now += 1)
        if (lease.next(now) == LeaseOp::look) lease.done(unreadable, now);
    ck_assert_double_ge(now, kTimes.lease_s + kTimes.margin_s);
    ck_assert_int_eq(static_cast<int>(lease.number()), 8);
}

TEST(a_holder_stops_before_its_time_is_over) {
    World world = held_by_a(1);
    world.store.clear();  // so that it can no longer renew
    ck_assert(world.all[0].lease.may_act(1.9) && !world.all[0].lease.may_act(2));
    ck_assert(world.all[0].lease.holds());
}

// ---- the files --------------------------------------------------------------------------------

const LeaseRecord kRecord{.holder = "h:1:2:b:3", .beat = 5, .takeover_s = 40};

TEST(a_lease_is_read_as_written) {
    const std::string text = format_lease(kRecord, "2026-01-01T00:00:00Z");
    ck_assert(parse_lease(text) == kRecord);
    for (std::size_t cut = 0; cut < text.size(); ++cut)
        ck_assert_msg(!parse_lease(text.substr(0, cut)), "cut at %zu", cut);
    std::mt19937 random(19);
    for (int i = 0; i < 20000; ++i) {
        std::string bad = text;
        bad[random() % bad.size()] = static_cast<char>(random());
        if (const auto parsed = parse_lease(bad))
            ck_assert(!parsed->holder.empty() && parsed->takeover_s >= 0);
    }
    ck_assert(!parse_lease(std::string(5000, 'x')));
}

TEST(one_of_many_creates_a_number) {
    const TemporaryDirectory directory;
    constexpr int kProcesses = 8, kNumbers = 40;
    for (int i = 0; i < kProcesses; ++i) {
        if (fork() != 0) continue;
        LeaseFile file(directory.path);
        LeaseRecord record = kRecord;
        record.holder = this_process();
        int won = 0;
        for (uint64_t number = 1; number <= kNumbers; ++number)
            won += file.create(number, record) == LeaseWrite::done;
        std::ofstream(directory.path + "/won." + std::to_string(i)) << won;
        _exit(0);
    }
    for (int i = 0; i < kProcesses; ++i) wait(nullptr);
    int won = 0;
    for (int i = 0; i < kProcesses; ++i) {
        int one = 0;
        std::ifstream(directory.path + "/won." + std::to_string(i)) >> one;
        won += one;
    }
    // A process that is far behind may create one that was removed: it sees a higher one then.
    ck_assert_int_ge(won, kNumbers);
    const LeaseSeen seen = LeaseFile(directory.path).look();
    ck_assert_int_eq(static_cast<int>(seen.number), kNumbers);
    ck_assert(seen.record && seen.holder_is_dead);
}

TEST(invalid_lease_files_do_no_harm) {
    const TemporaryDirectory directory;
    LeaseFile file(directory.path);
    ck_assert(file.look().number == 0 && !file.look().failed);
    for (const char *name : {"x", "-1", "18446744073709551615", "3x", ""})
        std::ofstream(directory.path + "/ringrtd.lease." + name) << "rubbish";
    ck_assert(file.look().number == 0);
    std::ofstream(directory.path + "/ringrtd.lease.4") << "rubbish";
    ck_assert(file.look().number == 4 && !file.look().record);
    std::filesystem::remove(directory.path + "/ringrtd.lease.4");
    std::filesystem::create_symlink("/etc/passwd", directory.path + "/ringrtd.lease.5");
    ck_assert(file.look().number == 5 && !file.look().record);
    ck_assert(file.create(5, kRecord) == LeaseWrite::exists);
    ck_assert(file.create(6, kRecord) == LeaseWrite::done);
    ck_assert(file.look().record == kRecord);
    LeaseFile nowhere(directory.path + "/nowhere");
    ck_assert(nowhere.look().failed && nowhere.create(1, kRecord) == LeaseWrite::failed);
    ck_assert(!nowhere.error().empty());
}

TEST(only_a_process_known_to_be_dead_counts_as_dead) {
    ck_assert(!is_dead(this_process()));
    std::string other = this_process();
    other.replace(other.rfind(':') + 1, std::string::npos, "1");
    ck_assert(!is_dead(other));  // another namespace: its processes are not visible
    ck_assert(!is_dead("") && !is_dead("a:b:c:d:e") && !is_dead("h:0:1::"));
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        const std::string me = this_process();
        const bool written = write(ends[1], me.data(), me.size()) > 0;
        pause();
        _exit(written ? 0 : 1);
    }
    std::array<char, 512> name{};
    ck_assert_int_gt(static_cast<int>(read(ends[0], name.data(), name.size() - 1)), 0);
    ck_assert(!is_dead(name.data()));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    ck_assert(is_dead(name.data()));
}

}  // namespace

int main() { return ringrt::test::run_all("lease"); }
