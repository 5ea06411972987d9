// r_input.h - R's stream as the builder takes it: words, bytes, numbers and strings, out of the
// blocks of a file or out of memory.
//
// The bytes that are at hand lie at..end, so that most reads are a comparison and a load. Every
// function raises an R condition when the stream ends or is corrupt, and looks for interrupts while
// it waits: whatever the caller has made must be protected.
#ifndef RIFFLE_R_INPUT_H
#define RIFFLE_R_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "r_error.h"
#include "reader.h"

struct input {
  const unsigned char *at, *end;
  bool swap;              // the stream is in the other byte order (XDR, mostly)
  struct reader *reader;  // where more comes from; NULL: nowhere
  const struct subject *subject;
  uint64_t looked;        // reader->taken at the last look for an interrupt
};

struct input input_memory(const unsigned char *p, size_t n, const struct subject *subject);
// No byte has been taken from the reader.
struct input input_reader(struct reader *r, const struct subject *subject);

NORETURN void input_corrupt(const struct input *in, const char *reason);

// Bytes that are still to come, or more than that where nobody knows (a pipe).
uint64_t input_left(const struct input *in);
// Raises an error unless n elements of `size` bytes can still come.
void input_check_length_slow(const struct input *in, uint64_t n, size_t size);
static inline void input_check_length(const struct input *in, uint64_t n, size_t size) {
  if (n > (uint64_t) (in->end - in->at) / size) input_check_length_slow(in, n, size);
}

void input_bytes_slow(struct input *in, void *p, size_t n);
static inline void input_bytes(struct input *in, void *p, size_t n) {
  if (n > (size_t) (in->end - in->at)) {
    input_bytes_slow(in, p, n);
    return;
  }
  memcpy(p, in->at, n);
  in->at += n;
}

// A word that lies at p, in the byte order of this machine.
static inline uint32_t input_word_at(const struct input *in, const unsigned char *p) {
  uint32_t word;
  memcpy(&word, p, 4);
  if (in->swap) word = word >> 24 | (word >> 8 & 0xff00) | (word << 8 & 0xff0000) | word << 24;
  return word;
}

static inline uint32_t input_word(struct input *in) {
  unsigned char bytes[4];
  input_bytes(in, bytes, 4);
  return input_word_at(in, bytes);
}

// The elements of a numeric vector: n bytes, in units of `unit` (1, 4 or 8). Those of a short one are
// there on return, those of a long one after input_wait(): until then the vector must stay
// reachable, also in an error.
void input_numbers(struct input *in, void *p, size_t n, size_t unit);
void input_wait(struct input *in);

// Where in the stream the next byte is, and going on further behind: see reader_skip_to().
uint64_t input_position(struct input *in);
void input_skip_to(struct input *in, uint64_t to);

// The next strings, at most `most`, if they are at hand as items and codes; else NULL. They stay
// until the next call of any function here.
const struct string_array *input_strings(struct input *in, size_t most);

#endif
