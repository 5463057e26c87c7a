/*
 * Counts of a block. Three threads, each with an alias to begin with, make more and hand them on, change their kind,
 * drop them, and ask whether they are alone. Who finds itself alone writes; all others read whatever they hold.
 */
#include "shared/block.pml"

#ifndef STEPS
#define STEPS 4 /* of all three together, besides drops and what is received */
#endif
#define RESERVED 255 /* the mailbox is somebody's who is about to give */

byte left = STEPS;
byte mailbox; /* an alias on its way to another thread: its kind, or 0 */

inline new_alias(kind) {
#ifdef PLANTED_ADD_BY_LOAD_AND_STORE
  seen = word;
  d_step {
    assert(!freed);
    word = seen + kind
  };
  seen = 0
#else
  add_alias(kind)
#endif
}

/* views_, tokens_: the counters beside the word. Only that they are touched matters. */
inline touch_diagnostic() {
  assert(!freed)
}

inline drop(kind) {
#ifdef PLANTED_DROP_BY_LOAD_AND_STORE
  seen = word;
  d_step {
    assert(!freed);
    word = seen - kind
  };
  if
  :: seen == kind -> end_block()
  :: else
  fi;
  seen = 0
#else
#ifdef PLANTED_TOUCH_AFTER_DROP
  d_step {
    assert(!freed);
    word = word - kind;
    last = (word == 0)
  };
  touch_diagnostic();
  if
  :: last -> end_block()
  :: else
  fi
#else
  touch_diagnostic();
  drop_alias(kind)
#endif
#endif
}

inline change(from, to) {
#ifdef PLANTED_CHANGE_IN_TWO_STEPS
  drop_alias(from);
  add_alias(to)
#else
  change_alias(from, to);
  touch_diagnostic()
#endif
}

/* Block::IsUnique */
inline is_unique(answer) {
#ifdef PLANTED_TWO_COUNTERS
  seen = word / OTHER;
  answer = (seen == 0 && word % OTHER == TENSOR);
  seen = 0
#else
  d_step {
    assert(!freed);
    answer = (word == TENSOR)
  }
#endif
}

/* BlockRef::NewAlias for another thread, which gets it through the mailbox. */
inline give(kind) {
#ifdef PLANTED_COUNT_AFTER_PUBLISH
  mailbox = kind;
  new_alias(kind)
#else
  new_alias(kind);
  mailbox = kind
#endif
}

proctype Thread(byte tensors, others) {
  bool last, answer;
  byte got;
  short seen;
  do
  :: atomic { left > 0 && tensors + others > 0 -> left-- };
     if
     :: atomic { tensors > 0 -> tensors--; others++ }; change(TENSOR, OTHER)
     :: atomic { others > 0 -> others--; tensors++ }; change(OTHER, TENSOR)
     :: atomic { mailbox == 0 -> mailbox = RESERVED }; give(TENSOR)
     :: atomic { mailbox == 0 -> mailbox = RESERVED }; give(OTHER)
     :: tensors == 1 && others == 0 ->
        is_unique(answer);
        if
        :: answer -> answer = false; write_memory() /* Move: Door 2 */
        :: else
        fi
     fi
  :: atomic { mailbox == TENSOR || mailbox == OTHER -> got = mailbox; mailbox = 0 };
     if
     :: got == TENSOR -> tensors++
     :: got == OTHER -> others++
     fi;
     got = 0;
     read_memory()
  :: atomic { tensors > 0 -> tensors-- }; drop(TENSOR)
  :: atomic { others > 0 -> others-- }; drop(OTHER)
  :: tensors + others == 0 && mailbox == 0 -> break
  od
}

init {
  atomic {
    word = 2 * TENSOR + OTHER;
    run Thread(1, 0);
    run Thread(1, 0);
    run Thread(0, 1)
  };
  _nr_pr == 1;
  assert(mailbox == 0);
  assert(deleter_calls == 1)
}
