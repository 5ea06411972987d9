#include "r_stream.h"

#include <R.h>
#include <limits.h>
#include <stdint.h>

#include "r_depth.h"
#include "r_progress.h"

enum {
  CHUNK_ELEMENTS = 8096,     // R hands over numbers in chunks of so many
  INTERRUPT_STRIDE = 1 << 20 // bytes between two looks for an interrupt
};

// R's serializer looks for interrupts itself only since 4.4, its unserializer never. While one of
// its buffers is half written or half filled the look is R's own, which runs no code of ours.
static void look_for_interrupt(size_t *since, size_t len) {
  if ((*since += len + 1) <= INTERRUPT_STRIDE) return;
  *since = 0;
  progress_look();
}

// ---- the refhook --------------------------------------------------------------------------

// R asks for environments, external pointers and weak references: NULL means write it yourself.
static SEXP hook_out(SEXP x, SEXP fun) {
  SEXP call = PROTECT(Rf_lang2(fun, x));
  SEXP value = Rf_eval(call, R_GlobalEnv);
  UNPROTECT(1);
  if (value != R_NilValue && (TYPEOF(value) != STRSXP || XLENGTH(value) == 0))
    throw_argument("refhook", "a function that returns a character vector or NULL", value);
  return value;
}

static SEXP hook_in(SEXP names, SEXP fun) {
  SEXP call = PROTECT(Rf_lang2(fun, names));
  SEXP value = Rf_eval(call, R_GlobalEnv);
  UNPROTECT(1);
  return value;
}

// ---- out: what the order of R's calls tells ----------------------------------------------

// A vector arrives as a flags word, a length word (or three, if long) and its elements; a string
// as a flags word, a length word and its characters. A wrong guess costs compression, never bytes:
// all that arrives is passed on in order, whatever it is taken for.
enum expect { A_FLAGS_WORD, A_LENGTH, LENGTH_HIGH, LENGTH_LOW, ELEMENTS, A_STRING, STRING_LEN, CHARS };

struct out_stream {
  struct writer *writer;
  const struct subject *subject;
  enum expect expect;
  unsigned char type;     // of the vector whose length or elements are expected
  bool typed;             // its elements have blocks of their own
  uint64_t left;          // its elements still to come
  uint32_t flags;         // of the string whose length or characters are expected
  int32_t len;
  uintptr_t fresh_key;    // odd numbers: no address
  size_t since_interrupt;
};

static void throw_writer(const struct out_stream *o) { throw_error(&o->writer->err, o->subject); }

// Turns AGAIN into a look for an interrupt. False: done.
static bool again(const struct out_stream *o, enum status st) {
  if (st == OK) return false;
  if (st != AGAIN) throw_writer(o);
  R_CheckUserInterrupt();
  return true;
}

static void put(struct out_stream *o, const void *p, size_t n) {
  while (again(o, writer_put(o->writer, &p, &n))) {}
}

static size_t element_size(unsigned char type) {
  switch (type) {
    case LGLSXP:
    case INTSXP: return 4;
    case REALSXP: return 8;
    case CPLXSXP: return 16;
    case RAWSXP: return 1;
    default: return 0;
  }
}

static enum number_type number_type_of(unsigned char type) {
  return type == RAWSXP ? NUMBER_U8 : element_size(type) == 4 ? NUMBER_I32 : NUMBER_F64;
}

// The length is known: what comes next?
static void expect_vector(struct out_stream *o) {
  if (o->type == STRSXP) {
    const bool batched = o->left >= STRINGS_MIN && writer_takes_strings(o->writer);
    o->expect = batched ? A_STRING : A_FLAGS_WORD;
    return;
  }
  const uint64_t size = element_size(o->type);
  o->typed = o->left >= (NUMBERS_MIN_LEN + size - 1) / size;
  o->expect = o->left ? ELEMENTS : A_FLAGS_WORD;
  if (o->typed && writer_begin_numbers(o->writer, number_type_of(o->type))) throw_writer(o);
}

// A chunk of the vector's elements. False: it is something else, and still to be put.
static bool take_elements(struct out_stream *o, const void *buf, size_t len) {
  const uint64_t n = o->left < CHUNK_ELEMENTS ? o->left : CHUNK_ELEMENTS;
  const bool as_expected = len == n * element_size(o->type);
  if (as_expected) put(o, buf, len);
  o->left = as_expected ? o->left - n : 0;
  if (o->left) return true;
  o->expect = A_FLAGS_WORD;
  if (o->typed && writer_begin_bytes(o->writer)) throw_writer(o);
  return as_expected;
}

static void take_word(struct out_stream *o, uint32_t word) {
  switch (o->expect) {
    case A_LENGTH:
      o->left = word;
      if (word == UINT32_MAX)
        o->expect = LENGTH_HIGH;
      else
        expect_vector(o);
      break;
    case LENGTH_HIGH:
      o->left = (uint64_t) word << 32;
      o->expect = LENGTH_LOW;
      break;
    case LENGTH_LOW:
      o->left |= word;
      expect_vector(o);
      break;
    default:
      o->type = (unsigned char) word;
      o->expect = element_size(o->type) || o->type == STRSXP ? A_LENGTH : A_FLAGS_WORD;
  }
}

static void put_string_as_bytes(struct out_stream *o, const void *chars) {
  if (writer_begin_bytes(o->writer)) throw_writer(o);
  put(o, &o->flags, 4);
  put(o, &o->len, 4);
  if (o->len > 0) put(o, chars, (size_t) o->len);
}

static bool is_item(const struct string_item *item, const struct out_stream *o, const void *chars) {
  return item->len == o->len && item->flags == o->flags &&
         (o->len <= 0 || memcmp(item->chars, chars, (size_t) o->len) == 0);
}

static void batch_string(struct out_stream *o, const void *chars) {
  struct string_batch *b;
  while (again(o, writer_batch(o->writer, &b))) {}
  // R passes the string's own memory, so its address is a quick key; but one string may have been
  // collected and another put in its place, so the bytes decide.
  uintptr_t key = (uintptr_t) chars;
  const int64_t code = string_batch_find(b, &o->writer->table, key);
  if (code >= 0 && is_item(string_batch_item(b, (uint32_t) code), o, chars)) {
    string_batch_repeat(b, (uint32_t) code);
    return;
  }
  if (code >= 0) key = o->fresh_key += 2;
  struct string_item item = {.len = o->len, .flags = o->flags};
  if (o->len > 0) item.chars = writer_keep(o->writer, chars, (size_t) o->len);
  if ((o->len > 0 && !item.chars) || !string_batch_add(b, &o->writer->table, key, item))
    throw_no_memory("filling a block", o->subject);
}

static void end_string(struct out_stream *o, const void *chars) {
  if (o->len > BATCH_MAX_CHARS)
    put_string_as_bytes(o, chars);
  else
    batch_string(o, chars);
  o->expect = --o->left ? A_STRING : A_FLAGS_WORD;
  if (!o->left && writer_begin_bytes(o->writer)) throw_writer(o);
}

// Inside a long character vector. False: the bytes are not what was expected and still to be put.
static bool take_string(struct out_stream *o, const void *buf, size_t len) {
  static const char nothing;  // the key of NA
  uint32_t word = 0;
  if (o->expect != CHARS && len == 4) memcpy(&word, buf, 4);
  if (o->expect == A_STRING && len == 4 && (word & 0xff) == CHARSXP) {
    o->flags = word;
    o->expect = STRING_LEN;
    return true;
  }
  if (o->expect == STRING_LEN && len == 4 && (int32_t) word >= -1) {
    o->len = (int32_t) word;
    o->expect = CHARS;
    if (o->len == -1) end_string(o, &nothing);
    return true;
  }
  if (o->expect == CHARS && len == (size_t) o->len) {
    end_string(o, buf);
    return true;
  }
  const enum expect had = o->expect;
  o->expect = A_FLAGS_WORD;
  if (writer_begin_bytes(o->writer)) throw_writer(o);
  if (had != A_STRING) put(o, &o->flags, 4);
  if (had == CHARS) put(o, &o->len, 4);
  return false;
}

static void out_bytes(R_outpstream_t stream, void *buf, int length) {
  struct out_stream *o = stream->data;
  const size_t len = (size_t) length;
  depth_check(o->subject);
  look_for_interrupt(&o->since_interrupt, len);
  if (o->expect >= A_STRING && take_string(o, buf, len)) return;
  if (o->expect == ELEMENTS && take_elements(o, buf, len)) return;
  put(o, buf, len);
  uint32_t word;
  if (len != 4) {
    o->expect = A_FLAGS_WORD;
    return;
  }
  memcpy(&word, buf, 4);
  take_word(o, word);
}

static void out_char(R_outpstream_t stream, int c) {
  (void) stream;
  (void) c;
  Rf_error("internal error: the binary format wrote a character");
}

void stream_save(SEXP object, int version, SEXP refhook, struct writer *w,
                 const struct subject *subject) {
  struct out_stream o = {.writer = w, .subject = subject, .fresh_key = 1};
  struct R_outpstream_st out;
  R_InitOutPStream(&out, (R_pstream_data_t) &o, R_pstream_binary_format, version, out_char, out_bytes,
                   refhook == R_NilValue ? NULL : hook_out, refhook);
  R_Serialize(object, &out);
}

// ---- in -----------------------------------------------------------------------------------

struct in_stream {
  struct reader *reader;
  const struct subject *subject;
  size_t since_interrupt;
};

static void in_bytes(R_inpstream_t stream, void *buf, int length) {
  struct in_stream *in = stream->data;
  void *p = buf;
  size_t n = (size_t) length;
  depth_check(in->subject);
  look_for_interrupt(&in->since_interrupt, n);
  enum status st;
  while ((st = reader_get(in->reader, &p, &n)) != OK) {
    if (st != AGAIN) throw_error(&in->reader->err, in->subject);
    R_CheckUserInterrupt();
  }
}

static int in_char(R_inpstream_t stream) {
  unsigned char c;
  in_bytes(stream, &c, 1);
  return c;
}

// base::unserialize() and readRDS() refuse it since R 4.4; R_Unserialize() does not.
static void refuse_promise(SEXP value, const struct subject *subject) {
  if (TYPEOF(value) == PROMSXP)
    throw_reason("riffle_error_corrupt", "its object is a promise, which could run code", subject);
}

SEXP stream_read(SEXP refhook, struct reader *r, const struct subject *subject) {
  struct in_stream in = {.reader = r, .subject = subject};
  struct R_inpstream_st st;
  R_InitInPStream(&st, (R_pstream_data_t) &in, R_pstream_any_format, in_char, in_bytes,
                  refhook == R_NilValue ? NULL : hook_in, refhook);
  SEXP value = PROTECT(R_Unserialize(&st));
  refuse_promise(value, subject);
  UNPROTECT(1);
  return value;
}

// ---- the bare stream ----------------------------------------------------------------------

struct bare_stream {
  unsigned char *out;  // NULL: count only
  size_t cap;
  size_t len;
  size_t since_interrupt;
};

static const struct subject bare_subject = {.doing = "serialize", .thing = "the object"};

static void bare_bytes(R_outpstream_t stream, void *buf, int length) {
  struct bare_stream *b = stream->data;
  const size_t len = (size_t) length;
  depth_check(&bare_subject);
  look_for_interrupt(&b->since_interrupt, len);
  if (b->out && len && b->len + len <= b->cap) memcpy(b->out + b->len, buf, len);
  b->len += len;
}

static void bare_serialize(SEXP object, int version, struct bare_stream *b) {
  struct R_outpstream_st out;
  R_InitOutPStream(&out, (R_pstream_data_t) b, R_pstream_binary_format, version, out_char, bare_bytes, NULL,
                   R_NilValue);
  R_Serialize(object, &out);
}

double stream_size(SEXP object, int version) {
  struct bare_stream b = {0};
  bare_serialize(object, version, &b);
  return (double) b.len;
}

bool stream_to_memory(SEXP object, int version, unsigned char *out, size_t len) {
  struct bare_stream b = {.out = out, .cap = len};
  bare_serialize(object, version, &b);
  return b.len == len;
}

struct hash_stream {
  struct hash *hash;
  size_t header_left;
  size_t since_interrupt;
};

static void hash_bytes(R_outpstream_t stream, void *buf, int length) {
  struct hash_stream *h = stream->data;
  const size_t len = (size_t) length;
  depth_check(&bare_subject);
  look_for_interrupt(&h->since_interrupt, len);
  if (h->header_left)
    h->header_left -= len;  // R hands it over apart
  else
    hash_put(h->hash, buf, len);
}

void stream_hash(SEXP object, struct hash *hash) {
  struct hash_stream h = {.hash = hash, .header_left = 14};
  struct R_outpstream_st out;
  R_InitOutPStream(&out, (R_pstream_data_t) &h, R_pstream_binary_format, 2, out_char, hash_bytes, NULL,
                   R_NilValue);
  R_Serialize(object, &out);
}

struct memory_in {
  const unsigned char *at, *end;
  size_t since_interrupt;
};

static const struct subject memory_subject = {.doing = "unserialize", .thing = "the raw vector"};

static void memory_bytes(R_inpstream_t stream, void *buf, int length) {
  struct memory_in *m = stream->data;
  const size_t len = (size_t) length;
  depth_check(&memory_subject);
  look_for_interrupt(&m->since_interrupt, len);
  if (len > (size_t) (m->end - m->at))
    throw_reason("riffle_error_corrupt", "it ends inside an object", &memory_subject);
  if (len) memcpy(buf, m->at, len);
  m->at += len;
}

static int memory_char(R_inpstream_t stream) {
  unsigned char c;
  memory_bytes(stream, &c, 1);
  return c;
}

SEXP stream_from_memory(const unsigned char *in, size_t len) {
  struct memory_in m = {.at = in, .end = in + len};
  struct R_inpstream_st st;
  R_InitInPStream(&st, (R_pstream_data_t) &m, R_pstream_any_format, memory_char, memory_bytes, NULL,
                  R_NilValue);
  SEXP value = PROTECT(R_Unserialize(&st));
  refuse_promise(value, &memory_subject);
  UNPROTECT(1);
  return value;
}
