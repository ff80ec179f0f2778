/* Counts the instructions of a program that QEMU runs: a plugin of its user mode, which prints them when the program
   ends. A block of instructions is counted as a whole, each time that it is entered.

   Only what is used of QEMU's interface is declared here: Debian has no header of it. */

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SEEN __attribute__((visibility("default")))

struct qemu_plugin_tb;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*then)(uint64_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, enum qemu_plugin_op, void *to, uint64_t by);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*then)(uint64_t, void *), void *data);

SEEN int qemu_plugin_version = 1;

static uint64_t instructions;

static void translated(uint64_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    uint64_t length = qemu_plugin_tb_n_insns(block);
    qemu_plugin_register_vcpu_tb_exec_inline(block, QEMU_PLUGIN_INLINE_ADD_U64, &instructions, length);
}

static void ended(uint64_t id, void *data)
{
    (void)id;
    (void)data;
    fprintf(stderr, "instructions: %" PRIu64 "\n", instructions);
}

SEEN int qemu_plugin_install(uint64_t id, const void *machine, int count, char **arguments)
{
    (void)machine;
    (void)count;
    (void)arguments;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
