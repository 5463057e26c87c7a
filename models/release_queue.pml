/*
 * JavaScript-backed memory. Two blocks are dropped on threads of their own, at any moment of the environment's life,
 * death or absence; each posts its job. Jobs touch JavaScript on the environment's thread alone, and only before it has
 * begun to end; nobody touches the queue when it is gone, or the runtime's wake-up function when it has closed.
 */
#define JOBS 2

bool locked;
byte posted;          /* the list, by number of jobs: they are alike */
bool closed;
byte references = 1;  /* the environment's own; a bound job has one, the wake-up function has one */
bool queue_lives = true;
bool wake;            /* queue->wake_ is not nullptr */
bool function_lives;  /* the runtime's threadsafe function */
bool woken;           /* a call of it is due on the environment's thread */
bool engine = true;   /* JavaScript can be touched */
byte run_jobs;

inline lock() {
  atomic {
    assert(queue_lives);
    !locked -> locked = true
  }
}

inline unlock() {
  d_step {
    assert(queue_lives);
    locked = false
  }
}

/* ReleaseQueue::Release */
inline release_reference() {
  d_step {
    assert(queue_lives);
    references--;
    gone = (references == 0)
  };
  if
  :: gone -> gone = false; queue_lives = false
  :: else
  fi
}

/* A job's run: PinnedValue::Run. With nothing of Node-API when `with_engine` is false. */
inline run_job(with_engine) {
  d_step {
    assert(!with_engine || engine);
    run_jobs++
  }
}

/* ReleaseQueue::Post */
proctype Dropper() {
  bool gone, first, seen;
#ifdef PLANTED_CLOSED_ASKED_WITHOUT_LOCK
  seen = closed;
  lock();
#else
  lock();
  seen = closed;
#endif
  if
  :: !seen ->
     first = (posted == 0);
     posted++;
     if
     :: first && wake ->
        assert(function_lives);
        if
        :: woken = true
        :: wake = false /* refused: the runtime is closing it */
        fi
     :: else
     fi;
     unlock()
  :: else ->
     unlock();
     run_job(false);
#ifdef PLANTED_LATE_JOB_TOUCHES_THE_ENGINE
     assert(engine);
#endif
     release_reference()
  fi
}

inline take_posted() {
#ifdef PLANTED_LIST_TAKEN_WITHOUT_LOCK
  mine = posted;
  posted = 0;
#else
  lock();
  mine = posted;
  posted = 0;
  unlock();
#endif
}

inline run_taken(with_engine) {
  do
  :: mine > 0 -> mine--; run_job(with_engine); release_reference()
  :: else -> break
  od
}

proctype Environment() {
  bool gone, mine_wake;
  byte mine;
  /* Its life: Environment::Upkeep drains before a call, OnWake when woken. The runtime may close the function before
   * the cleanup hook comes: its own hooks run in an order that is not ours. */
  do
  :: posted > 0 -> take_posted(); run_taken(true)
  :: woken -> woken = false; take_posted(); run_taken(true)
  :: break
  od;
  if
  :: function_lives -> /* OnWakeGone, then the function is freed */
     lock();
#ifndef PLANTED_WAKE_OUTLIVES_ITS_FUNCTION
     wake = false;
#endif
     unlock();
     function_lives = false;
     release_reference()
  :: skip
  fi;
  /* ReleaseQueue::Close, in the hook */
  lock();
  closed = true;
  mine_wake = wake;
  wake = false;
  unlock();
  engine = false;
#ifndef PLANTED_CLOSE_RUNS_NOTHING
  take_posted();
  run_taken(false);
#endif
  if
  :: mine_wake -> /* released, and finalized by the runtime later: OnWakeGone */
     lock();
     wake = false;
     unlock();
     function_lives = false;
     release_reference()
  :: !mine_wake && function_lives -> /* it refused a call: the runtime ends it by itself */
     lock();
     unlock();
     function_lives = false;
     release_reference()
  :: else
  fi;
#ifdef PLANTED_QUEUE_ENDS_WITH_ITS_ENVIRONMENT
  queue_lives = false
#else
  release_reference() /* Environment::~Environment */
#endif
}

init {
  atomic {
    references = references + JOBS + 1; /* ReleaseQueue::Bind, MakeWakeUp */
    wake = true;
    function_lives = true;
    run Environment();
    run Dropper();
    run Dropper()
  };
  _nr_pr == 1;
  assert(run_jobs == JOBS);
  assert(!queue_lives)
}
