// r_carrier.h - attributes and ALTREP forms put on objects as R's own reader would, unchecked.
//
// R's API has no way to set an attribute list as it is: setAttrib() checks and rewrites. But
// R_Unserialize() sets what it reads. So where setAttrib() could change something it is given a
// stream of a few words, made here, of an empty list that carries the attributes; each tag and each
// value in it is a "persistent reference", which R hands to a hook, and the hook returns the object
// that we have already. The attributes are then copied from the carrier by SHALLOW_DUPLICATE_ATTRIB().
// Not a byte of anyone's file is in that stream.
#ifndef RIFFLE_R_CARRIER_H
#define RIFFLE_R_CARRIER_H

#include <Rinternals.h>
#include <stdbool.h>
#include <stdint.h>

// Gives `target` the object and S4 bits of `flags` and n attributes: tag and value, in turn, are
// elements of the list `pairs` from `first` on. Tags are symbols. May take them out of `pairs`.
void attributes_restore(SEXP target, uint32_t flags, SEXP pairs, R_xlen_t first, R_xlen_t n);

// Whether the attributes that R's own code relies on (names, dim, dimnames, tsp, class) are of the
// kind and length that setAttrib() would have made sure of. R does not ask a stream for that.
bool attributes_fit(SEXP x);

// An ALTREP form of R itself from what the stream tells of it, without attributes. NULL: of another
// class, or with a state that its class does not write.
SEXP altrep_restore(SEXP info, SEXP state);

#endif
