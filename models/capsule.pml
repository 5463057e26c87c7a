/*
 * Capsule take. A record holds the managed pointer; whoever exchanges it with NULL owns the struct and owes its one
 * deleter call. Two consumers on threads of their own and the environment that ends the capsule reach for it at any
 * moment. The struct is read only by who took it: take first, then validate.
 */
bool managed = true; /* record->managed is not NULL */
bool record_lives = true;
bool struct_lives = true;
byte deleter_calls;
byte knowing = 2; /* consumers that hold the External */

inline read_struct() {
  assert(struct_lives)
}

/* DeleteManaged, through ManagedGuard::Reset */
inline delete_managed() {
  d_step {
    assert(struct_lives);
    struct_lives = false;
    deleter_calls++
  }
}

/* node_dlpack_record_take */
inline record_take(mine) {
#ifdef PLANTED_LOAD_THEN_STORE
  d_step {
    assert(record_lives);
    mine = managed
  };
  managed = false
#else
  d_step {
    assert(record_lives);
    mine = managed;
    managed = false
  }
#endif
}

/* ImportCapsule of fromDLPack; node_dlpack_take of another addon. releaseCapsule is the branch that refuses. */
proctype Consumer() {
  bool mine;
#ifdef PLANTED_VALIDATE_BEFORE_TAKE
  if
  :: !managed -> goto used
  :: else
  fi;
  read_struct();
#endif
  record_take(mine);
  if
  :: !mine -> goto used
  :: else
  fi;
  read_struct(); /* CheckedTensor::Check */
  if
  :: delete_managed() /* refused: the guard's destructor */
#ifdef PLANTED_REFUSAL_KEEPS
  :: skip
#endif
  :: read_struct(); /* accepted: the elements, for as long as the block lives */
     delete_managed() /* Block::End of Block::AdoptManaged */
  fi;
used:
  knowing--
}

/* The environment's thread. */
proctype Ending() {
  bool mine;
  if
  :: knowing == 0 -> /* collected: nobody can reach the External any more */
     record_take(mine);
     if
     :: mine -> delete_managed()
     :: else
     fi;
     record_lives = false /* FreeCapsules */
  :: record_take(mine); /* the cleanup hook, at any moment: EmptyCapsule */
     if
     :: mine -> delete_managed()
     :: else
     fi;
#ifdef PLANTED_HOOK_FREES_RECORD
     record_lives = false
#endif
  fi
}

init {
  atomic {
    run Consumer();
    run Consumer();
    run Ending()
  };
  _nr_pr == 1;
  assert(deleter_calls == 1)
}
