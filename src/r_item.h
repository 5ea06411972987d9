// r_item.h - the flags word of an item in R's stream.
#ifndef RIFFLE_R_ITEM_H
#define RIFFLE_R_ITEM_H

// The low byte: a SEXPTYPE, or one of these.
enum item_type {
  ITEM_REF = 255,
  ITEM_NIL = 254,
  ITEM_GLOBAL_ENV = 253,
  ITEM_UNBOUND = 252,
  ITEM_MISSING_ARG = 251,
  ITEM_BASE_NAMESPACE = 250,
  ITEM_NAMESPACE = 249,
  ITEM_PACKAGE_ENV = 248,
  ITEM_PERSIST = 247,
  ITEM_EMPTY_ENV = 242,
  ITEM_BASE_ENV = 241,
  ITEM_ATTR_LANG = 240,
  ITEM_ATTR_LIST = 239,
  ITEM_ALTREP = 238
};

enum {
  FLAG_OBJECT = 1 << 8,
  FLAG_ATTRIBUTES = 1 << 9,
  FLAG_TAG = 1 << 10,
  // from bit 12 on R's "levels"
  CHARS_BYTES = 1 << 13,
  CHARS_LATIN1 = 1 << 14,
  CHARS_UTF8 = 1 << 15,
  FLAG_S4 = 1 << 16,
  FLAG_GROWABLE = 1 << 17,
  CHARS_ASCII = 1 << 18,
  LEVELS_SHIFT = 12
};

#endif
