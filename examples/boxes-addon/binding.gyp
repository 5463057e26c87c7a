{
  "targets": [
    {
      "target_name": "boxes_addon",
      "sources": ["addon.c", "tensors.c", "lines.c", "resample.c"],
      "include_dirs": ["../../include"],
      "defines": ["NAPI_VERSION=9"],
      "cflags": ["-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-fvisibility=hidden"],
      "xcode_settings": {
        "GCC_C_LANGUAGE_STANDARD": "c11",
        "GCC_OPTIMIZATION_LEVEL": "2",
        "GCC_SYMBOLS_PRIVATE_EXTERN": "YES",
        "WARNING_CFLAGS": ["-Wall", "-Wextra", "-Wpedantic"]
      },
      "msvs_settings": {
        "VCCLCompilerTool": {"AdditionalOptions": ["/std:c11"]}
      }
    }
  ]
}
