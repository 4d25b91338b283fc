/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators without a training job: all ranks form one, then each half of them forms one, and
 * sums in both run at the same time.
 *
 *     srun -n 4 ./communicators
 */
#include <ringrt_comm.h>
#include <stdio.h>
#include <stdlib.h>

static void must(ringrt_status_t status, const ringrt_comm_t *comm) {
    if (status == RINGRT_OK) return;
    fprintf(stderr, "%s: %s\n", ringrt_status_string(status), ringrt_comm_last_error(comm));
    exit(1);
}

int main(void) {
    ringrt_comm_t *all, *half;
    must(ringrt_comm_create(&all, NULL), NULL); /* rank, size and rendezvous come from srun */
    const int rank = ringrt_comm_rank(all), size = ringrt_comm_size(all);
    must(ringrt_comm_split(all, 2 * rank / size, rank, &half), all);

    const float mine = (float)rank;
    float mean_of_all, mean_of_half, halves[2];
    ringrt_request_t *request;
    must(ringrt_comm_allreduce(&mine, &mean_of_all, 1, RINGRT_FLOAT32, RINGRT_AVG, all, &request),
         all);
    must(ringrt_comm_allreduce(&mine, &mean_of_half, 1, RINGRT_FLOAT32, RINGRT_AVG, half, NULL),
         half);
    must(ringrt_wait(request), all);

    /* Connects the ranks i of both halves. */
    ringrt_comm_t *across;
    must(ringrt_comm_split(all, ringrt_comm_rank(half), rank, &across), all);
    if (ringrt_comm_size(across) == 2) {
        must(ringrt_comm_allgather(&mean_of_half, halves, 1, RINGRT_FLOAT32, across, NULL), across);
        if (rank == 0)
            printf("mean of %d ranks: %.2f; of my half: %.2f, of the other: %.2f\n", size,
                   mean_of_all, halves[0], halves[1]);
    }
    must(ringrt_comm_destroy(across), NULL);
    must(ringrt_comm_destroy(half), NULL);
    must(ringrt_comm_destroy(all), NULL);
    return 0;
}
