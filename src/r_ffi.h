// r_ffi.h - every function that R may call.
#ifndef RIFFLE_R_FFI_H
#define RIFFLE_R_FFI_H

#include <Rinternals.h>

SEXP ffi_save(SEXP object, SEXP file, SEXP level, SEXP shuffle, SEXP nthreads, SEXP codec,
              SEXP refhook, SEXP format, SEXP progress, SEXP meta);
SEXP ffi_serialize(SEXP object, SEXP level, SEXP shuffle, SEXP nthreads, SEXP codec, SEXP refhook);
SEXP ffi_read(SEXP file, SEXP validate, SEXP nthreads, SEXP refhook, SEXP data_only,
              SEXP progress);
SEXP ffi_deserialize(SEXP input, SEXP validate, SEXP nthreads, SEXP refhook, SEXP data_only);
SEXP ffi_convert(SEXP input, SEXP output, SEXP format, SEXP level, SEXP nthreads);
SEXP ffi_marshall(SEXP object, SEXP version);
SEXP ffi_unmarshall(SEXP input, SEXP data_only);
SEXP ffi_calc_size(SEXP object, SEXP version);
SEXP ffi_is_plain(SEXP object);
SEXP ffi_info(SEXP file, SEXP validate, SEXP head);
SEXP ffi_part_open(SEXP file);
SEXP ffi_part_close(SEXP pointer);
SEXP ffi_part_about(SEXP pointer);
SEXP ffi_part_stored(SEXP pointer);
SEXP ffi_part_read(SEXP pointer, SEXP which, SEXP from, SEXP n, SEXP nthreads, SEXP data_only);
SEXP ffi_part_whole(SEXP pointer, SEXP nthreads, SEXP data_only);
SEXP ffi_part_advise(SEXP pointer, SEXP which, SEXP from, SEXP n);
SEXP ffi_lazy(SEXP file, SEXP nthreads, SEXP data_only, SEXP otherwise);
SEXP ffi_sizes(SEXP bytes, SEXP header_len, SEXP depth);
SEXP ffi_option(SEXP parameter);
SEXP ffi_threads_set(SEXP nthreads);
SEXP ffi_live_calls(void);
SEXP ffi_progress_pace(SEXP value);
SEXP ffi_check_option(SEXP parameter, SEXP value);
SEXP ffi_hash(SEXP x, SEXP bits, SEXP general);
SEXP ffi_compress(SEXP x, SEXP codec, SEXP level, SEXP nthreads);
SEXP ffi_decompress(SEXP x, SEXP max_size, SEXP nthreads);

#endif
