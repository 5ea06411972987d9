#include <R_ext/Rdynload.h>
#include <R_ext/Visibility.h>

#include "r_altrep.h"
#include "r_api.h"
#include "r_calls.h"
#include "r_depth.h"
#include "r_ffi.h"
#include "r_lazy.h"
#include "r_threads.h"

static int live_calls;

void calls_begin(void) { live_calls++; }
void calls_end(void) { live_calls--; }
SEXP ffi_live_calls(void) { return Rf_ScalarInteger(live_calls); }

#define ENTRY(name, n) {#name, (DL_FUNC) &name, n}

static const R_CallMethodDef entries[] = {
    ENTRY(ffi_save, 10),
    ENTRY(ffi_serialize, 6),
    ENTRY(ffi_read, 6),
    ENTRY(ffi_deserialize, 5),
    ENTRY(ffi_marshall, 2),
    ENTRY(ffi_unmarshall, 2),
    ENTRY(ffi_calc_size, 2),
    ENTRY(ffi_option, 1),
    ENTRY(ffi_threads_set, 1),
    ENTRY(ffi_live_calls, 0),
    ENTRY(ffi_check_option, 2),
    ENTRY(ffi_convert, 5),
    ENTRY(ffi_info, 3),
    ENTRY(ffi_progress_pace, 1),
    ENTRY(ffi_is_plain, 1),
    ENTRY(ffi_sizes, 3),
    ENTRY(ffi_part_open, 1),
    ENTRY(ffi_part_close, 1),
    ENTRY(ffi_part_about, 1),
    ENTRY(ffi_part_stored, 1),
    ENTRY(ffi_part_read, 6),
    ENTRY(ffi_part_whole, 3),
    ENTRY(ffi_part_advise, 4),
    ENTRY(ffi_lazy, 4),
    ENTRY(ffi_hash, 3),
    ENTRY(ffi_compress, 4),
    ENTRY(ffi_decompress, 3),
    {NULL, NULL, 0}};

void attribute_visible R_init_riffle(DllInfo *dll) {
  R_registerRoutines(dll, NULL, entries, NULL, NULL);
  R_useDynamicSymbols(dll, FALSE);
  R_forceSymbols(dll, TRUE);
  threads_init();
  depth_init();
  altrep_init();
  lazy_init(dll);
  api_init();
}
