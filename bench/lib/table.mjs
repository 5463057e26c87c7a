// Results as text: the table that is printed, and the one on docs/performance.md.

const STEPS = { ns: ['ns', 'us', 'ms', 's'] };

/** Three digits that count, in the unit that needs the fewest. */
export function formatFigure(value, unit) {
  let rest = value;
  let steps = [unit];
  let factor = 1000;
  if (unit in STEPS) steps = STEPS[unit];
  if (unit === 'bytes') [steps, factor] = [['bytes', 'KiB', 'MiB', 'GiB'], 1024];
  let index = 0;
  while (index < steps.length - 1 && rest >= factor) {
    rest /= factor;
    index++;
  }
  return `${formatNumber(rest)} ${steps[index]}`;
}

export function formatNumber(value) {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return digits > 6 ? value.toExponential(1) : value.toFixed(digits).replace(/\.0+$/, '');
}

const formatPair = ({ best, median }, unit) => {
  const [short, long] = [formatFigure(best, unit), formatFigure(median, unit)];
  return short === long ? short : `${short} (${long})`;
};

/** What part of the peer's figure ours is, and how many times less. */
function compare(ours, peer) {
  if (ours.best === 0) return peer.best === 0 ? ['1', '1'] : ['0', ''];
  return [formatNumber(ours.best / peer.best), formatNumber(peer.best / ours.best)];
}

const COLUMNS = ['what', 'ours', 'beside', 'its figure', 'ours / its', 'its / ours', 'must', 'remark'];

const formatAim = (aim) => (typeof aim === 'number' ? formatNumber(aim) : aim);
const formatVerdict = (bound, aim, met) =>
  [bound, aim === undefined || aim === null || aim === '' ? '' : `aim ${formatAim(aim)}`].filter(Boolean).join(', ') +
  (met === null || met === undefined ? '' : met ? ': met' : ': MISSED');

/** The cells of one row: a line for each peer. */
function cellsOf({ what, unit, ours, peers, must, aim, met, remark }) {
  const musts = [must ?? []].flat();
  const lines = Object.entries(peers).map(([name, peer]) => {
    const asked = musts.find((entry) => entry.peer === name);
    const verdict = asked && formatVerdict(`≤ ${formatNumber(asked.ratio)}`, aim, ours.best <= peer.best * asked.ratio);
    return [name, formatPair(peer, unit), ...compare(ours, peer), verdict ?? ''];
  });
  if (musts.length === 0 && lines.length > 0) lines[0].splice(-1, 1, formatVerdict('', aim, met));
  if (lines.length === 0) lines.push(['', '', '', '', formatVerdict('', aim, met)]);
  return lines.map((line, index) =>
    index === 0 ? [what, formatPair(ours, unit), ...line, remark ?? ''] : ['', '', ...line, ''],
  );
}

/** A Markdown table whose columns also align where it is printed. */
export function formatRows(rows) {
  const lines = [COLUMNS, ...rows.flatMap(cellsOf)].map((line) => line.map((cell) => cell.replaceAll('|', '/')));
  const widths = COLUMNS.map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  const format = (line) => `| ${line.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
  const [head, ...body] = lines.map(format);
  return [head, rule, ...body].join('\n');
}

/** How many of the marks of some rows were reached: `12 of 13 marks met`. */
export function formatMarks(rows) {
  const judged = rows.filter(({ met }) => met !== null && met !== undefined);
  return `${judged.filter(({ met }) => met).length} of ${judged.length} marks met`;
}

/** One part with its facts, as Markdown. */
export function formatPart({ title, date, facts, rows, skipped = [] }) {
  return [
    `### ${title}`,
    '',
    ...Object.entries({ ...(date && { measured: date }), ...facts }).map(([name, value]) => `- ${name}: ${value}`),
    ...skipped.map((reason) => `- skipped: ${reason}`),
    '',
    formatRows(rows),
    '',
    `${formatMarks(rows)}.`,
  ].join('\n');
}
