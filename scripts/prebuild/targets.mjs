// The targets that the package carries a binary for. The name is the folder's under prebuilds/, and what lib/load.ts asks for.

/**
 * zig: the triple, with the oldest system that the binary must load on. glibc 2.28 and macOS 11 are what Node 20 itself asks for.
 */
export const targets = [
  { name: 'linux-x64', platform: 'linux', arch: 'x64', libc: 'glibc', zig: 'x86_64-linux-gnu.2.28' },
  { name: 'linux-arm64', platform: 'linux', arch: 'arm64', libc: 'glibc', zig: 'aarch64-linux-gnu.2.28' },
  { name: 'linux-x64-musl', platform: 'linux', arch: 'x64', libc: 'musl', zig: 'x86_64-linux-musl' },
  { name: 'linux-arm64-musl', platform: 'linux', arch: 'arm64', libc: 'musl', zig: 'aarch64-linux-musl' },
  { name: 'darwin-x64', platform: 'darwin', arch: 'x64', zig: 'x86_64-macos.11.0' },
  { name: 'darwin-arm64', platform: 'darwin', arch: 'arm64', zig: 'aarch64-macos.11.0' },
  { name: 'win32-x64', platform: 'win32', arch: 'x64', zig: 'x86_64-windows-gnu' },
  { name: 'win32-arm64', platform: 'win32', arch: 'arm64', zig: 'aarch64-windows-gnu' },
];

/** Those named, or all. A name that is no target ends the process. */
export function chosen(names) {
  const unknown = names.filter((name) => !targets.some((target) => target.name === name));
  if (unknown.length > 0) {
    console.error(`no such target: ${unknown.join(', ')}. There are ${targets.map(({ name }) => name).join(', ')}`);
    process.exit(2);
  }
  return names.length === 0 ? targets : targets.filter(({ name }) => names.includes(name));
}

export const binaryOf = (target) => `prebuilds/${target.name}/node_dlpack.node`;
