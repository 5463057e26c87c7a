/*
 * The block of src-native/core/block: one atomic word that counts tensors low and all other aliases high. Each inline
 * is a function there, each of its steps one atomic access. A step is a d_step where the C++ has one atomic operation.
 *
 * Who uses these declares `bool last`.
 */
#define TENSOR 1
#define OTHER 16 /* 2^32 in the code; the models have fewer than 16 aliases of either kind */

short word;         /* aliases_ */
bool freed;         /* free_memory_ has run, and the Block is gone */
byte deleter_calls; /* of whatever the block owns */

/* Block::AddAlias */
inline add_alias(kind) {
  d_step {
    assert(!freed);
    word = word + kind
  }
}

/* Block::End */
inline end_block() {
  d_step {
    assert(!freed);
    freed = true;
    deleter_calls++
  }
}

/* Block::DropAlias */
inline drop_alias(kind) {
  d_step {
    assert(!freed);
    assert(word >= kind);
    word = word - kind;
    last = (word == 0)
  };
  if
  :: last -> last = false; end_block()
  :: else
  fi
}

/* Block::ChangeAlias */
inline change_alias(from, to) {
  d_step {
    assert(!freed);
    word = word - from + to
  }
}

/* Whoever holds an alias may read; an owner alone may write. `writers` is the models' own: it stands for a write that
 * is under way. */
byte writers;

inline read_memory() {
  d_step {
    assert(!freed);
    assert(writers == 0)
  }
}

inline write_memory() {
  d_step {
    assert(!freed);
    assert(writers == 0);
    writers++
  };
  d_step {
    assert(!freed);
    writers--
  }
}
