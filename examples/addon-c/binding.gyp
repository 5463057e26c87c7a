{
  'targets': [
    {
      'target_name': 'addon_c',
      'sources': ['addon.c'],
      # The one line that node-dlpack needs: include directories come with it, and there is nothing to link.
      'dependencies': ["<!(node -p \"require('node-dlpack/include-dir').gypTarget\")"],
      'defines': ['NAPI_VERSION=8'],
      'cflags': ['-std=c11', '-Wall', '-Wextra', '-Wpedantic', '-fvisibility=hidden'],
      'cflags!': ['-Wno-unused-parameter'],
      'xcode_settings': {'GCC_C_LANGUAGE_STANDARD': 'c11'},
      'msvs_settings': {'VCCLCompilerTool': {'AdditionalOptions': ['/std:c11']}},
    },
  ],
}
