// A simulator of its own in front of Phit: each rank adds up the blocks of a ring all-reduce. The simulator knows what
// ranks do and how long they calculate; Phit knows when their messages arrive.
//
//     ring SCENARIO [BYTES [CALCULATION]]
//
// prints when the last rank has all sums, in ticks, and what the network has carried.

#include "phit.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <queue>
#include <sstream>
#include <unordered_map>
#include <vector>

namespace {

// What the simulator does at a time of its own; events of one time take place in the order of their numbers.
struct Event {
    uint64_t time;
    uint64_t number;
    std::function<void()> action;
    bool operator>(const Event &other) const {
        return time != other.time ? time > other.time : number > other.number;
    }
};

class Simulator {
  public:
    explicit Simulator(const std::string &scenario) : network(phit_open(scenario.c_str())) {
        if (network == nullptr) fail();
    }
    ~Simulator() { phit_close(network); }
    Simulator(const Simulator &) = delete;
    Simulator &operator=(const Simulator &) = delete;

    uint32_t ranks() const { return phit_ranks(network); }
    uint64_t now() const { return phit_now(network); }

    // Calls `action` after `delay` ticks.
    void after(uint64_t delay, std::function<void()> action) {
        events.push({now() + delay, count++, std::move(action)});
    }

    // Sends a message now, and calls `arrived` when all of it is there.
    void send(uint32_t source, uint32_t destination, uint64_t bytes, std::function<void()> arrived) {
        uint32_t handle = 0;
        if (phit_send(network, source, destination, bytes, 0, PHIT_NOW, &handle) != PHIT_OK) fail();
        waiting.emplace(handle, std::move(arrived));
    }

    // Runs until nothing is left to do. Of its own events and those of the network, the earlier one is next.
    void run() {
        while (!events.empty() || !waiting.empty()) {
            const uint64_t until = events.empty() ? PHIT_NEVER : events.top().time;
            if (phit_advance_to_completion(network, until) != PHIT_OK) fail();
            phit_completion list[64];
            size_t found = 0;
            while (size_t more = phit_completed(network, list, 64)) {
                found += more;
                for (size_t i = 0; i < more; i++) {
                    auto arrived = waiting.extract(list[i].handle);
                    arrived.mapped()();
                }
            }
            if (found == 0 && events.empty()) fail("messages were lost");
            while (!events.empty() && events.top().time <= now()) {
                auto action = events.top().action;
                events.pop();
                action();
            }
        }
    }

    phit_stats stats() const {
        phit_stats stats;
        phit_get_stats(network, &stats);
        return stats;
    }

    [[noreturn]] static void fail(const char *reason = phit_error()) {
        std::fprintf(stderr, "ring: %s\n", reason);
        std::exit(1);
    }

  private:
    phit_network *network;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
    std::unordered_map<uint32_t, std::function<void()>> waiting;
    uint64_t count = 0;
};

// A rank has received the block of a step: it adds the block to its own, and sends the sum on.
void received(Simulator &simulator, uint32_t rank, uint32_t step, uint64_t bytes, uint64_t calculation) {
    const uint32_t ranks = simulator.ranks(), steps = 2 * (ranks - 1), next = (rank + 1) % ranks;
    if (step == steps) return;
    // The second half of the steps hands sums round, without a calculation.
    simulator.after(step < ranks ? calculation : 0, [=, &simulator] {
        simulator.send(rank, next, bytes / ranks,
                       [=, &simulator] { received(simulator, next, step + 1, bytes, calculation); });
    });
}

} // namespace

int main(int count, char **arguments) {
    if (count < 2) Simulator::fail("expected the file of a scenario");
    std::stringstream scenario;
    scenario << std::ifstream(arguments[1]).rdbuf();
    const uint64_t bytes = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 65536;
    const uint64_t calculation = count > 3 ? std::strtoull(arguments[3], nullptr, 10) : 100;
    Simulator simulator(scenario.str());
    for (uint32_t rank = 0; rank < simulator.ranks(); rank++) received(simulator, rank, 0, bytes, calculation);
    simulator.run();
    const phit_stats stats = simulator.stats();
    std::printf("all sums after %" PRIu64 " ticks\n", simulator.now());
    std::printf("%" PRIu64 " messages, %" PRIu64 " bytes, %.1f ticks each\n", stats.completed, stats.bytes_completed,
                stats.latency_mean);
}
