// Conversion: assign and convert, one native pass from any layout and real dtype into any other, with per-channel scale
// and offset.
//
// Overlap rule: where source and target share bytes, the source is staged in fresh memory first; only there. Without it
// a pass would read what it has already written (a flip onto itself keeps half of its elements).
#ifndef NODE_DLPACK_BINDING_CONVERSION_H_
#define NODE_DLPACK_BINDING_CONVERSION_H_

namespace node_dlpack::binding {

class Registration;

void RegisterConversion(Registration& registration);

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_CONVERSION_H_
