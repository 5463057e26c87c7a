# The addon as the repository builds it: src-native/addon.gypi, and the layout tests. That those compile is the test; in
# C and in C++, since the public headers serve both.
{
  'variables': {
    'more_sources': [
      'test/core/dlpack_layout.c',
      'test/core/dlpack_layout.cc',
      'test/kit/node_dlpack_layout.c',
      'test/kit/node_dlpack_tokens.c',
      'test/kit/node_dlpack_layout.cc',
    ],
  },
  'includes': ['src-native/addon.gypi'],
}
