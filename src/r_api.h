// r_api.h - what other packages may call from C; inst/include/riffle.h is their side of it.
#ifndef RIFFLE_R_API_H
#define RIFFLE_R_API_H

// Registers the callables; once, when the package is loaded.
void api_init(void);

#endif
