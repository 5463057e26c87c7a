/*
 * Views. A record has two parties, the tensor that made the buffer and the buffer's finalizer, and one reference to the
 * block between them. The user may drop the typed array, move its bytes to another thread (transfer, postMessage), drop
 * or dispose the tensor, and the environment may die at any moment; the other thread reads for as long as it likes.
 * Where the finalizer runs differs by runtime: a turn later (Node), inside the detaching (Bun, Deno), in the
 * environment's death, or after it.
 */
#include "shared/block.pml"

/* The ArrayBuffer of the record. */
#define ATTACHED 1
#define DETACHED 2 /* by us */
#define MOVED 3    /* by the user: its bytes lie in a buffer of the other thread */

byte buffer = ATTACHED;
bool array = true;   /* JavaScript of this thread can reach a typed array over it */
bool tensor = true;  /* the tensor's handle lives */
bool other_reads;    /* the other thread's buffer lives */
bool dying;          /* the environment has begun to end */
bool instance = true; /* the Environment object, with what records are linked by */

/* The record. */
bool record_lives = true;
bool reference = true; /* record->block, an alias of kind view */
bool in_slot = true;   /* linked to the tensor */
bool listed = true;    /* linked to the environment */
bool kept;             /* left to the process on purpose */
bool finalized;

/* Take: one exchange */
inline take_reference(mine) {
  d_step {
    assert(record_lives);
#ifdef PLANTED_NO_EXCHANGE
    mine = true
#else
    mine = reference;
    reference = false
#endif
  }
}

/* LeaveSlot */
inline leave_slot() {
  d_step {
    assert(record_lives);
    assert(!in_slot || tensor); /* the slot is read */
    in_slot = false
  }
}

/* Cut */
inline cut() {
  d_step {
    assert(record_lives);
    assert(!listed || instance); /* the neighbours are written to */
    listed = false
  }
}

/* Views::OnFinalized, on the environment's thread */
inline finalizer() {
  d_step {
    assert(record_lives);
    assert(!finalized);
    finalized = true
  };
  if
  :: kept
  :: !kept ->
     leave_slot();
     cut();
     take_reference(got);
     if
     :: got -> got = false; drop_alias(OTHER)
     :: else
     fi;
     record_lives = false
  fi
}

/* Views::Detach. The alias is dropped last, when this function ends. */
inline detach() {
  take_reference(mine);
#ifdef PLANTED_TOUCHED_AFTER_DETACH
  buffer = DETACHED;
  if
  :: finalizer()
  :: skip
  fi;
  cut();
#else
  cut();
  buffer = DETACHED; /* typed arrays over it have length 0 from here on */
  if
  :: finalizer() /* Bun, Deno */
  :: skip
  fi;
#endif
  if
  :: mine -> mine = false; drop_alias(OTHER)
  :: else
  fi
}

/* Views::LetGo */
inline let_go() {
  leave_slot();
#ifdef PLANTED_DISPOSE_FREES_WHAT_WAS_MOVED
  if
  :: buffer == MOVED ->
     take_reference(mine);
     if
     :: mine -> mine = false; drop_alias(OTHER)
     :: else
     fi
  :: else
  fi;
#endif
  if
  :: buffer == ATTACHED -> detach()
  :: else
  fi
}

/* Handles::Free */
inline free_handle() {
  tensor = false;
  drop_alias(TENSOR)
}

/* Views::OnEnvironmentEnd, called by the sentinel's finalizer, which is the first of all, or else by the hook */
inline on_environment_end() {
  if
  :: listed ->
     leave_slot();
     if
     :: buffer == ATTACHED -> detach()
     :: else ->
        cut();
        d_step {
          assert(record_lives);
          kept = true
        }
     fi
  :: else
  fi
}

/* The environment's thread: whatever the user, the collector and the runtime come up with, in any order. */
proctype Environment() {
  bool last, mine, got, unique;
  do
  :: array && buffer == ATTACHED -> read_memory()
  :: array -> array = false
  :: array && buffer == ATTACHED -> atomic { buffer = MOVED; other_reads = true; array = false }
  /* releaseViews */
  :: tensor && in_slot -> let_go()
  /* view again, when the buffer is found detached: the old record is left to its finalizer */
  :: tensor && in_slot && buffer != ATTACHED -> leave_slot()
  /* dispose */
  :: tensor ->
     if
     :: in_slot -> let_go()
     :: else
     fi;
     free_handle()
  /* the tensor is collected */
  :: tensor ->
     if
     :: in_slot ->
#ifndef PLANTED_COLLECTION_FORGETS_THE_SLOT
        leave_slot()
#endif
#ifdef PLANTED_COLLECTION_FREES_THE_VIEW
        ;
        take_reference(mine);
        if
        :: mine -> mine = false; drop_alias(OTHER)
        :: else
        fi
#endif
     :: else
     fi;
     free_handle()
  /* Door 2 */
  :: tensor ->
     d_step {
       assert(!freed);
       unique = (word == TENSOR)
     };
     if
     :: unique ->
        unique = false;
        assert(!(array && buffer == ATTACHED));
        write_memory()
     :: else
     fi
  /* the bytes have no holder any more: the finalizer is due */
  :: !finalized && record_lives && buffer == ATTACHED && !array -> finalizer()
  :: !finalized && record_lives && buffer == DETACHED -> finalizer()
  :: !finalized && record_lives && buffer == MOVED && !other_reads -> finalizer()
  :: dying = true; break
  od;

  /* Death. The runtime detaches every external buffer and runs its finalizer, whoever reads its bytes now. */
#ifdef PLANTED_NO_SENTINEL
  if
  :: !finalized && record_lives -> finalizer()
  :: else
  fi;
  on_environment_end();
#else
  on_environment_end();
  if
  :: !finalized && record_lives -> finalizer()
  :: skip
  fi;
#endif
  if
  :: tensor -> free_handle()
  :: else
  fi;
  instance = false;
  /* Deno: after the instance data. Every record that is not kept is finalized sooner or later. */
  if
  :: !finalized && record_lives -> finalizer()
  :: else
  fi
}

/* The other thread. */
proctype Other() {
  do
  :: other_reads -> read_memory()
  :: other_reads -> other_reads = false
  :: dying && !other_reads -> break
  od
}

init {
  atomic {
    word = TENSOR + OTHER;
    run Environment();
    run Other()
  };
  _nr_pr == 1;
  assert(kept || !record_lives);
  assert(deleter_calls == (kept -> 0 : 1)) /* kept: leaked on purpose, since somebody may read it */
}
