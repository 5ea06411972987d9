#include "r_input.h"

#include <R.h>

#include "r_progress.h"
#include "writer.h"

enum { LOOK_STRIDE = 1 << 22 };  // bytes of stream between two looks for an interrupt

struct input input_memory(const unsigned char *p, size_t n, const struct subject *subject) {
  return (struct input){.at = p, .end = p + n, .subject = subject};
}

struct input input_reader(struct reader *r, const struct subject *subject) {
  return (struct input){.at = r->at, .end = r->end, .reader = r, .subject = subject};
}

void input_corrupt(const struct input *in, const char *reason) {
  throw_reason("riffle_error_corrupt", reason, in->subject);
}

// Turns AGAIN into a look for an interrupt. False: done.
static bool again(const struct input *in, enum status st) {
  if (st == OK) return false;
  if (st != AGAIN) throw_error(&in->reader->err, in->subject);
  progress_look();
  return true;
}

// The window is the reader's, lent to `in` between two calls.
static struct reader *give_back(struct input *in) {
  in->reader->at = in->at;
  in->reader->end = in->end;
  return in->reader;
}

// Where nothing had to be waited for nobody has looked.
static void take_window(struct input *in) {
  in->at = in->reader->at;
  in->end = in->reader->end;
  if (in->reader->taken - in->looked < LOOK_STRIDE) return;
  in->looked = in->reader->taken;
  progress_look();
}

uint64_t input_left(const struct input *in) {
  const uint64_t here = (uint64_t) (in->end - in->at);
  if (!in->reader) return here;
  if (in->reader->stream_total < in->reader->taken) return here;  // it lied; cut() will say so
  return in->reader->stream_total - in->reader->taken + here;
}

void input_check_length_slow(const struct input *in, uint64_t n, size_t size) {
  const uint64_t most = in->reader ? in->reader->opts.max_len : 0;
  if (most && n > most / size)
    throw_reason("riffle_error_limit", "a vector in it is longer than riffle.max_bytes allows",
                 in->subject);
  if (n > input_left(in) / size)
    input_corrupt(in, "a length in it is larger than what is left of it");
}

void input_bytes_slow(struct input *in, void *p, size_t n) {
  if (!in->reader) input_corrupt(in, "it ends inside an object");
  struct reader *r = give_back(in);
  while (again(in, reader_get(r, &p, &n))) {}
  take_window(in);
}

enum { SWAP_STEP = 1 << 16 };

static void swap_units(unsigned char *p, size_t n, size_t unit) {
  if (unit == 4) {
    for (size_t i = 0; i < n; i += 4) {
      uint32_t v;
      memcpy(&v, p + i, 4);
      v = __builtin_bswap32(v);
      memcpy(p + i, &v, 4);
    }
  } else if (unit == 8) {
    for (size_t i = 0; i < n; i += 8) {
      uint64_t v;
      memcpy(&v, p + i, 8);
      v = __builtin_bswap64(v);
      memcpy(p + i, &v, 8);
    }
  }
}

// A step at a time, while it is near.
static void swapped_numbers(struct input *in, unsigned char *p, size_t n, size_t unit) {
  while (n) {
    const size_t k = n < SWAP_STEP ? n : SWAP_STEP;
    input_bytes(in, p, k);
    swap_units(p, k, unit);
    p += k;
    n -= k;
  }
}

void input_numbers(struct input *in, void *p, size_t n, size_t unit) {
  if (in->swap) {
    swapped_numbers(in, p, n, unit);
    return;
  }
  if (n <= (size_t) (in->end - in->at) || !in->reader || n < NUMBERS_MIN_LEN) {
    input_bytes(in, p, n);
    return;
  }
  struct reader *r = give_back(in);
  while (again(in, reader_numbers(r, &p, &n))) {}
  take_window(in);
}

void input_wait(struct input *in) {
  if (!in->reader) return;
  struct reader *r = give_back(in);
  while (again(in, reader_wait(r))) {}
}

uint64_t input_position(struct input *in) { return reader_position(give_back(in)); }

void input_skip_to(struct input *in, uint64_t to) {
  struct reader *r = give_back(in);
  while (again(in, reader_skip_to(r, to))) {}
  take_window(in);
}

const struct string_array *input_strings(struct input *in, size_t most) {
  if (!in->reader || in->at < in->end) return NULL;
  const struct string_array *out;
  struct reader *r = give_back(in);
  while (again(in, reader_strings(r, most, &out))) {}
  return out;
}
