// Tokens, from JavaScript: share and transfer make one, fromShared and fromTransfer claim it. What a token is stands in
// core/tokens.h; native code claims and offers them through include/node_dlpack_tokens.h.
//
// Rules, and what breaks without them:
// - Only native memory leaves a thread. JavaScript-backed memory (adopt, fromPointer) is refused by name: its release
//   belongs to its environment, which may be gone while others read.
// - A token is an alias. The token of a lent tensor keeps the owner locked (kLent) until it is claimed and what comes
//   of it ends, or it expires: the loan cannot see who has the text, so it cannot take the memory back.
// - What comes of a tensor shared here is read-only, of a writable loan too: the lender promised its writers an end
//   that another thread does not keep. (What native code offers is what it said it is.)
// - A transfer checks what freeze and export check (not lent, no window, data not moved away), and detaches the owner's
//   data last, when nothing can fail any more.
// - Memory that a claim finds itself alone with is on the claiming environment's account from then on.
#ifndef NODE_DLPACK_BINDING_TOKEN_CALLS_H_
#define NODE_DLPACK_BINDING_TOKEN_CALLS_H_

namespace node_dlpack::binding {

class Registration;

void RegisterTokens(Registration& registration);

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_TOKEN_CALLS_H_
