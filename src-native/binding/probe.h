// Probes: managed tensors with anything in their fields that count what is done to them, for `node-dlpack check`, which
// holds other people's addons against the rules. A probe is kept for the life of the process: its memory is never
// reused, so a second deleter call, or a read after the first, is counted or harmless instead of undefined.
#ifndef NODE_DLPACK_BINDING_PROBE_H_
#define NODE_DLPACK_BINDING_PROBE_H_

namespace node_dlpack::binding {

class Registration;

void RegisterProbe(Registration& registration);

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_PROBE_H_
