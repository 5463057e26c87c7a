// The exchange table of one instance of the library: how other native code reaches our tensors without a call into
// JavaScript (include/node_dlpack/exchange.h is its public face).
//
// Rules, and what breaks without them:
// - A table outlives its environment: an addon may have kept its address. Tables are never freed; at the end of the
//   environment theirs is closed, and every function answers so from then on.
// - The functions are given the caller's env, whose instance data is the caller's. Ours is reached through `context`.
// - The handle is read from the object first, since a Proxy or a getter runs code there, and resolved afterwards.
//   Nothing runs JavaScript between that and the end of the call, so a borrowed description is good until the caller
//   itself lets JavaScript run.
// - What goes out is what __dlpack__({ max_version: [1, 3] }) gives: the same flags, counts, states and refusals.
// - An owner that is consumed here becomes a tombstone in JavaScript too: its state is a property under a symbol of the
//   instance's, which native writes.
// - No realm's constructor is kept: a managed tensor comes in as a capsule, and the realm's own fromDLPack makes the
//   tensor.
#ifndef NODE_DLPACK_BINDING_EXCHANGE_TABLE_H_
#define NODE_DLPACK_BINDING_EXCHANGE_TABLE_H_

#include "napi_setup.h"
#include "node_dlpack/exchange.h"

namespace node_dlpack::binding {

class Environment;
class Registration;

class ExchangeTable {
 public:
  // The environment's, which closes it. nullptr: no memory.
  static ExchangeTable* Create(Environment& environment);

  ExchangeTable(const ExchangeTable&) = delete;
  ExchangeTable& operator=(const ExchangeTable&) = delete;

  // The keys of handle and state, and the tagged External over the table. False: the load fails.
  bool Publish(Registration& registration);
  // The cleanup hook: from now on every function answers NODE_DLPACK_ERROR_ENDING.
  void Close();

  // For the functions: nullptr once closed.
  Environment* environment() const { return environment_; }
  napi_ref handle_symbol() const { return handle_symbol_; }
  napi_ref state_symbol() const { return state_symbol_; }

 private:
  explicit ExchangeTable(Environment& environment);
  ~ExchangeTable() = default;

  node_dlpack_exchange_api api_{};
  Environment* environment_;
  napi_ref handle_symbol_ = nullptr;
  napi_ref state_symbol_ = nullptr;
  ExchangeTable* next_;  // of all tables of the process, so that a leak checker can tell them from a leak
};

// Puts `handleSymbol`, `stateSymbol` and `exchangeApi` on exports.
void RegisterExchangeTable(Registration& registration, Environment& environment);

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_EXCHANGE_TABLE_H_
