// SPDX-License-Identifier: BSD-3-Clause
// A communicator's sends, receives and groups. A group is submitted as one operation: its messages
// move concurrently, then its collectives run in call order.
#include "libringrt/api/comm_operation.h"

using namespace ringrt;

namespace {

ringrt_status_t pass(bool send, void *data, size_t count, ringrt_dtype_t dtype, int peer, int tag,
                     ringrt_comm_t *comm, ringrt_request_t **request) noexcept {
    return guard(comm, [&]() -> Status {
        auto valid = [&]() -> Status {
            RINGRT_TRY(check_message(of(comm), data, count, dtype, peer, tag));
            if (comm->group || peer != of(comm).rank()) return {};
            return invalid("peer is this rank: call its send and its receive in one group");
        };
        const PointToPoint message{send, data, count * dtype_bytes(dtype), peer, tag};
        if (comm->group)
            return join_group(*comm->group, request, valid,
                              [&](OpenGroup &group) { group.messages.push_back(message); });
        RINGRT_TRY(valid());
        return submit(comm, request, [=] { return of(comm).exchange({message}); });
    });
}

}  // namespace

extern "C" {

ringrt_status_t ringrt_comm_send(const void *send, size_t count, ringrt_dtype_t dtype, int peer,
                                 int tag, ringrt_comm_t *comm, ringrt_request_t **request) {
    return pass(true, const_cast<void *>(send), count, dtype, peer, tag, comm, request);
}

ringrt_status_t ringrt_comm_recv(void *recv, size_t count, ringrt_dtype_t dtype, int peer, int tag,
                                 ringrt_comm_t *comm, ringrt_request_t **request) {
    return pass(false, recv, count, dtype, peer, tag, comm, request);
}

ringrt_status_t ringrt_comm_group_start(ringrt_comm_t *comm) {
    return guard(comm, [&] {
        if (comm->group) return invalid("a group is open: end it by ringrt_comm_group_end()");
        comm->group = std::make_unique<OpenGroup>();
        return Status{};
    });
}

ringrt_status_t ringrt_comm_group_end(ringrt_comm_t *comm, ringrt_request_t **request) {
    return guard(comm, [&]() -> Status {
        if (!comm->group) return invalid("no group is open: ringrt_comm_group_start() begins one");
        const std::shared_ptr<OpenGroup> group = std::move(comm->group);
        RINGRT_TRY(group->refused);
        return submit(comm, request, [comm, group] {
            ringrt_status_t status = RINGRT_OK;
            if (!group->messages.empty()) status = of(comm).exchange(group->messages);
            for (const auto &collective : group->collectives)
                if (status == RINGRT_OK) status = collective();
            return status;
        });
    });
}

}  // extern "C"
