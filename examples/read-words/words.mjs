// From probabilities to words.

/** The recogniser answers once for every 8 columns of its input. */
export const COLUMNS_PER_STEP = 8;
const SPACE = { character: ' ', confidence: 1 };

/**
 * CTC: at every step the likeliest class; a repeated one is one character, and the blank separates true doubles.
 * `probabilities` is [steps, alphabet] in a row. Each character comes with the column that its step is centred on.
 */
export function readCharacters(probabilities, steps, alphabet) {
  const characters = [];
  let previous = 0;
  for (let step = 0; step < steps; step++) {
    const start = step * alphabet.length;
    let best = 0;
    for (let index = 1; index < alphabet.length; index++) {
      if (probabilities[start + index] > probabilities[start + best]) best = index;
    }
    if (best !== 0 && best !== previous) {
      // The alphabet has wide forms of punctuation, for Chinese text: ";" stands for the same mark.
      const character = alphabet[best].normalize('NFKC');
      characters.push({ character, confidence: probabilities[start + best], column: (step + 0.5) * COLUMNS_PER_STEP });
    }
    previous = best;
  }
  return characters;
}

/**
 * The model sometimes runs words together. A space goes in wherever paper is seen between two characters that stand on
 * either side of it.
 */
function withSpaces(characters, spaces) {
  const slack = COLUMNS_PER_STEP / 2;
  return characters.flatMap((character, index) => {
    const before = characters[index - 1];
    // (Old books set a thin space before some marks, which belong to their word all the same.)
    if (!before || before.character === ' ' || /[ ,;:!?.]/.test(character.character)) return [character];
    const parted = spaces.some(({ from, to }) => before.column <= from + slack && character.column >= to - slack);
    return parted ? [SPACE, character] : [character];
  });
}

function confidenceOf(characters) {
  if (characters.length === 0) return 0;
  return characters.reduce((sum, { confidence }) => sum + confidence, 0) / characters.length;
}

const LETTER = /\p{L}/u;

/**
 * The model often leaves the space after a mark out. Not after a full stop: `np.zeros` and `example.org` are one word
 * each.
 */
const endsWord = (mark, next) => /[,;!?]/.test(mark) && LETTER.test(next);

/** What a line's pieces say together: { text, words, confidence }. */
export function textOf(pieces) {
  const characters = pieces.flatMap(({ spaceBefore, spaces, characters: read }) => [
    ...(spaceBefore ? [SPACE] : []),
    ...withSpaces(read, spaces),
  ]);
  const words = splitWords(characters);
  const letters = characters.filter(({ character }) => character !== ' ');
  return { text: words.map(({ text }) => text).join(' '), words, confidence: confidenceOf(letters) };
}

/** Words are what spaces separate; each with the mean confidence of its characters. */
function splitWords(characters) {
  const words = [];
  let open = [];
  const close = () => {
    if (open.length > 0)
      words.push({ text: open.map(({ character }) => character).join(''), confidence: confidenceOf(open) });
    open = [];
  };
  characters.forEach(({ character, confidence }, index) => {
    if (character === ' ') return close();
    open.push({ character, confidence });
    if (endsWord(character, characters[index + 1]?.character ?? '')) close();
  });
  close();
  return words;
}
