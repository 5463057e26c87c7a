/*
 * Tokens. A sender puts an alias of its block into the table, under a lock, and may end at once. Two claimants, one of
 * which may fail after it took the entry, and a sweep or a revocation reach for it at any moment. The block is foreign:
 * its deleter may come back to the tokens.
 */
#include "shared/block.pml"

bool locked;
bool in_table;    /* the entry can be found */
bool entry_lives; /* its memory, and with it the parcel's alias */
bool offered;
bool expired;     /* the clock has passed its ttl */
byte claimed;     /* claims that succeeded */

inline lock() {
  atomic {
    !locked -> locked = true
  }
}

inline unlock() {
  locked = false
}

/* Tokens used by a deleter: any of the functions, all of which take the lock. */
inline call_back() {
  lock();
  unlock()
}

/* Destroy: without the lock, for the alias may be the last, and its end runs a deleter. */
inline destroy() {
  assert(entry_lives);
  drop_alias(OTHER);
  if
  :: freed -> call_back()
  :: else
  fi;
  entry_lives = false
}

/* TokenClaim::Take */
inline claim_take(mine) {
#ifdef PLANTED_FOUND_WITHOUT_LOCK
  mine = (in_table && !expired);
  if
  :: mine -> in_table = false
  :: else
  fi
#else
  lock();
  mine = (in_table && !expired);
  if
  :: mine ->
#ifndef PLANTED_CLAIMED_STAYS_IN_TABLE
     in_table = false
#endif
  :: else
  fi;
  unlock()
#endif
}

/* TokenClaim::~TokenClaim of a claim that was not spent */
inline put_back() {
  lock();
  in_table = true;
  unlock()
}

/* ShareToken, TransferToken: OfferSlot, OfferToken; then the sender's environment may end. */
proctype Sender() {
  bool last;
  add_alias(OTHER);
  entry_lives = true;
  lock();
  in_table = true;
  unlock();
  offered = true;
  drop_alias(TENSOR); /* TransferToken's ReleaseSlot, or Environment::OnCleanup */
  if
  :: freed -> call_back()
  :: else
  fi
}

/* ClaimShared, ClaimTransfer, node_dlpack_claim. They know the token only when the sender has told it. */
proctype Claimant() {
  bool last, mine;
  offered;
  claim_take(mine);
  if
  :: mine ->
     if
     :: /* no memory for a handle */
#ifdef PLANTED_FAILED_CLAIM_LOSES
        skip
#else
        put_back()
#endif
     ::
#ifdef PLANTED_SPENT_BEFORE_ITS_ALIAS
        destroy();
        add_alias(TENSOR);
#else
        add_alias(TENSOR);
        destroy();
#endif
        claimed++;
        read_memory();
        drop_alias(TENSOR);
        if
        :: freed -> call_back()
        :: else
        fi
     fi
  :: else
  fi
}

/* SweepTokens at a later call of the library, and RevokeToken, which takes without asking the clock. */
proctype Sweeper() {
  bool last, mine;
  do
  :: expired = true;
     lock();
#ifdef PLANTED_DELETER_UNDER_LOCK
     if
     :: in_table -> in_table = false; destroy()
     :: else
     fi;
     unlock()
#else
     mine = in_table;
     in_table = false;
     unlock();
     if
     :: mine -> mine = false; destroy()
     :: else
     fi
#endif
  :: offered && !entry_lives -> break
#ifdef PLANTED_FAILED_CLAIM_LOSES
  :: offered && !in_table -> break
#endif
  od
}

init {
  atomic {
    word = TENSOR;
    run Sender();
    run Claimant();
    run Claimant();
    run Sweeper()
  };
  _nr_pr == 1;
  assert(claimed <= 1);
  assert(!in_table);
  assert(deleter_calls == 1)
}
