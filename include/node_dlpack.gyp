# For binding.gyp of other addons: what depends on this target finds dlpack/dlpack.h, node_dlpack.h and node_dlpack.hpp. There is nothing to
# link.
{
  'targets': [
    {
      'target_name': 'node_dlpack',
      'type': 'none',
      'direct_dependent_settings': {
        'include_dirs': ['.'],
      },
    },
  ],
}
