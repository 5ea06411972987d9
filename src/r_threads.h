// r_threads.h - the session's default number of threads.
#ifndef RIFFLE_R_THREADS_H
#define RIFFLE_R_THREADS_H

// Reads the environment and counts the cores; once, when the package is loaded.
void threads_init(void);
int threads_get(void);

#endif
