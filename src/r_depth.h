// r_depth.h - an error of ours before R's C stack runs out under a deeply nested object.
#ifndef RIFFLE_R_DEPTH_H
#define RIFFLE_R_DEPTH_H

#include "r_error.h"

// Learns where R's stack begins and how large it is; once, when the package is loaded.
void depth_init(void);
// Raises riffle_error_depth when little of the stack is left.
void depth_check(const struct subject *subject);

#endif
