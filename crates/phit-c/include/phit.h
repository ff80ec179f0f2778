/* Phit behind another simulator: a network that the caller drives, message by message.
 *
 * A network runs on one thread. Functions with a `phit_status` say whether a call succeeded; after any other status
 * than PHIT_OK, phit_error() says what was wrong, and the call has changed nothing, except after PHIT_FAILED.
 *
 * Times are numbers of ticks. A cycle has phit_ticks_per_cycle() of them: one, unless the crossbar has a faster clock.
 */
#ifndef PHIT_H
#define PHIT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A network. */
typedef struct phit_network phit_network;

typedef enum phit_status {
    PHIT_OK = 0,
    PHIT_REFUSED = 1, /* an argument is wrong, or another thread uses the network */
    PHIT_FAILED = 2   /* the network cannot go on: a deadlock, or times beyond the last tick */
} phit_status;

/* As the time of a send: now. As a limit: none. As the time of the next event: no message can complete any more. */
#define PHIT_NEVER UINT64_MAX
#define PHIT_NOW UINT64_MAX

/* A message that has arrived. */
typedef struct phit_completion {
    uint64_t time; /* when all of it, and all earlier messages of its source, destination and tag, had arrived */
    uint64_t bytes;
    uint32_t handle;
    uint32_t source;
    uint32_t destination;
    uint32_t tag;
} phit_completion;

/* Totals since the start. Latencies are times from send to arrival, in ticks. */
typedef struct phit_stats {
    uint64_t sent;
    uint64_t completed;
    uint64_t bytes_sent;
    uint64_t bytes_completed;
    double latency_mean; /* 0 before the first completion */
    uint64_t latency_max;
} phit_stats;

/* The network of a scenario, given as text in TOML or JSON; NULL if it is refused. The scenario has no [traffic], no
 * [measure] and no program. Its [workload] may have packet_size, header, host and placement. */
phit_network *phit_open(const char *scenario);

/* Ends a network; NULL is allowed. */
void phit_close(phit_network *network);

/* What was wrong with the last call of this thread that did not succeed. Valid until its next such call. */
const char *phit_error(void);

/* Number of ranks: they send messages, and messages go to them. */
uint32_t phit_ranks(const phit_network *network);

uint32_t phit_ticks_per_cycle(const phit_network *network);

/* Length of a cycle in seconds, as [units] gives it; 0 if it does not. */
double phit_cycle_seconds(const phit_network *network);

/* The present: everything up to this tick, and in it, has happened. */
uint64_t phit_now(const phit_network *network);

/* Sends a message from rank to rank at tick `at`, the present or later; PHIT_NOW is the present. `handle`, which may be
 * NULL, receives the message's number, from 0 on. Messages of one source, destination and tag complete in the order of
 * sending. */
phit_status phit_send(phit_network *network, uint32_t source, uint32_t destination, uint64_t bytes, uint32_t tag,
                      uint64_t at, uint32_t *handle);

/* Goes on to the end of tick `until`. */
phit_status phit_advance(phit_network *network, uint64_t until);

/* Goes on to the end of the first tick in which a message completes, `until` at the latest; at once if completed messages
 * have not been fetched. With PHIT_NEVER it returns with nothing to fetch if no message can complete any more. */
phit_status phit_advance_to_completion(phit_network *network, uint64_t until);

/* The first tick in which a message may complete, or an earlier one; PHIT_NEVER if none can. */
uint64_t phit_next_event(phit_network *network);

/* Moves up to `room` completed messages to `list`, in the order of their times. Returns their number. */
size_t phit_completed(phit_network *network, phit_completion *list, size_t room);

void phit_get_stats(const phit_network *network, phit_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
