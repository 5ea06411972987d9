// r_calls.h - counts the calls whose resources are not released yet, for tests.
#ifndef RIFFLE_R_CALLS_H
#define RIFFLE_R_CALLS_H

void calls_begin(void);
void calls_end(void);

#endif
