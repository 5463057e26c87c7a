/**
 * What `node-dlpack <command> --help` prints. Apart from the commands, so that help can be had where they do not load:
 * `inspect` and `check` need the binary, and who has none needs help most.
 */
export const HELP = {
  info: `node-dlpack info [--json]

Prints the platform, the binary in use, what the engine allows, and which of the libraries that tensors can be
exchanged with are installed here.

Exit code: 0 when the binary loads, 1 when it does not, 2 for an option that does not exist.`,

  inspect: `node-dlpack inspect <file> [--tensor <name>] [--dtype <dtype>] [--json] [--no-picture]

<file>: an .npy file, a .safetensors file, or a picture that sharp reads, where sharp is installed in this folder.
Prints dtype, shape, strides and size; smallest, largest and mean of the finite elements, how many are not, and a
histogram; then a picture of what looks like one ([height, width], with 1, 3 or 4 channels last, or 1 or 3 first; at
least 8 pixels each way), in colour on a terminal and in ASCII elsewhere, or the elements.

--tensor: of a .safetensors file with several tensors, this one; without it they are listed.
--dtype: what bare bytes in an .npy file are (bfloat16, float8_e4m3fn, ...).
--json: all but elements and picture as JSON.

Exit code: 0, 2 when the file cannot be read.`,

  explain: `node-dlpack explain [<code>] [--json]

Prints what an error means and what to do about it. <code> is the error's \`code\`, such as ERR_DLPACK_BUFFER; without
one, the codes are listed.

Exit code: 0, or 1 when there is no such code, 2 for an option that does not exist.`,

  build: `node-dlpack build [--json]

Compiles the addon from the sources in this package, with node-gyp: it needs npm, Python 3 and a C++ compiler
(GCC or Clang, Xcode's command line tools, Visual Studio). The binary in build/Release is used before any other; remove
that folder to be rid of it.

Exit code: 0 when the new binary loads, 1 when it could not be made, 2 for an option that does not exist.`,

  check: `node-dlpack check <addon> [--json] [--only <id,...>] [--list]

<addon>: a .node file or any module of Node's. It exports one of these functions, or both:
  makeTensor()    a DLPack capsule, or an object with __dlpack__ and __dlpack_device__; a fresh one at every call
  takeTensor(x)   takes such a thing and lets it go: at the latest when what it returned is collected. It throws for
                  anything else. A number \`sum\` in what it returns is held against the elements
and, if it likes:
  held()          how many tensors of its own somebody still holds: then leaks are counted instead of measured
  takes           { dtype: 'float32', shape: [2, 3] }: what takeTensor works on, if that is not what makeTensor makes

Exit code: 0 when no rule is broken, 1 when one is, 2 when the addon cannot be loaded.
--json: the results as JSON. --only: these rules alone. --list: the rules.`,
} as const;
