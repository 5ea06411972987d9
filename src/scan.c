#include "scan.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Types in a stream. See R Internals, "Serialization Formats".
enum {
  SYM = 1,
  LIST = 2,
  CLO = 3,
  ENV = 4,
  PROM = 5,
  LANG = 6,
  SPECIAL = 7,
  BUILTIN = 8,
  CHAR = 9,
  LGL = 10,
  INT = 13,
  REAL = 14,
  CPLX = 15,
  STR = 16,
  DOT = 17,
  VEC = 19,
  EXPR = 20,
  BCODE = 21,
  EXTPTR = 22,
  WEAKREF = 23,
  RAW = 24,
  S4 = 25,
  ALTREP = 238,
  ATTR_LIST = 239,
  ATTR_LANG = 240,
  BASE_ENV = 241,
  EMPTY_ENV = 242,
  CODE_REF = 243,
  CODE_DEF = 244,
  PERSIST = 247,
  PACKAGE = 248,
  NAMESPACE = 249,
  BASE_NAMESPACE = 250,
  MISSING = 251,
  UNBOUND = 252,
  GLOBAL_ENV = 253,
  NIL = 254,
  REF = 255
};

enum { FLAG_ATTRIBUTES = 1 << 9, FLAG_TAG = 1 << 10, FLAG_S4 = 1 << 16, FLAG_ACTIVE = 1 << 27 };

// So deep it looks without running out of stack.
enum { MAX_NESTED = 20000 };

struct scan_ref {
  uint64_t name_at;  // a symbol's, or 0
  uint32_t node;     // where it is shown, or SCAN_NO_NODE
  uint8_t type;
};

static uint8_t type_of(uint32_t flags) { return (uint8_t) (flags & 0xff); }

// ---- bytes: after a failure nothing is left of them ---------------------------------------

static void stop(struct scan *s, enum status code, const char *what) {
  fail(&s->err, code, 0, what);
  s->at = s->end;
}

static void corrupt(struct scan *s) {
  stop(s, ERR_CORRUPT, "it is not a stream of R's serializer");
}

static uint64_t left(const struct scan *s) { return (uint64_t) (s->end - s->at); }

static uint64_t offset(const struct scan *s) { return (uint64_t) (s->at - s->base); }

static uint32_t load(const unsigned char *p) {
  uint32_t v;
  memcpy(&v, p, sizeof(v));
  return v;
}

static uint32_t word(struct scan *s) {
  if (left(s) < 4) {
    corrupt(s);
    return NIL;
  }
  s->at += 4;
  return load(s->at - 4);
}

static void pass(struct scan *s, uint64_t n, uint64_t size) {
  if (n > left(s) / size) {
    corrupt(s);
    return;
  }
  s->at += n * size;
}

static uint64_t length(struct scan *s) {
  const uint32_t n = word(s);
  if (n != UINT32_MAX) return n;
  const uint64_t high = word(s);
  return high << 32 | word(s);
}

// Of a list: each element takes a word at least.
static uint64_t list_length(struct scan *s) {
  const uint64_t n = length(s);
  if (n <= left(s) / 4) return n;
  corrupt(s);
  return 0;
}

static void pass_chars(struct scan *s) {
  const uint32_t n = word(s);
  if (n != UINT32_MAX) pass(s, n, 1);
}

static void pass_strings(struct scan *s) {
  const uint64_t n = list_length(s);
  for (uint64_t i = 0; i < n && !s->err.code; i++) {
    if (type_of(word(s)) != CHAR) corrupt(s);
    pass_chars(s);
  }
}

// ---- references ---------------------------------------------------------------------------

static void *grown(struct scan *s, void *old, size_t n, size_t *cap, size_t size) {
  if (n < *cap) return old;
  const size_t wanted = *cap ? 2 * *cap : 64;
  void *p = realloc(old, wanted * size);
  if (!p)
    stop(s, ERR_NOMEM, "measuring the object");
  else
    *cap = wanted;
  return p;
}

static void add_ref(struct scan *s, uint8_t type, uint64_t name_at, uint32_t node) {
  struct scan_ref *refs = grown(s, s->refs, s->n_refs, &s->refs_cap, sizeof(*refs));
  if (!refs) return;
  s->refs = refs;
  s->refs[s->n_refs++] = (struct scan_ref){name_at, node, type};
}

static const struct scan_ref *ref_of(struct scan *s, uint32_t flags) {
  static const struct scan_ref none = {0, SCAN_NO_NODE, NIL};
  const uint32_t i = flags >> 8 ? flags >> 8 : word(s);
  if (i >= 1 && i <= s->n_refs) return &s->refs[i - 1];
  corrupt(s);
  return &none;
}

// The name of a symbol whose flags were read, an offset.
static uint64_t symbol(struct scan *s, uint32_t flags) {
  if (type_of(flags) == REF) return ref_of(s, flags)->name_at;
  if (type_of(flags) != SYM) {
    corrupt(s);
    return 0;
  }
  const uint64_t at = offset(s);
  add_ref(s, SYM, at, SCAN_NO_NODE);
  if (type_of(word(s)) != CHAR) corrupt(s);
  pass_chars(s);
  return s->err.code ? 0 : at;
}

static bool is_named(const struct scan *s, uint64_t at, const char *name) {
  if (!at) return false;
  uint32_t flags;
  size_t len;
  const char *p = scan_chars(s, at, &flags, &len);
  return p && len == strlen(name) && memcmp(p, name, len) == 0;
}

static bool is_srcref(const struct scan *s, uint64_t name_at) {
  return is_named(s, name_at, "srcref") || is_named(s, name_at, "srcfile") ||
         is_named(s, name_at, "wholeSrcref");
}

// ---- items that get no node ---------------------------------------------------------------

static void tally_add(struct scan_tally *to, const struct scan_tally *from) {
  to->environments += from->environments;
  to->bytecode += from->bytecode;
  to->srcrefs += from->srcrefs;
}

static struct scan_tally skip(struct scan *s, uint64_t n);

static void skip_into(struct scan *s, uint64_t n, struct scan_tally *t) {
  const struct scan_tally in = skip(s, n);
  tally_add(t, &in);
}

// Source references as a whole, whatever environments they have.
static struct scan_tally as_srcref(struct scan_tally in, uint64_t len) {
  return (struct scan_tally){.bytecode = in.bytecode, .srcrefs = len};
}

static struct scan_tally skip_srcref(struct scan *s) {
  const unsigned char *from = s->at;
  const struct scan_tally in = skip(s, 1);
  return as_srcref(in, (uint64_t) (s->at - from));
}

static void skip_environment(struct scan *s, struct scan_tally *t) {
  const unsigned char *from = s->at - 4;
  add_ref(s, ENV, 0, SCAN_NO_NODE);
  word(s);  // locked
  struct scan_tally in = skip(s, 4);
  in.environments = (uint64_t) (s->at - from);
  tally_add(t, &in);
}

static bool is_code_cell(uint32_t type) {
  return type == LANG || type == LIST || type == ATTR_LANG || type == ATTR_LIST;
}

// A call among the constants of byte code, `type` read. The rest of a cell is the next turn.
static void skip_code_call(struct scan *s, uint32_t type, struct scan_tally *t) {
  if (++s->nested > MAX_NESTED) stop(s, ERR_DEPTH, "it is nested too deeply");
  while (!s->err.code) {
    if (type == CODE_REF) {
      word(s);
      break;
    }
    if (type == CODE_DEF) {
      word(s);
      type = word(s);
    }
    if (!is_code_cell(type)) {
      skip_into(s, 1, t);
      break;
    }
    if (type == ATTR_LANG || type == ATTR_LIST) skip_into(s, 1, t);
    skip_into(s, 1, t);  // the tag
    skip_code_call(s, word(s), t);
    type = word(s);
  }
  s->nested--;
}

static void skip_code(struct scan *s, struct scan_tally *t, uint64_t *first_len);

static void skip_constant(struct scan *s, struct scan_tally *t) {
  const uint32_t type = word(s);
  if (type == BCODE)
    skip_code(s, t, NULL);
  else if (is_code_cell(type) || type == CODE_DEF || type == CODE_REF)
    skip_code_call(s, type, t);
  else
    skip_into(s, 1, t);
}

// The first constant is the expression that was compiled.
static void skip_code(struct scan *s, struct scan_tally *t, uint64_t *first_len) {
  if (++s->nested > MAX_NESTED) stop(s, ERR_DEPTH, "it is nested too deeply");
  skip_into(s, 1, t);
  const uint32_t n = word(s);
  for (uint32_t i = 0; i < n && !s->err.code; i++) {
    const unsigned char *from = s->at;
    skip_constant(s, t);
    if (i == 0 && first_len) *first_len = (uint64_t) (s->at - from);
  }
  s->nested--;
}

static void skip_bytecode(struct scan *s, struct scan_tally *t, uint64_t *first_len) {
  const unsigned char *from = s->at - 4;
  struct scan_tally in = {0};
  word(s);  // how many cells are shared
  skip_code(s, &in, first_len);
  in.bytecode = (uint64_t) (s->at - from);
  tally_add(t, &in);
}

// The name that a cell's tag is: an offset, or 0 if it is no symbol.
static uint64_t tag(struct scan *s, struct scan_tally *t) {
  const uint8_t type = left(s) < 4 ? NIL : type_of(load(s->at));
  if (type == SYM || type == REF) return symbol(s, word(s));
  skip_into(s, 1, t);
  return 0;
}

// Source references are known by their tag. Returns how many items of the cell are left.
static uint64_t skip_tagged(struct scan *s, struct scan_tally *t) {
  if (!is_srcref(s, tag(s, t))) return 2;
  const struct scan_tally in = skip_srcref(s);
  tally_add(t, &in);
  return 1;
}

static uint64_t skip_cell(struct scan *s, uint32_t flags, struct scan_tally *t) {
  if (flags & FLAG_ATTRIBUTES) skip_into(s, 1, t);
  if (type_of(flags) == LIST && flags & FLAG_TAG) return skip_tagged(s, t);
  return flags & FLAG_TAG ? 3 : 2;
}

// The data of an item that has neither elements nor a place in the table of references.
static bool pass_data(struct scan *s, uint8_t type) {
  switch (type) {
  case SPECIAL:
  case BUILTIN: pass(s, word(s), 1); return true;
  case LGL:
  case INT: pass(s, length(s), 4); return true;
  case REAL: pass(s, length(s), 8); return true;
  case CPLX: pass(s, length(s), 16); return true;
  case RAW: pass(s, length(s), 1); return true;
  case STR: pass_strings(s); return true;
  case S4: return true;
  default: return false;
  }
}

// Passes an item's own bytes; returns how many items that belong to it follow.
static uint64_t skip_one(struct scan *s, struct scan_tally *t) {
  const uint32_t flags = word(s);
  const uint8_t type = type_of(flags);
  const uint64_t attributes = flags & FLAG_ATTRIBUTES ? 1 : 0;
  if (pass_data(s, type)) return attributes;
  switch (type) {
  case NIL:
  case GLOBAL_ENV:
  case BASE_ENV:
  case EMPTY_ENV:
  case BASE_NAMESPACE:
  case MISSING:
  case UNBOUND: return 0;
  case REF: ref_of(s, flags); return 0;
  case SYM: symbol(s, flags); return 0;
  case CHAR: pass_chars(s); return 0;
  case NAMESPACE:
  case PACKAGE:
  case PERSIST:
    add_ref(s, type, 0, SCAN_NO_NODE);
    word(s);
    pass_strings(s);
    return 0;
  case ENV: skip_environment(s, t); return 0;
  case LIST:
  case CLO:
  case PROM:
  case LANG:
  case DOT: return skip_cell(s, flags, t);
  case EXTPTR: add_ref(s, type, 0, SCAN_NO_NODE); return 2 + attributes;
  case WEAKREF: add_ref(s, type, 0, SCAN_NO_NODE); return attributes;
  case VEC:
  case EXPR: return list_length(s) + attributes;
  case BCODE: skip_bytecode(s, t, NULL); return attributes;
  case ALTREP: return 3;
  default: corrupt(s); return 0;
  }
}

// Lists of any depth take no stack: what is left is a number of items. Only that of which the
// length is asked for recurses.
static struct scan_tally skip(struct scan *s, uint64_t n) {
  struct scan_tally t = {0};
  if (++s->nested > MAX_NESTED) stop(s, ERR_DEPTH, "it is nested too deeply");
  while (n && !s->err.code) n += skip_one(s, &t) - 1;
  s->nested--;
  return t;
}

// ---- items with a node --------------------------------------------------------------------

struct place {
  uint32_t parent;  // SCAN_NO_NODE: none
  unsigned level;
  enum scan_kind kind;
  uint64_t name_at;
  uint32_t index;
};

static struct scan_tally visit(struct scan *s, struct place place);

static uint32_t add_node(struct scan *s, struct place p) {
  if (s->n_nodes >= SCAN_NO_NODE - 1) stop(s, ERR_NOMEM, "measuring the object");
  if (s->err.code) return SCAN_NO_NODE;
  struct scan_node *nodes = grown(s, s->nodes, s->n_nodes, &s->nodes_cap, sizeof(*nodes));
  if (!nodes) return SCAN_NO_NODE;
  s->nodes = nodes;
  s->nodes[s->n_nodes] = (struct scan_node){.name_at = p.name_at,
                                            .parent = p.parent,
                                            .target = SCAN_NO_NODE,
                                            .index = p.index,
                                            .kind = (uint8_t) p.kind,
                                            .level = (uint8_t) p.level};
  return (uint32_t) s->n_nodes++;
}

// An item being visited: its node, and what its parts hold.
struct item {
  uint32_t id;
  unsigned level;
  uint32_t flags;
  uint32_t n_elements;
  struct scan_tally in;
};

static void part(struct scan *s, struct item *item, enum scan_kind kind, uint64_t name_at) {
  const uint32_t index = kind == SCAN_ELEMENT ? item->n_elements++ : 0;
  const struct scan_tally in =
      visit(s, (struct place){item->id, item->level + 1, kind, name_at, index});
  tally_add(&item->in, &in);
}

// Names the elements by the item at `at`, a vector of strings or a wrapped one. Reads it a second
// time, so the references are put back.
static void name_elements(struct scan *s, const struct item *item, uint64_t at) {
  const unsigned char *back = s->at;
  const size_t n_refs = s->n_refs;
  s->at = s->base + at;
  uint32_t flags = word(s);
  if (type_of(flags) == ALTREP) {
    skip(s, 1);
    flags = type_of(word(s)) == LIST ? word(s) : NIL;
  }
  uint64_t n = type_of(flags) == STR ? list_length(s) : 0;
  for (size_t i = item->id + 1; i < s->n_nodes && n && !s->err.code; i++) {
    struct scan_node *node = &s->nodes[i];
    if (node->parent != item->id || node->kind != SCAN_ELEMENT) continue;
    node->name_at = offset(s);
    word(s);
    pass_chars(s);
    n--;
  }
  s->n_refs = n_refs;
  if (!s->err.code) s->at = back;
}

static bool has_strings(const struct scan *s, uint64_t at) {
  return s->end - s->base - (ptrdiff_t) at >= 8 && type_of(load(s->base + at)) == STR;
}

static enum scan_kind attribute_kind(const struct scan *s, const struct item *item,
                                     uint64_t name_at) {
  if (is_srcref(s, name_at)) return SCAN_SRCREF;
  return item->flags & FLAG_S4 && !is_named(s, name_at, "class") ? SCAN_SLOT : SCAN_ATTRIBUTE;
}

static void attribute(struct scan *s, struct item *item, uint64_t name_at) {
  const uint64_t at = offset(s);
  part(s, item, attribute_kind(s, item, name_at), name_at);
  if (s->err.code) return;
  if (is_named(s, name_at, "class") && has_strings(s, at)) s->nodes[item->id].class_at = at;
  if (is_named(s, name_at, "names") && item->n_elements) name_elements(s, item, at);
}

// The cells from the one whose flags were read. A tail that is no cell is left to nobody.
typedef void cell_function(struct scan *s, struct item *item, uint32_t flags, uint64_t name_at);

static void cells(struct scan *s, struct item *item, uint32_t flags, cell_function *each) {
  bool first = true;
  for (; !s->err.code; flags = word(s), first = false) {
    const uint8_t type = type_of(flags);
    if (type != LIST && type != LANG && type != DOT) break;
    // those of the first were the item's
    if (!first && flags & FLAG_ATTRIBUTES) skip_into(s, 1, &item->in);
    uint64_t name_at = 0;
    if (flags & FLAG_TAG) name_at = tag(s, &item->in);
    each(s, item, flags, name_at);
  }
  if (type_of(flags) == NIL || s->err.code) return;
  s->at -= 4;
  skip_into(s, 1, &item->in);
}

static void attribute_cell(struct scan *s, struct item *item, uint32_t flags, uint64_t name_at) {
  (void) flags;
  attribute(s, item, name_at);
}

static void element_cell(struct scan *s, struct item *item, uint32_t flags, uint64_t name_at) {
  (void) flags;
  part(s, item, SCAN_ELEMENT, name_at);
}

static void binding_cell(struct scan *s, struct item *item, uint32_t flags, uint64_t name_at) {
  part(s, item, flags & FLAG_ACTIVE ? SCAN_ACTIVE : SCAN_BINDING, name_at);
}

static void attributes(struct scan *s, struct item *item) {
  cells(s, item, word(s), attribute_cell);
}

static void visit_environment(struct scan *s, struct item *item) {
  add_ref(s, ENV, 0, item->id);
  word(s);  // locked
  part(s, item, SCAN_ENCLOSURE, 0);
  cells(s, item, word(s), binding_cell);
  const uint32_t table = word(s);
  const uint64_t n = type_of(table) == VEC ? list_length(s) : 0;
  for (uint64_t i = 0; i < n && !s->err.code; i++) cells(s, item, word(s), binding_cell);
  attributes(s, item);
}

static void visit_elements(struct scan *s, struct item *item) {
  const uint64_t n = list_length(s);
  for (uint64_t i = 0; i < n && !s->err.code; i++) part(s, item, SCAN_ELEMENT, 0);
}

static void visit_cell(struct scan *s, struct item *item) {
  const uint8_t type = type_of(item->flags);
  if (item->flags & FLAG_ATTRIBUTES) attributes(s, item);
  if (type == CLO) {
    part(s, item, SCAN_ENVIRONMENT, 0);
    part(s, item, SCAN_FORMALS, 0);
    part(s, item, SCAN_BODY, 0);
  } else if (type == PROM) {
    if (item->flags & FLAG_TAG) part(s, item, SCAN_ENVIRONMENT, 0);
    part(s, item, SCAN_VALUE, 0);
    part(s, item, SCAN_EXPRESSION, 0);
  } else {
    cells(s, item, item->flags, element_cell);
  }
}

// What was compiled is a part, the code and the other constants are the item's own.
static void visit_bytecode(struct scan *s, struct item *item) {
  uint64_t len = 0;
  skip_bytecode(s, &item->in, &len);
  if (s->err.code || item->level >= s->max_level || !len) return;
  const uint32_t id = add_node(s, (struct place){item->id, item->level + 1, SCAN_EXPRESSION, 0, 0});
  if (id == SCAN_NO_NODE) return;
  s->nodes[id].len = len;
  s->nodes[id].type = LANG;
}

// The class ends with its base type, an integer vector of one, and the list's end.
static void visit_altrep(struct scan *s, struct item *item) {
  skip_into(s, 1, &item->in);
  if (s->err.code) return;
  const uint8_t type = (uint8_t) load(s->at - 8);
  s->nodes[item->id].type = type;
  // a wrapped list is the first part of the state
  if (type == VEC && left(s) >= 8 && load(s->at) == LIST && type_of(load(s->at + 4)) == VEC) {
    word(s);
    const uint32_t wrapped = word(s);
    visit_elements(s, item);
    if (wrapped & FLAG_ATTRIBUTES) skip_into(s, 1, &item->in);
  }
  skip_into(s, 1, &item->in);
  attributes(s, item);
}

static void visit_reference(struct scan *s, struct item *item) {
  const struct scan_ref *ref = ref_of(s, item->flags);
  struct scan_node *node = &s->nodes[item->id];
  node->target = ref->node;
  if (ref->type != ENV && ref->type != EXTPTR && ref->type != WEAKREF) node->type = ref->type;
}

static bool visit_parts(struct scan *s, struct item *item) {
  switch (type_of(item->flags)) {
  case REF: visit_reference(s, item); return true;
  case ENV: visit_environment(s, item); return true;
  case LIST:
  case CLO:
  case PROM:
  case LANG:
  case DOT: visit_cell(s, item); return true;
  case ALTREP: visit_altrep(s, item); return true;
  case VEC:
  case EXPR: visit_elements(s, item); break;
  case BCODE: visit_bytecode(s, item); break;
  case EXTPTR:
    add_ref(s, EXTPTR, 0, item->id);
    part(s, item, SCAN_PROTECTED, 0);
    part(s, item, SCAN_TAG, 0);
    break;
  case WEAKREF: add_ref(s, WEAKREF, 0, item->id); break;
  default: return false;
  }
  if (item->flags & FLAG_ATTRIBUTES) attributes(s, item);
  return true;
}

static void visit_item(struct scan *s, struct item *item) {
  if (visit_parts(s, item)) return;
  if (pass_data(s, type_of(item->flags))) {
    if (item->flags & FLAG_ATTRIBUTES) attributes(s, item);
    return;
  }
  s->at -= 4;
  skip_into(s, 1, &item->in);
}

// After a failure the node's number may be none: nothing is done with it then.
static struct scan_tally visit(struct scan *s, struct place place) {
  const unsigned char *from = s->at;
  if (place.level > s->max_level) return place.kind == SCAN_SRCREF ? skip_srcref(s) : skip(s, 1);
  const uint32_t flags = word(s);
  struct item item = {.id = add_node(s, place), .level = place.level, .flags = flags};
  if (s->err.code) return item.in;
  s->nodes[item.id].type = type_of(flags);
  visit_item(s, &item);
  const uint64_t len = (uint64_t) (s->at - from);
  if (type_of(flags) == ENV) item.in.environments = len;
  if (place.kind == SCAN_SRCREF) item.in = as_srcref(item.in, len);
  s->nodes[item.id].len = len;
  s->nodes[item.id].in = item.in;
  return item.in;
}

enum status scan_run(struct scan *s, const unsigned char *bytes, size_t n, unsigned depth) {
  s->base = s->at = bytes;
  s->end = bytes + n;
  s->max_level = depth;
  visit(s, (struct place){.parent = SCAN_NO_NODE, .kind = SCAN_ROOT});
  if (left(s)) corrupt(s);
  return s->err.code;
}

const char *scan_chars(const struct scan *s, uint64_t at, uint32_t *flags, size_t *len) {
  const unsigned char *p = s->base + at;
  const uint32_t n = load(p + 4);
  *flags = load(p);
  *len = n == UINT32_MAX ? 0 : n;
  return n == UINT32_MAX ? NULL : (const char *) p + 8;
}

uint64_t scan_chars_end(const struct scan *s, uint64_t at) {
  uint32_t flags;
  size_t len;
  scan_chars(s, at, &flags, &len);
  return at + 8 + len;
}

uint64_t scan_strings(const struct scan *s, uint64_t at, uint64_t *first) {
  const uint32_t n = load(s->base + at + 4);
  *first = at + 8;
  return n == UINT32_MAX ? 0 : n;  // a class of 2^31 names has none
}

void scan_close(struct scan *s) {
  free(s->nodes);
  free(s->refs);
  *s = (struct scan){0};
}
