#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct range {
    size_t offset, size;
};

struct kernel {
    const char *symbol;
    size_t count;
    struct range params[64];
};

extern struct kernel kernels[];
extern const size_t kernel_count;

#define MUST(condition)                                                 \
    do {                                                                \
        if (!(condition)) {                                             \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                    \
        }                                                               \
    } while (0)

/* The byte that lies so far into the parameters; a boolean is true. */
void fill(void *to, size_t offset, size_t size, int is_bool);
/* Forgets the last launch. */
void begin(void);
/* Whether the last launch was this kernel's, with every byte in its place. */
int is_filled(const char *symbol);
