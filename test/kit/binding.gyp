# The kit laboratory: a stranger's addon, in C and in C++, that sees node-dlpack through its public headers alone and takes them the way they
# are shipped: by the gyp target whose settings reach whoever depends on it. Never published.
{
  'targets': [
    {
      'target_name': 'kit_lab',
      'sources': ['kit_lab.c', 'kit_table.c', 'kit_cpp.cc'],
      'dependencies': ['../../include/node_dlpack.gyp:node_dlpack'],
      'defines': ['NAPI_VERSION=8'],
      'cflags': ['-Wall', '-Wextra', '-Wpedantic', '-fvisibility=hidden'],
      'cflags!': ['-Wno-unused-parameter'],
      'cflags_c': ['-std=c11'],
      'cflags_cc': ['-std=c++17', '-fno-exceptions', '-fno-rtti'],
      'cflags_cc!': ['-std=gnu++17', '-std=gnu++20'],
    },
  ],
}
