// The only file that includes napi.h, so that every file of the binding is compiled under one policy. Two files with
// different settings would still link (the wrappers are inline), and misbehave.
#ifndef NODE_DLPACK_BINDING_NAPI_SETUP_H_
#define NODE_DLPACK_BINDING_NAPI_SETUP_H_

// What Node 20.9, the oldest runtime supported, offers: type tags, instance data, detachable ArrayBuffers, BigInt,
// symbols.
#define NAPI_VERSION 9

// Errors of the addon are values (fault codes); no C++ exception may exist, let alone cross the C boundary.
#define NODE_ADDON_API_DISABLE_CPP_EXCEPTIONS

// Nothing deprecated: what is about to go from node-addon-api fails to compile today.
#define NODE_ADDON_API_DISABLE_DEPRECATED

// A worker may be terminated while it loads the addon: then nothing can be thrown any more, and without this
// node-addon-api ends the process.
#define NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS

#include <napi.h>

#endif  // NODE_DLPACK_BINDING_NAPI_SETUP_H_
