/*
 * The environment's death. A tensor, a capsule over the same block and an export in a consumer's hands are alive when
 * the cleanup hook runs. A thread that knows no environment reaches for the capsule's record and calls deleters, before,
 * during and after. Foreign deleters that the hook runs come back to the library, as does JavaScript that still runs.
 */
#include "shared/block.pml"

bool ending;           /* Environment::ending */
bool instance = true;  /* the Environment object */
bool record_managed = true;
bool record_lives = true;
bool slot[3];          /* handles: 0 the tensor, 1 the capsule, 2 one that a late call makes */

/* Open of managed_tensor: the deleter of our own structs. It touches the block alone. */
inline delete_managed() {
#ifdef PLANTED_DELETER_ASKS_THE_ENVIRONMENT
  assert(instance);
#endif
  drop_alias(OTHER)
}

/* node_dlpack_record_take */
inline record_take(mine) {
  d_step {
    assert(record_lives);
    mine = record_managed;
    record_managed = false
  }
}

/* Call: any function of the addon that makes a handle. */
inline late_call() {
  assert(instance);
  if
  :: ending /* kEnvironmentEnding */
  :: !ending && slot[0] && !slot[2] -> slot[2] = true; add_alias(TENSOR)
  :: !ending && (!slot[0] || slot[2])
  fi
}

/* Handles::Free */
inline free_handle(i) {
  slot[i] = false;
  drop_alias(TENSOR)
}

proctype Environment() {
  bool last, mine;
  /* Its life: calls, a dispose of what it made. */
  do
  :: late_call()
  :: slot[2] -> free_handle(2)
  :: break
  od;

  /* Environment::OnCleanup */
#ifndef PLANTED_ENDING_IS_SAID_LAST
  ending = true;
#endif
  if
  :: slot[2] -> free_handle(2)
  :: else
  fi;
  /* EmptyCapsule: emptied; the record stays for whoever still knows the External */
#ifdef PLANTED_CAPSULES_ARE_FORGOTTEN
  skip;
#else
#ifdef PLANTED_HOOK_LOOKS_AND_DELETES
  mine = record_managed;
#else
  record_take(mine);
#endif
  if
  :: mine -> mine = false;
     late_call(); /* what a foreign deleter may do */
     delete_managed()
  :: else
  fi;
#endif
#ifdef PLANTED_HOOK_FREES_RECORDS
  record_lives = false;
#endif
  slot[1] = false;
  if
  :: slot[0] -> free_handle(0)
  :: else
  fi;
#ifdef PLANTED_ENDING_IS_SAID_LAST
  ending = true;
#endif
  /* finalizers of others, and JavaScript that they run */
  late_call();
  /* Environment::OnInstanceDataGone */
  instance = false
}

/* A consumer in C, with threads of its own: it holds one export, and tries the capsule. */
proctype Consumer() {
  bool last, mine;
  if
  :: record_take(mine);
     if
     :: mine -> mine = false; assert(!freed); delete_managed()
     :: else
     fi
  :: skip
  fi;
  assert(!freed);
  delete_managed()
}

init {
  atomic {
    word = TENSOR + 2 * OTHER;
    slot[0] = true;
    slot[1] = true;
    run Environment();
    run Consumer()
  };
  _nr_pr == 1;
  assert(!slot[0] && !slot[1] && !slot[2]);
  assert(deleter_calls == 1)
}
