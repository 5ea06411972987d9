// cores.h - how many threads this process may use.
#ifndef RIFFLE_CORES_H
#define RIFFLE_CORES_H

// The cores that affinity and container limits leave to this process; at least 1.
int cores_available(void);

#endif
