# The addon: the core (C++ without Node) and the binding, in one module, every .cc file of the two rooms. Everything but
# the entry point and the exported C functions is hidden, so that nothing of it can be mistaken for another addon's.
#
# Whoever compiles the addon reads this file, so that there is one list of sources and flags: the repository's
# binding.gyp, the one that `node-dlpack build` writes beside a copy of the sources, and scripts/prebuilds.mjs, which
# reads it as a Python literal: no expression but the two commands. As gyp has it, plain paths start at this file's
# folder; what a command prints, and its working directory, at the folder of the binding.gyp.
{
  # Compiled and linked into the addon as well: none where only the sources are, without the tests.
  'variables': {'more_sources%': []},
  'targets': [
    {
      'target_name': 'node_dlpack',
      'sources': [
        "<!@(node -p \"['core', 'binding'].flatMap((room) => require('fs').readdirSync('src-native/' + room)"
        ".filter((name) => name.endsWith('.cc')).map((name) => 'src-native/' + room + '/' + name)).join(' ')\")",
        '<@(more_sources)',
      ],
      'include_dirs': ['../include', 'core', "<!(node -p \"require('node-addon-api').include_dir\")"],
      'cflags': ['-fvisibility=hidden', '-ffp-contract=off', '-Wall', '-Wextra', '-Wpedantic'],
      'cflags!': ['-Wno-unused-parameter'],
      'cflags_c': ['-std=c11'],
      'cflags_cc': ['-std=c++17', '-fno-exceptions', '-fno-rtti', '-fvisibility-inlines-hidden'],
      'cflags_cc!': ['-std=gnu++17', '-std=gnu++20'],
      'xcode_settings': {
        'CLANG_CXX_LANGUAGE_STANDARD': 'c++17',
        'GCC_ENABLE_CPP_EXCEPTIONS': 'NO',
        'GCC_ENABLE_CPP_RTTI': 'NO',
        'GCC_SYMBOLS_PRIVATE_EXTERN': 'YES',
        'MACOSX_DEPLOYMENT_TARGET': '11.0',
        'OTHER_CFLAGS': ['-ffp-contract=off'],
        'WARNING_CFLAGS': ['-Wall', '-Wextra', '-Wpedantic'],
      },
      'msvs_settings': {
        'VCCLCompilerTool': {
          'AdditionalOptions': ['/std:c++17', '/W4'],
          'ExceptionHandling': 0,
          'RuntimeTypeInfo': 'false',
        },
      },
      'conditions': [
        ["OS=='linux'", {'libraries': ['-ldl']}],
        ["OS=='win'", {'libraries': ['bcrypt.lib']}],
      ],
    },
  ],
}
