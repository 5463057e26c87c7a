{
  'targets': [
    {
      'target_name': 'addon_cpp',
      'sources': ['addon.cc'],
      'include_dirs': ["<!(node -p \"require('node-addon-api').include_dir\")"],
      # The one line that node-dlpack needs: include directories come with it, and there is nothing to link.
      'dependencies': ["<!(node -p \"require('node-dlpack/include-dir').gypTarget\")"],
      'defines': ['NAPI_VERSION=8', 'NODE_ADDON_API_DISABLE_CPP_EXCEPTIONS'],
      'cflags_cc': ['-std=c++17', '-Wall', '-Wextra', '-fvisibility=hidden'],
      'cflags_cc!': ['-std=gnu++17', '-std=gnu++20'],
      'xcode_settings': {'CLANG_CXX_LANGUAGE_STANDARD': 'c++17'},
      'msvs_settings': {'VCCLCompilerTool': {'AdditionalOptions': ['/std:c++17']}},
    },
  ],
}
