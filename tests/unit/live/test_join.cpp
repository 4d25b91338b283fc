// SPDX-License-Identifier: BSD-3-Clause
// How rank 0 of a base answers ranks that ask to join: real connections, without communicators.
#include <unistd.h>

#include "libringrt/live/join_listener.h"
#include "libringrt/live/join_request.h"
#include "tests/support/check.h"
#include "tests/support/directory.h"

using namespace ringrt;
using namespace ringrt::live;
using namespace ringrt::test;

namespace {

constexpr uint64_t kLayout = 42;
constexpr uint32_t kSettings = 7;

struct Base {
    TemporaryDirectory directory;
    JoinListener listener{directory.path, kLayout, kSettings};
    Base() { ck_assert(listener.start().ok()); }

    void ask(JoinConnection &rank, const JoinRequest &request) const {
        RankContext self;
        Deadline deadline(self, "join", 20000);
        const Status asked = rank.ask(directory.path, request, &deadline, [] { return false; });
        ck_assert_msg(asked.ok(), "%s", asked.message.c_str());
    }
    void expect_refused(const JoinRequest &request, const std::string &why) {
        JoinConnection rank;
        ask(rank, request);
        Status answered;
        bool invited = false;
        JoinAnswer answer;
        for (int i = 0; i < 2000 && answered.ok(); ++i) answered = rank.poll(10, &invited, &answer);
        ck_assert_int_eq(answered.code, RINGRT_INVALID_ARGUMENT);
        ck_assert_msg(answered.message.find(why) != std::string::npos, "%s",
                      answered.message.c_str());
        ck_assert_uint_eq(listener.offer().number, 0);
    }
    // The next offer, after one that was closed or is `before`.
    JoinListener::Offer await_offer(uint32_t before = 0) {
        for (int i = 0; i < 20000; ++i) {
            const JoinListener::Offer offer = listener.offer();
            if (offer.number != before && offer.number != 0) return offer;
            usleep(1000);
        }
        return {};
    }
};

JoinRequest request(uint64_t job, uint32_t rank, uint32_t size) {
    return {.rank = rank, .size = size, .settings = kSettings, .job = job, .layout = kLayout};
}

}  // namespace

TEST(an_extension_with_another_library_is_refused) {
    Base base;
    for (const uint32_t version : {kJoinVersion - 1, kJoinVersion + 1, 0U, UINT32_MAX}) {
        JoinRequest other = request(7, 0, 1);
        other.version = version;
        base.expect_refused(other, "another version of libringrt");
    }
}

TEST(an_extension_of_another_program_is_refused) {
    Base base;
    JoinRequest other = request(7, 0, 1);
    other.layout = kLayout + 1;
    base.expect_refused(other, "other buffers or gradients");
}

TEST(an_extension_with_other_settings_is_refused) {
    Base base;
    JoinRequest other = request(7, 0, 1);
    other.settings = kSettings + 1;
    base.expect_refused(other, "another RINGRT_ORDER, RINGRT_ALGORITHM, RINGRT_GPU");
}

// The lower job first, then the other one, also if the first has gone.
TEST(two_extensions_ask_at_once) {
    for (const bool gone : {false, true}) {
        Base base;
        JoinConnection second[2], first[1];
        base.ask(second[1], request(9, 1, 2));
        base.ask(second[0], request(9, 0, 2));
        const JoinListener::Offer of_second = base.await_offer();
        ck_assert_uint_eq(of_second.ranks, 2);
        base.ask(first[0], request(8, 0, 1));
        const JoinListener::Offer offer = base.await_offer(of_second.number);
        ck_assert_uint_eq(offer.ranks, 1);
        if (gone) {
            first[0] = JoinConnection();
        } else {
            base.listener.invite(offer.number, 3, 4);
            bool invited = false;
            JoinAnswer answer;
            for (int i = 0; i < 2000 && !invited; ++i)
                ck_assert(first[0].poll(10, &invited, &answer).ok());
            ck_assert_int_eq(answer.rank, 3);
            ck_assert_int_eq(answer.size, 4);
            ck_assert(!base.listener.is_gone(offer.number));
        }
        ck_assert_uint_eq(base.await_offer(offer.number).number, of_second.number);
    }
}

TEST(an_extension_is_offered_when_all_its_ranks_ask) {
    Base base;
    JoinConnection ranks[2];
    base.ask(ranks[0], request(9, 0, 2));
    usleep(100000);  // the listener looks every 20 ms
    ck_assert_uint_eq(base.listener.offer().number, 0);
    base.ask(ranks[1], request(9, 1, 2));
    ck_assert_uint_eq(base.await_offer().ranks, 2);
}

int main() { return run_all("join"); }
