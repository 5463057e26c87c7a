// What was read and what was exchanged, for people (text) and for programs (JSON).
import { hex } from './hand-overs.mjs';

const percent = (confidence) => `${Math.round(confidence * 100)}%`;

export function pictureText({ file, width, height, lines, output, milliseconds }) {
  const { decode, detect, read } = milliseconds;
  const times = Object.entries({ decoded: decode, 'lines found': detect, read });
  const took = times.map(([what, time]) => `${what} in ${time.toFixed(0)} ms`).join(', ');
  const head = `${file}: ${width} x ${height}, ${took}`;
  const body =
    lines.length === 0
      ? ['  no text found']
      : lines.map(({ words, confidence }) => {
          const said = words.map((word) => `${word.text} ${percent(word.confidence)}`).join('  ');
          return `  ${percent(confidence).padStart(4)} | ${said}`;
        });
  return [head, ...body, `  drawn: ${output}`, ''].join('\n');
}

function table(head, rows) {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column].length)));
  const lineOf = (cells, fill) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column], fill))
      .join('  ')
      .trimEnd();
  return [
    lineOf(head, ' '),
    lineOf(
      head.map(() => ''),
      '-',
    ),
    ...rows.map((row) => lineOf(row, ' ')),
  ].join('\n');
}

function duration(milliseconds) {
  if (milliseconds === undefined) return '-';
  return milliseconds < 0.1 ? `${(milliseconds * 1000).toFixed(1)} us` : `${milliseconds.toFixed(2)} ms`;
}

function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 ** 2 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}

export function handOverText(rows) {
  const notes = [...new Set(rows.map(({ note }) => note).filter(Boolean))];
  const exchanged = table(
    ['hand-over', 'times', 'the last one', 'address', 'flags', 'copies'],
    rows.map(({ name, count, what, address, flags, copies, note }) => [
      name,
      String(count),
      what,
      hex(address),
      flags,
      note ? `${copies} (${notes.indexOf(note) + 1})` : String(copies),
    ]),
  );
  const compared = table(
    ['hand-over', 'bytes', 'ours', 'slice', 'structuredClone', 'base64 and back'],
    rows.map(({ name, bytes, times }) => [
      name,
      size(bytes),
      duration(times?.handOver),
      duration(times?.slice),
      duration(times?.structuredClone),
      duration(times?.base64),
    ]),
  );
  return [
    'What was exchanged. Each time it was asserted that both sides of the border saw the same address, and that',
    'no memory could be released while a model used it.',
    '',
    exchanged,
    ...notes.map((note, index) => `(${index + 1}) ${note}`),
    '',
    'The same hand-overs once more, for the clock (medians), and what one does today for the same bytes:',
    '',
    compared,
    '',
  ].join('\n');
}

export function toJson(pictures, rows, left) {
  return JSON.stringify(
    {
      pictures,
      handOvers: rows.map(({ name, what, address, flags, bytes, copies, count, note, times }) => ({
        name,
        what,
        address: hex(address),
        flags,
        bytes,
        copies,
        count,
        note,
        milliseconds: times,
      })),
      left,
    },
    null,
    2,
  );
}
