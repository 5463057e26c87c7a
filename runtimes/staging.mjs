// What differs where external ArrayBuffers are forbidden, as Electron has it, and why: the only failures that `npm run test:staging` accepts. A line
// that no longer comes true fails the run. `file` and `test` are matched against the names of test files and tests.

const COUNT = 'a copy is no alias: no view is counted, and none stops a move';
const COPY =
  'what looks at memory is a copy, and says so: zeroCopy is false, a diagnostic is published, and it lies elsewhere';
const WRITES =
  'it writes what others must see at once through an array, or looks at memory that may be protected: refused by name';

const difference = (file, test, why) => ({
  runtimes: ['staging'],
  file,
  test,
  what: `${file.source} ${test.source}`,
  why,
});

export const DIFFERENCES = [
  difference(/^140-consumer$/, /^C065 .*an answer that is a sole copy|^C066 .*the producer's own/, COPY),
  difference(/^140-consumer$/, /C070 flags 0: a writable loan/, WRITES),
  difference(/^160-/, /C095 any other alias stops it/, COUNT),
  difference(/^175-/, /^CASE C26 /, COUNT),
  difference(/^175-/, /^CASE C33 /, 'a copy of 5 GiB that must be seen at once is refused'),
  difference(/^200-tensor$/, /^metadata zeroCopy is false for what/, COPY),
  difference(/^205-tensor-ends$/, /^Door 2 a shared one stays/, COUNT),
  difference(/^210-owned-tensor$/, /^allocate gives zeroed|^data and bits are the memory itself/, COPY),
  difference(
    /^230-view$/,
    /^view (is the memory itself|bits lie over|keeps the bytes alive|when the user moved)/,
    COPY,
  ),
  difference(/^230-view$/, /^strided shows the span|^withView (gives an array of its own|a promise keeps)/, COUNT),
  difference(/^230-view$/, /^view to write through|^withView gives bits, and writable/, WRITES),
  difference(/^240-lend$/, /^a loan (is read-only unless|writes of a writable loan)|an unsafe view of a loan/, WRITES),
  difference(/^260-unsafe$/, /^fromPointer is a tensor|^adopt exports the memory/, COPY),
  difference(/^260-unsafe$/, /readOnly: false makes|^unsafeView writes|^adopt writable: true/, WRITES),
  difference(/^270-/, /^stats counts what is alive$/, COUNT),
  difference(/^290-misuse$/, /unsafe view is open$/, WRITES),
  difference(
    /^300-kit-take$/,
    /^borrow writes into an OwnedTensor/,
    'a borrower is shown the copy that stands for the memory',
  ),
  difference(/^360-check$/, /^what is sound breaks no rule$/, 'node-dlpack check overwrites structs in place'),
  difference(/^400-/, /^unsafeView is right as the table calls it$/, WRITES),
  difference(/^examples$/, /^an example DLPackBufferError#aliases/, COUNT),
  difference(/^examples$/, /^an example OwnedTensor#zeroCopy/, COPY),
  difference(/^examples$/, /^an example unsafeView/, WRITES),
  difference(/^files\/npy$/, /belongs to nobody else: Door 2 is open$/, COPY),
  difference(/^files\/write$/, /^parts of a writable loan/, WRITES),
  difference(/^interop\/garbage$/, /^foreign memory that may be protected/, WRITES),
  difference(/^memory-failures$/, /./, 'unsafeView is refused before it asks for memory'),
  difference(/^readme$/, /docs\/ownership\.md/, WRITES),
  difference(/^streaming$/, /the peak of the process stays/, 'each frame that is looked at is a copy'),
  difference(/^token-functions$/, /arrives as fromDLPack would make it/, COPY),
];
