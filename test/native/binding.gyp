# The struct laboratory: an addon of its own, built apart from the library and never shipped. It sees the library only through the two public
# headers, as any stranger's addon would.
{
  'targets': [
    {
      'target_name': 'struct_lab',
      'sources': [
        'calling_deleter.cc',
        'capsules.cc',
        'failing.cc',
        'holders.cc',
        'memory.cc',
        'module.cc',
        'race.cc',
        'structs.cc',
        'token_calls.cc',
        'watched_reads.cc',
      ],
      'include_dirs': ['../../include', "<!(node -p \"require('node-addon-api').include_dir\")"],
      # A worker may be terminated in the middle of any call. With C++ exceptions a call that fails then unwinds (without them the wrappers go
      # on with empty values, and the first use of one ends the process); what can no longer be thrown to JavaScript is dropped.
      'defines': ['NAPI_VERSION=9', 'NODE_ADDON_API_CPP_EXCEPTIONS', 'NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS'],
      'cflags_cc': ['-std=c++17', '-fexceptions', '-fvisibility=hidden', '-Wall', '-Wextra', '-Wpedantic'],
      'cflags_cc!': ['-std=gnu++17', '-fno-exceptions', '-fno-rtti'],
      # Threads of the laboratory outlive the environments that started them: the code must stay mapped.
      'ldflags': ['-Wl,-z,nodelete'],
      'conditions': [["OS=='linux'", {'libraries': ['-ldl']}]],
    },
    # No addon: a library to be loaded before all others.
    {'target_name': 'failing_allocator', 'sources': ['failing_allocator.c'], 'cflags_c': ['-std=c11', '-fno-builtin']},
  ],
}
