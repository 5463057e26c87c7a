/*
 * The two doors. The holder of a tensor exports it as often as it likes (Door 1), or moves out when it is alone (Door 2)
 * and then writes, freezes, or hands its sole ownership to a consumer in a struct that says IS_COPIED. Consumers on two
 * other threads take the structs: as a foreign library does, or as this library does, which may go through the doors
 * itself. An owner writes; whoever else holds a Tensor reads.
 */
#include "shared/block.pml"

/* What lies in a capsule. */
#define EMPTY 0
#define READ_ONLY 1 /* a struct made by Door 1 */
#define SOLE 2      /* a struct made by an owner: IS_COPIED */
#define COMING 3    /* being made */

#ifndef STEPS
#define STEPS 4
#endif

byte capsule[2];
byte left = STEPS;

/* Block::IsUnique, as Move and Import ask it */
inline is_unique(answer) {
  d_step {
    assert(!freed);
#ifdef PLANTED_EXPORTS_DO_NOT_COUNT
    answer = (word % OTHER == TENSOR)
#else
    answer = (word == TENSOR)
#endif
  }
}

/* ExportTensor: MakeManaged over an alias of its own, then MakeCapsule, which others see when the call returns. */
inline export_shared() {
#ifndef PLANTED_STRUCT_WITHOUT_ALIAS
  add_alias(OTHER);
#endif
  capsule[slot] = READ_ONLY
}

/* ExportOwned, FromOwner: the struct first, then the owner's end; nobody has seen the struct before. */
inline export_owned() {
#ifdef PLANTED_OWNER_ENDS_FIRST
  drop_alias(TENSOR);
  add_alias(OTHER);
#else
  add_alias(OTHER);
  drop_alias(TENSOR);
#endif
  tensor = false;
  capsule[slot] = SOLE
}

/* node_dlpack_export: another struct, with the same flags, from a struct that is held. */
inline export_held() {
  add_alias(OTHER);
  capsule[slot] = got
}

/* Import of a struct of ours: UnwrapOwn, then the alias is the new tensor's. */
inline unwrap() {
#ifdef PLANTED_UNWRAP_BY_DROPPING
  drop_alias(OTHER);
  add_alias(TENSOR)
#else
  change_alias(OTHER, TENSOR)
#endif
}

inline find_room() {
  atomic {
    if
    :: capsule[0] == EMPTY -> slot = 0
    :: capsule[1] == EMPTY -> slot = 1
    fi;
    capsule[slot] = COMING
  }
}

/* Any thread with this library: it holds a tensor, or waits for a capsule. */
proctype Ours(bool tensor) {
  bool last, answer;
  byte got, slot;
again:
  do
  :: tensor -> read_memory()
  :: atomic { tensor && left > 0 -> left-- };
     if
     :: find_room(); export_shared()
     :: is_unique(answer);
#ifdef PLANTED_CODE_BETWEEN_CHECK_AND_MOVE
        if
        :: find_room(); export_shared()
        :: skip
        fi;
#endif
        if
        :: answer -> answer = false; goto owner
        :: else
        fi
     fi
  :: tensor -> tensor = false; drop_alias(TENSOR)
  :: atomic { !tensor && (capsule[0] == READ_ONLY || capsule[0] == SOLE) -> got = capsule[0]; capsule[0] = EMPTY }; goto taken
  :: atomic { !tensor && (capsule[1] == READ_ONLY || capsule[1] == SOLE) -> got = capsule[1]; capsule[1] = EMPTY }; goto taken
  :: !tensor && freed -> goto done
  od;

taken:
  unwrap();
  tensor = true;
  if
  :: got = 0; goto again /* fromDLPack: a Tensor */
  :: got == SOLE -> /* fromDLPack with copy: true */
     got = 0;
#ifdef PLANTED_FLAGS_ARE_BELIEVED
     answer = true;
#else
     is_unique(answer);
#endif
     if
     :: answer -> answer = false; goto owner
     :: else -> /* copied */
        read_memory();
        tensor = false;
        drop_alias(TENSOR);
        goto again
     fi
  fi;

owner:
  write_memory();
  if
  :: goto again /* Freeze */
  :: find_room(); export_owned(); goto again
  :: tensor = false; drop_alias(TENSOR); goto again
  fi;
done:
  skip
}

/* A library that knows only structs and deleters. */
proctype Foreign() {
  bool last;
  byte got, slot;
  do
  :: atomic { capsule[0] == READ_ONLY || capsule[0] == SOLE -> got = capsule[0]; capsule[0] = EMPTY }; goto taken
  :: atomic { capsule[1] == READ_ONLY || capsule[1] == SOLE -> got = capsule[1]; capsule[1] = EMPTY }; goto taken
  :: freed -> break
  od;
  goto done;
taken:
  if
  :: atomic { left > 0 -> left-- }; find_room(); export_held()
  :: skip
  fi;
  read_memory();
  drop_alias(OTHER); /* the deleter: Open, and the alias that it returns */
done:
  skip
}

init {
  atomic {
    word = TENSOR;
    run Ours(true);
    run Ours(false);
    run Foreign()
  };
  _nr_pr == 1;
  assert(deleter_calls == 1);
  assert(capsule[0] == EMPTY && capsule[1] == EMPTY)
}
