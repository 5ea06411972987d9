#include "r_build.h"

#include <R.h>
#include <R_ext/Altrep.h>
#include <Rversion.h>
#include <stdio.h>

#include "r_carrier.h"
#include "r_intern.h"
#include "r_input.h"
#include "r_item.h"
#include "r_progress.h"

enum {
  FIRST_FRAMES = 16,
  WRAPPED_MAX = 100,
  INTERRUPT_STRIDE = 1 << 12  // items between two looks for an interrupt
};

// What the next value is for. Objects that have begun lie on a stack of frames, and each of them,
// with what belongs to it, on a stack that R's garbage collector sees: `roots`.
enum frame_kind {
  IN_LIST,             // element i of n
  IN_ATTRIBUTES,       // value of attribute i; tags and values lie above the object in roots
  IN_CELL,             // the head of a pairlist's cell
  IN_CELL_ATTRIBUTES,  // the cell itself, now that it has its attributes
  IN_CELL_TAIL,        // what a pairlist ends with, if not NULL
  IN_ALTREP_INFO,
  IN_ALTREP_STATE,     // the info is the frame's object
  IN_POINTER_VALUE,    // an external pointer's protected value
  IN_POINTER_TAG
};

struct frame {
  enum frame_kind kind;
  uint32_t flags;  // the item's; in a pairlist, the cell's
  SEXP object;
  SEXP cell;       // pairlists: the one being filled
  R_xlen_t i, n;
  R_xlen_t root;   // where the object is in roots
};

enum { KEEP_ROOTS = KEEP_INTERN, KEEP_REFS, KEEP_REST, KEEP_ALL };  // elements of `keep`

struct build {
  struct input in;
  struct interner chars;
  bool data_only;
  bool may_stop;       // what is not plain is no error
  bool stopped;        // it was met
  SEXP keep;           // protected; holds roots, refs and what `chars` holds
  SEXP roots, refs;    // lists, longer than what is in them
  R_xlen_t n_roots, n_refs;
  struct frame *frames;
  size_t n_frames, cap_frames;
  size_t n_items;
  const struct index *index;  // with defer
  build_defer *defer;         // or NULL: nothing is left for later
  void *defer_ctx;
  struct frame first_frames[FIRST_FRAMES];
};

// ---- refusals -----------------------------------------------------------------------------

static const char *describe(uint32_t flags) {
  switch (flags & 0xff) {
    case ENVSXP:
    case ITEM_GLOBAL_ENV:
    case ITEM_EMPTY_ENV:
    case ITEM_BASE_ENV:
    case ITEM_PACKAGE_ENV: return "an environment";
    case ITEM_BASE_NAMESPACE:
    case ITEM_NAMESPACE: return "an environment (a namespace)";
    case CLOSXP: return "a function (closure)";
    case LANGSXP:
    case ITEM_ATTR_LANG: return "a call (language)";
    case PROMSXP: return "a promise";
    case SPECIALSXP: return "a function (special)";
    case BUILTINSXP: return "a function (builtin)";
    case DOTSXP: return "a `...` object";
    case BCODESXP: return "byte code (bytecode)";
    case EXTPTRSXP: return "an external pointer (externalptr)";
    case WEAKREFSXP: return "a weak reference (weakref)";
    case ITEM_PERSIST: return "a reference that a refhook made";
    case ITEM_UNBOUND: return "an unbound value";
    case ITEM_ALTREP: return "an ALTREP vector of a class that is not R's own";
    default: return NULL;
  }
}

// Something that is not plain, or not data. The value stands for nothing: the loop ends.
static SEXP refuse(struct build *b, uint32_t flags) {
  if (b->may_stop) {
    b->stopped = true;
    return R_NilValue;
  }
  const char *what = describe(flags);
  char reason[128];
  if (!what) input_corrupt(&b->in, "it holds an item of an unknown type");
  snprintf(reason, sizeof(reason), "it holds %s, and %s", what,
           b->data_only ? "`data_only = TRUE` accepts plain data only"
                        : "its header says that it holds plain data only");
  throw_reason(b->data_only ? "riffle_error_data_only" : "riffle_error_corrupt", reason,
               b->in.subject);
}

// ---- what is kept -------------------------------------------------------------------------

// A list with room for one more. The new one is put into `keep`, which protects it.
static SEXP with_room(struct build *b, SEXP list, R_xlen_t used, R_xlen_t at) {
  const R_xlen_t n = list ? XLENGTH(list) : 0;
  if (used < n) return list;
  SEXP longer = Rf_allocVector(VECSXP, n ? 2 * n : 32);
  for (R_xlen_t i = 0; i < n; i++) {
    SET_VECTOR_ELT(longer, i, VECTOR_ELT(list, i));
    SET_VECTOR_ELT(list, i, R_NilValue);
  }
  return SET_VECTOR_ELT(b->keep, at, longer);
}

static void root_push(struct build *b, SEXP x) {
  PROTECT(x);
  b->roots = with_room(b, b->roots, b->n_roots, KEEP_ROOTS);
  SET_VECTOR_ELT(b->roots, b->n_roots++, x);
  UNPROTECT(1);
}

static void ref_push(struct build *b, SEXP x) {
  PROTECT(x);
  b->refs = with_room(b, b->refs, b->n_refs, KEEP_REFS);
  SET_VECTOR_ELT(b->refs, b->n_refs++, x);
  UNPROTECT(1);
}

// What is read, but not part of the object: workers may be filling it until the end.
static void keep_rest(struct build *b, SEXP x) {
  SET_VECTOR_ELT(b->keep, KEEP_REST, Rf_cons(x, VECTOR_ELT(b->keep, KEEP_REST)));
}

static struct frame *top(struct build *b) { return &b->frames[b->n_frames - 1]; }

static struct frame *push(struct build *b, enum frame_kind kind, SEXP object, uint32_t flags) {
  root_push(b, object);
  if (b->n_frames == b->cap_frames) {
    struct frame *more = (struct frame *) R_alloc(2 * b->cap_frames, sizeof(struct frame));
    memcpy(more, b->frames, b->n_frames * sizeof(struct frame));
    b->frames = more;
    b->cap_frames *= 2;
  }
  struct frame *f = &b->frames[b->n_frames++];
  *f = (struct frame){.kind = kind, .flags = flags, .object = object, .root = b->n_roots - 1};
  return f;
}

// Ends the frame on top. Nothing protects `value` any longer: the next step attaches it.
static SEXP pop(struct build *b, SEXP value) {
  const R_xlen_t root = top(b)->root;
  while (b->n_roots > root) SET_VECTOR_ELT(b->roots, --b->n_roots, R_NilValue);
  b->n_frames--;
  return value;
}

// ---- symbols and references ---------------------------------------------------------------

static SEXP reference(struct build *b, uint32_t flags) {
  R_xlen_t i = flags >> 8;
  if (i == 0) i = (R_xlen_t) input_word(&b->in);
  if (i < 1 || i > b->n_refs) input_corrupt(&b->in, "it refers to an object that it does not hold");
  SEXP x = VECTOR_ELT(b->refs, i - 1);
  if (x != R_UnboundValue) return x;
  b->stopped = true;  // outside of the parts that are read
  return R_NilValue;
}

static SEXP new_symbol(struct build *b) {
  SEXP name = PROTECT(intern_read(&b->chars));
  if (name != NA_STRING && LENGTH(name) == 0) input_corrupt(&b->in, "a name in it is empty");
  SEXP symbol = Rf_installTrChar(name);
  UNPROTECT(1);
  ref_push(b, symbol);
  return symbol;
}

// The tag of a pairlist's cell: a symbol. R's hash tables keep any object there; they are refused.
static SEXP read_tag(struct build *b) {
  const uint32_t flags = input_word(&b->in);
  SEXP tag = R_NilValue;
  if ((flags & 0xff) == ITEM_REF)
    tag = reference(b, flags);
  else if ((flags & 0xff) == SYMSXP)
    tag = new_symbol(b);
  else if (b->may_stop)
    return refuse(b, flags);
  if (TYPEOF(tag) != SYMSXP) input_corrupt(&b->in, "a name in it is not one");
  return tag;
}

// ---- attributes ---------------------------------------------------------------------------

static SEXP end_attributes(struct build *b) {
  const struct frame *f = top(b);
  SEXP object = f->object;
  attributes_restore(object, f->flags, b->roots, f->root + 1, f->i);
  if (b->data_only && !attributes_fit(object))
    input_corrupt(&b->in, "an attribute in it does not fit its object");
  return pop(b, object);
}

static SEXP begin_item(struct build *b, uint32_t flags);

// The names of a list, if they are short and have no attributes: for lists of one shape a copy of
// the same, as packages change names in place. NULL, and nothing is taken, if they are something else.
static SEXP read_names(struct build *b) {
  SEXP names = intern_same_names(&b->chars);
  if (names) return Rf_duplicate(names);
  struct input *in = &b->in;
  const unsigned char *at = in->at;
  uint32_t flags = 0;
  if (in->end - at >= NAMES_MAX_LEN) flags = input_word_at(in, at);
  if (flags != STRSXP) return NULL;
  const uint64_t taken = in->reader ? in->reader->taken : 0;
  names = PROTECT(begin_item(b, input_word(in)));
  // as long as no other block was begun, `at` is where it was
  if (!in->reader || in->reader->taken == taken) {
    SEXP own = PROTECT(Rf_duplicate(names));
    intern_remember_names(&b->chars, at, own);
    UNPROTECT(1);
  }
  UNPROTECT(1);
  return names;
}

// Reads as far as the value of the next attribute, or to the end: then the object is complete.
static SEXP next_attribute(struct build *b) {
  for (;;) {
    const uint32_t flags = input_word(&b->in);
    if (flags == ITEM_NIL) return end_attributes(b);
    if (flags != (LISTSXP | FLAG_TAG)) {
      if (b->may_stop) return refuse(b, flags);
      input_corrupt(&b->in, "its attributes are not a list of names and values");
    }
    SEXP tag = read_tag(b);
    if (b->stopped) return NULL;
    root_push(b, tag);
    SEXP names =
        tag == R_NamesSymbol && !(top(b)->flags & FLAG_OBJECT) ? read_names(b) : NULL;
    if (!names) return NULL;
    root_push(b, names);
    top(b)->i++;
  }
}

static SEXP take_attribute(struct build *b, SEXP value) {
  root_push(b, value);
  top(b)->i++;
  return next_attribute(b);
}

static SEXP begin_attributes(struct build *b, SEXP x, uint32_t flags) {
  push(b, IN_ATTRIBUTES, x, flags);
  return next_attribute(b);
}

// The object without attributes may still differ from a fresh one by its bits.
static SEXP finish(struct build *b, SEXP x, uint32_t flags) {
  if (flags & FLAG_ATTRIBUTES) return begin_attributes(b, x, flags);
  if ((flags & (FLAG_OBJECT | FLAG_S4)) || TYPEOF(x) == S4SXP) {
    PROTECT(x);
    attributes_restore(x, flags, NULL, 0, 0);
    UNPROTECT(1);
  }
  return x;
}

// ---- vectors ------------------------------------------------------------------------------

static R_xlen_t read_length(struct build *b, size_t size) {
  const int32_t word = (int32_t) input_word(&b->in);
  uint64_t n = (uint32_t) word;
  if (word < -1) input_corrupt(&b->in, "a length in it is negative");
  if (word == -1) {
    n = (uint64_t) input_word(&b->in) << 32;
    n |= input_word(&b->in);
  }
  if (n > R_XLEN_T_MAX) input_corrupt(&b->in, "a length in it is larger than any vector's");
  input_check_length(&b->in, n, size);
  return (R_xlen_t) n;
}

static void *numbers_of(SEXP x) {
  switch (TYPEOF(x)) {
    case INTSXP: return INTEGER(x);
    case REALSXP: return REAL(x);
    case LGLSXP: return LOGICAL(x);
    case CPLXSXP: return COMPLEX(x);
    default: return RAW(x);
  }
}

// Whose payload is next: the lists that have begun, and how far each is.
static void locate(const struct build *b, struct payload *p) {
  for (size_t i = 0; i < b->n_frames && p->depth < PAYLOAD_DEPTH; i++) {
    if (b->frames[i].kind != IN_LIST) return;
    p->where[p->depth++] = b->frames[i].i;
  }
}

// Whether what comes next are the names of a list: who uses it needs them first.
static bool are_list_names(struct build *b) {
  return b->n_frames && top(b)->kind == IN_ATTRIBUTES && TYPEOF(top(b)->object) == VECSXP &&
         VECTOR_ELT(b->roots, b->n_roots - 1) == R_NamesSymbol;
}

// The vector whose elements come next, if they can be left for later. Else NULL.
static SEXP deferred(struct build *b, SEXPTYPE type, R_xlen_t n, size_t size) {
  struct input *in = &b->in;
  if (!b->defer || in->at < in->end || in->swap) return NULL;
  if (type == STRSXP ? are_list_names(b) : (size_t) n * size < DEFER_MIN_LEN) return NULL;
  struct payload p = {.type = type, .n = n, .at = input_position(in)};
  struct deferrable d;
  if (p.at >= in->reader->stream_total) return NULL;
  const size_t block = index_find(b->index, p.at);
  if (index_block(b->index, block)->stream_at != p.at || !deferrable_at(b->index, block, &d))
    return NULL;
  const bool fits = type == STRSXP ? index_block(b->index, block)->kind == BLOCK_STRINGS &&
                                         d.count == (uint64_t) n
                                   : d.stream_end - p.at == (uint64_t) n * size;
  if (!fits) return NULL;
  p.end = d.stream_end;
  locate(b, &p);
  SEXP x = PROTECT(b->defer(b->defer_ctx, &p));
  input_skip_to(in, p.end);
  UNPROTECT(1);
  return x;
}

static SEXP read_numbers(struct build *b, SEXPTYPE type, size_t size) {
  const R_xlen_t n = read_length(b, size);
  SEXP later = deferred(b, type, n, size);
  if (later) return later;
  SEXP x = PROTECT(Rf_allocVector(type, n));
  input_numbers(&b->in, numbers_of(x), (size_t) n * size, size == 16 ? 8 : size);
  UNPROTECT(1);
  return x;
}

static SEXP read_strings(struct build *b) {
  const R_xlen_t n = read_length(b, 8);
  SEXP later = deferred(b, STRSXP, n, 8);
  if (later) return later;
  SEXP x = PROTECT(Rf_allocVector(STRSXP, n));
  intern_fill(&b->chars, x);
  UNPROTECT(1);
  return x;
}

static SEXP begin_list(struct build *b, uint32_t flags) {
  const R_xlen_t n = read_length(b, 4);
  SEXP x = Rf_allocVector(flags & 0xff, n);
  if (n == 0) return finish(b, x, flags);
  push(b, IN_LIST, x, flags)->n = n;
  return NULL;
}

static SEXP take_element(struct build *b, SEXP value) {
  struct frame *f = top(b);
  SET_VECTOR_ELT(f->object, f->i, value);
  if (++f->i < f->n) return NULL;
  SEXP x = f->object;
  if (!(f->flags & (FLAG_ATTRIBUTES | FLAG_OBJECT | FLAG_S4))) return pop(b, x);
  if (!(f->flags & FLAG_ATTRIBUTES)) return finish(b, pop(b, x), f->flags);
  f->kind = IN_ATTRIBUTES;
  f->i = 0;
  return next_attribute(b);
}

// ---- pairlists ----------------------------------------------------------------------------

static SEXP cell_tag(struct build *b) {
  struct frame *f = top(b);
  SEXP tag = f->flags & FLAG_TAG ? read_tag(b) : R_NilValue;
  if (b->stopped) return NULL;
  SET_TAG(f->cell, tag);
  f->kind = IN_CELL;
  return NULL;
}

// A cell's attributes come first, then its tag, its head, and the next cell.
static SEXP cell_content(struct build *b) {
  struct frame *f = top(b);
  if (!(f->flags & (FLAG_ATTRIBUTES | FLAG_OBJECT | FLAG_S4))) return cell_tag(b);
  f->kind = IN_CELL_ATTRIBUTES;
  return finish(b, f->cell, f->flags);
}

static SEXP begin_pairlist(struct build *b, uint32_t flags) {
  SEXP cell = Rf_cons(R_NilValue, R_NilValue);
  push(b, IN_CELL, cell, flags)->cell = cell;
  return cell_content(b);
}

// Only the state of an ALTREP object is a pair that ends in something else than NULL: R's code
// follows a pairlist to that.
static bool is_altrep_state(const struct build *b) {
  return b->n_frames >= 2 && b->frames[b->n_frames - 2].kind == IN_ALTREP_STATE;
}

static SEXP next_cell(struct build *b) {
  const uint32_t flags = input_word(&b->in);
  struct frame *f = top(b);
  if (flags == ITEM_NIL) return pop(b, f->object);
  if ((flags & 0xff) != LISTSXP) {
    if (!is_altrep_state(b) && b->may_stop) return refuse(b, flags);
    if (!is_altrep_state(b)) input_corrupt(&b->in, "a pairlist in it has no end");
    f->kind = IN_CELL_TAIL;
    return begin_item(b, flags);
  }
  SEXP cell = Rf_cons(R_NilValue, R_NilValue);
  SETCDR(f->cell, cell);
  f->cell = cell;
  f->flags = flags;
  return cell_content(b);
}

// ---- external pointers and ALTREP ---------------------------------------------------------

static SEXP begin_pointer(struct build *b, uint32_t flags) {
  SEXP x = R_MakeExternalPtr(NULL, R_NilValue, R_NilValue);
  push(b, IN_POINTER_VALUE, x, flags);
  ref_push(b, x);
  return NULL;
}

static SEXP take_altrep_info(struct build *b, SEXP value) {
  struct frame *f = top(b);
  SET_VECTOR_ELT(b->roots, f->root, value);
  f->object = value;
  f->kind = IN_ALTREP_STATE;
  return NULL;
}

// R wraps what it wrapped already a few times at most. Each function of R goes down all of a chain.
static bool is_wrapped_often(SEXP state) {
  SEXP x = TYPEOF(state) == LISTSXP ? CAR(state) : state;
  for (int i = 0; i < WRAPPED_MAX; i++) {
    if (!ALTREP(x)) return false;
    x = R_altrep_data1(x);
    if (TYPEOF(x) == LISTSXP) x = CAR(x);
  }
  return true;
}

static SEXP take_altrep_state(struct build *b, SEXP value) {
  const struct frame *f = top(b);
  const uint32_t flags = f->flags;
  if (is_wrapped_often(value)) input_corrupt(&b->in, "a vector in it is wrapped too often");
  root_push(b, value);
  if (b->in.reader) {
    keep_rest(b, f->object);
    keep_rest(b, value);
  }
  SEXP x = altrep_restore(f->object, value);
  if (!x) return refuse(b, flags);
  pop(b, R_NilValue);
  return begin_attributes(b, x, flags);
}

// ---- items --------------------------------------------------------------------------------

// A bit among the levels that is neither kept nor known to be of no account.
static bool has_odd_bits(uint32_t flags) {
  return ((flags & ~(uint32_t) (FLAG_S4 | FLAG_GROWABLE)) >> LEVELS_SHIFT) != 0;
}

static SEXP environment(struct build *b, uint32_t flags, SEXP env) {
  return b->data_only ? refuse(b, flags) : env;
}

// Reads what follows the flags word: the item if it is complete, NULL if a frame waits for more.
static SEXP begin_item(struct build *b, uint32_t flags) {
  const uint32_t type = flags & 0xff;
  if (has_odd_bits(flags) && type != ITEM_REF && b->may_stop) return refuse(b, flags);
  switch (type) {
    case ITEM_NIL:
    case NILSXP: return R_NilValue;
    case ITEM_REF: return reference(b, flags);
    case SYMSXP: return new_symbol(b);
    case LGLSXP:
    case INTSXP: return finish(b, read_numbers(b, type, 4), flags);
    case REALSXP: return finish(b, read_numbers(b, type, 8), flags);
    case CPLXSXP: return finish(b, read_numbers(b, type, 16), flags);
    case RAWSXP: return finish(b, read_numbers(b, type, 1), flags);
    case STRSXP: return finish(b, read_strings(b), flags);
    case VECSXP:
    case EXPRSXP: return begin_list(b, flags);
    case LISTSXP: return begin_pairlist(b, flags);
    case S4SXP: return finish(b, Rf_allocS4Object(), flags);
    case ITEM_ALTREP: push(b, IN_ALTREP_INFO, R_NilValue, flags); return NULL;
    case ITEM_MISSING_ARG: return R_MissingArg;
    case ITEM_GLOBAL_ENV: return environment(b, flags, R_GlobalEnv);
    case ITEM_BASE_ENV: return environment(b, flags, R_BaseEnv);
    case ITEM_EMPTY_ENV: return environment(b, flags, R_EmptyEnv);
    case ITEM_BASE_NAMESPACE: return environment(b, flags, R_BaseNamespace);
    case ITEM_UNBOUND: return environment(b, flags, R_UnboundValue);
    case EXTPTRSXP: return b->data_only ? refuse(b, flags) : begin_pointer(b, flags);
    default: return refuse(b, flags);
  }
}

// Gives the frame on top the value it waits for. Returns the frame's object when that completes
// it, NULL when it waits for more.
static SEXP take(struct build *b, SEXP value) {
  struct frame *f = top(b);
  switch (f->kind) {
    case IN_LIST: return take_element(b, value);
    case IN_ATTRIBUTES: return take_attribute(b, value);
    case IN_CELL: SETCAR(f->cell, value); return next_cell(b);
    case IN_CELL_ATTRIBUTES: return cell_tag(b);
    case IN_CELL_TAIL: SETCDR(f->cell, value); return pop(b, f->object);
    case IN_ALTREP_INFO: return take_altrep_info(b, value);
    case IN_ALTREP_STATE: return take_altrep_state(b, value);
    case IN_POINTER_VALUE:
      R_SetExternalPtrProtected(f->object, value);
      f->kind = IN_POINTER_TAG;
      return NULL;
    case IN_POINTER_TAG:
      R_SetExternalPtrTag(f->object, value);
      if (f->flags & FLAG_ATTRIBUTES) {
        f->kind = IN_ATTRIBUTES;
        return next_attribute(b);
      }
      return finish(b, pop(b, f->object), f->flags);
  }
  return NULL;
}

// What has been begun, to its end. `value` is what it waits for, or NULL.
static SEXP complete(struct build *b, SEXP value) {
  for (;;) {
    while (value && !b->stopped) {
      if (b->n_frames == 0) return value;
      value = take(b, value);
    }
    if (b->stopped) return NULL;
    if (++b->n_items % INTERRUPT_STRIDE == 0) progress_look();
    value = begin_item(b, input_word(&b->in));
  }
}

static SEXP build_object(struct build *b) { return complete(b, NULL); }

// ---- the stream's header ------------------------------------------------------------------

static const char *read_header(struct build *b) {
  char format[2];
  input_bytes(&b->in, format, 2);
  if (format[1] != '\n' || (format[0] != 'B' && format[0] != 'X'))
    return "it is not in one of R's binary formats, as marshall() and serialize() make them";
  b->in.swap = format[0] == 'X' && !host_is_big_endian();
  const uint32_t version = input_word(&b->in);
  input_word(&b->in);  // the R that wrote it
  const uint32_t first_reader = input_word(&b->in);
  if (version != 2 && version != 3) return "it is in a version of R's stream other than 2 and 3";
  if (first_reader > R_VERSION) return "it needs a newer R";
  if (version == 2) return NULL;
  const uint32_t n = input_word(&b->in);
  if (n > NATIVE_NAME_MAX) return "the name of its encoding is too long";
  input_bytes(&b->in, b->chars.native, n);
  return NULL;
}

static void begin_build(struct build *b, SEXP keep) {
  b->keep = b->chars.keep = keep;
  b->chars.in = &b->in;
  b->frames = b->first_frames;
  b->cap_frames = FIRST_FRAMES;
}

static SEXP build(struct build *b, SEXP keep) {
  begin_build(b, keep);
  const char *reason = read_header(b);
  if (reason && b->may_stop) return NULL;
  if (reason)
    throw_reason(b->data_only ? "riffle_error_data_only" : "riffle_error_corrupt", reason,
                 b->in.subject);
  return build_object(b);
}

SEXP build_read(struct reader *r, const struct subject *subject, enum build_what what) {
  struct build b = {.in = input_reader(r, subject),
                    .data_only = what == BUILD_DATA,
                    .may_stop = what == BUILD_IF_PLAIN};
  SEXP x = build(&b, PROTECT(Rf_allocVector(VECSXP, KEEP_ALL)));
  PROTECT(x ? x : R_NilValue);
  input_wait(&b.in);
  UNPROTECT(2);
  return x;
}

SEXP build_from_memory(const unsigned char *p, size_t n, const struct subject *subject,
                       bool data_only) {
  struct build b = {.in = input_memory(p, n, subject),
                    .data_only = data_only,
                    .may_stop = !data_only};
  SEXP x = build(&b, PROTECT(Rf_allocVector(VECSXP, KEEP_ALL)));
  UNPROTECT(1);
  return x;
}

// ---- parts --------------------------------------------------------------------------------

// The references numbered before the last of the parts. One that is no symbol is met only by who reads
// the part that made it.
static void preset_references(struct build *b, const struct directory *d, uint32_t n) {
  size_t at = 0;
  struct item name;
  for (uint32_t i = 0; i < n && item_list_next(&d->symbols, &at, &name); i++) {
    SEXP x = R_UnboundValue;
    if (name.len) {
      SEXP chars = PROTECT(intern_item(&b->chars, name.flags, name.chars, (int32_t) name.len));
      x = Rf_installTrChar(chars);
      UNPROTECT(1);
    }
    ref_push(b, x);
  }
}

static SEXP range_of_numbers(struct build *b, const struct part *p, const struct wish *w) {
  const size_t size = (size_t) (p->payload_len / p->length);
  SEXP x = PROTECT(Rf_allocVector(p->type, (R_xlen_t) w->n));
  input_skip_to(&b->in, part_payload_at(p) + w->from * size);
  input_numbers(&b->in, numbers_of(x), (size_t) w->n * size, size == 16 ? 8 : size);
  UNPROTECT(1);
  return x;
}

// Strings that lie among others are read with them.
static SEXP range_of_read_strings(struct build *b, const struct part *p, const struct wish *w) {
  input_skip_to(&b->in, part_payload_at(p));
  SEXP all = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t) p->length));
  intern_fill(&b->chars, all);
  SEXP x = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t) w->n));
  for (R_xlen_t i = 0; i < XLENGTH(x); i++)
    SET_STRING_ELT(x, i, STRING_ELT(all, (R_xlen_t) w->from + i));
  UNPROTECT(2);
  return x;
}

static SEXP range_of_strings(struct build *b, const struct index *x, const struct part *p,
                             const struct wish *w) {
  size_t block;
  uint64_t before;
  if (!wish_in_blocks(x, w, &block, &before)) return range_of_read_strings(b, p, w);
  input_skip_to(&b->in, index_block(x, block)->stream_at);
  SEXP strings = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t) w->n));
  intern_fill_range(&b->chars, strings, (size_t) before);
  UNPROTECT(1);
  return strings;
}

// The attributes of a part that has a range are those of the whole: none goes by the element.
static SEXP build_range(struct build *b, const struct index *x, const struct part *p,
                        const struct wish *w) {
  input_check_length(&b->in, w->n, (size_t) part_element_len(p->type));
  SEXP value = w->n == 0            ? Rf_allocVector(p->type, 0)
               : part_is_strings(p) ? range_of_strings(b, x, p, w)
                                    : range_of_numbers(b, p, w);
  if (!part_has_attributes(p)) return value;
  PROTECT(value);
  input_skip_to(&b->in, part_payload_at(p) + p->payload_len);
  value = complete(b, begin_attributes(b, value, p->flags));
  UNPROTECT(1);
  return value;
}

static SEXP build_whole(struct build *b, const struct part *p) {
  input_skip_to(&b->in, p->at);
  return build_object(b);
}

// The builder of parts: it knows what the stream's header says.
static void begin_parts(struct build *b, SEXP keep) {
  begin_build(b, keep);
  const char *reason = read_header(b);
  if (reason) input_corrupt(&b->in, reason);
}

SEXP build_parts(struct reader *r, const struct subject *subject, const struct index *x,
                 const struct wish *wishes, size_t n, bool data_only) {
  const struct directory *d = &x->directory;
  struct build b = {.in = input_memory(x->head, x->n_head, subject), .data_only = data_only};
  begin_parts(&b, PROTECT(Rf_allocVector(VECSXP, KEEP_ALL)));
  if (n) preset_references(&b, d, directory_part(d, wishes[n - 1].part)->n_refs);
  b.in = input_reader(r, subject);
  SEXP values = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t) n));
  for (size_t i = 0; i < n && !b.stopped; i++) {
    const struct part *p = directory_part(d, wishes[i].part);
    b.n_refs = p->n_refs;
    SEXP value = wishes[i].ranged ? build_range(&b, x, p, &wishes[i]) : build_whole(&b, p);
    if (value) SET_VECTOR_ELT(values, (R_xlen_t) i, value);
  }
  input_wait(&b.in);
  UNPROTECT(2);
  return b.stopped ? NULL : values;
}

// ---- what is read later -------------------------------------------------------------------

SEXP build_deferred(struct reader *r, const struct subject *subject, const struct index *x,
                    bool data_only, build_defer *defer, void *ctx) {
  struct build b = {.in = input_reader(r, subject),
                    .data_only = data_only,
                    .may_stop = true,
                    .index = x,
                    .defer = defer,
                    .defer_ctx = ctx};
  SEXP value = build(&b, PROTECT(Rf_allocVector(VECSXP, KEEP_ALL)));
  PROTECT(value ? value : R_NilValue);
  input_wait(&b.in);
  const bool whole = input_position(&b.in) == r->stream_total;
  UNPROTECT(2);
  return whole ? value : NULL;
}

SEXP build_payload(struct reader *r, const struct subject *subject, const struct index *x,
                   const struct payload *p, bool coded) {
  struct build b = {.in = input_memory(x->head, x->n_head, subject)};
  begin_parts(&b, PROTECT(Rf_allocVector(VECSXP, KEEP_ALL)));
  b.in = input_reader(r, subject);
  input_skip_to(&b.in, p->at);
  if (p->type == STRSXP && coded) {
    SEXP strings = intern_coded(&b.chars, p->n);
    UNPROTECT(1);
    return strings;
  }
  SEXP elements = PROTECT(Rf_allocVector(p->type, p->n));
  if (p->type == STRSXP)
    intern_fill(&b.chars, elements);
  else
    input_numbers(&b.in, numbers_of(elements), (size_t) (p->end - p->at), 4);  // nothing is swapped
  input_wait(&b.in);
  UNPROTECT(2);
  return elements;
}
