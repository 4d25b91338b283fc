// SPDX-License-Identifier: BSD-3-Clause
// The argument checks of the operations in ringrt.h and ringrt_comm.h. They come before the
// operation begins, so that an invalid argument at one rank costs the other ranks nothing.
#pragma once

#include "libringrt/collective/communicator.h"

namespace ringrt {

Status check_allreduce(Communicator &over, const void *send, const void *recv, size_t count,
                       ringrt_dtype_t dtype, ringrt_op_t op);
// An allreduce whose result only root gets.
Status check_reduce_to(Communicator &over, const void *send, const void *recv, size_t count,
                       ringrt_dtype_t dtype, ringrt_op_t op, int root);
// Here and in what follows, but for a broadcast and a message, `count` is that of one rank's block.
Status check_reduce_scatter(Communicator &over, const void *send, const void *recv, size_t count,
                            ringrt_dtype_t dtype, ringrt_op_t op);
Status check_allgather(Communicator &over, const void *send, const void *recv, size_t count,
                       ringrt_dtype_t dtype);
Status check_broadcast(Communicator &over, const void *send, const void *recv, size_t count,
                       ringrt_dtype_t dtype, int root);
Status check_alltoall(Communicator &over, const void *send, const void *recv, size_t count,
                      ringrt_dtype_t dtype);
// A gather or scatter: each rank has one block; the root has all of them, including its own.
Status check_rooted(Communicator &over, const void *block, const void *blocks, size_t count,
                    ringrt_dtype_t dtype, int root);
// A message to or from one other rank.
Status check_message(Communicator &over, const void *data, size_t count, ringrt_dtype_t dtype,
                     int peer, int tag);

}  // namespace ringrt
