// Elements in and out: readElement, copyOut, fill, fromBytes, copy. Copies that change neither dtype nor values;
// conversion.h has those that do.
#ifndef NODE_DLPACK_BINDING_ELEMENTS_H_
#define NODE_DLPACK_BINDING_ELEMENTS_H_

namespace node_dlpack::binding {

class Registration;

void RegisterElements(Registration& registration);

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_ELEMENTS_H_
