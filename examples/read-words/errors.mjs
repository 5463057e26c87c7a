/** A file that is no picture, or not a whole one: the user's to mend, so one line and no stack. */
export class PictureError extends Error {
  constructor(file, reason) {
    super(`${file}: ${reason}`);
    this.name = 'PictureError';
  }
}

/** A hand-over that did not go as promised: a defect, of the library or of this program. */
export class HandOverError extends Error {
  constructor(message) {
    super(message);
    this.name = 'HandOverError';
  }
}

/** Other people's messages may have several lines; the first one that says something is enough for one line. */
export function firstLine(error) {
  return (
    String(error?.message ?? error)
      .split('\n')
      .map((line) => line.trim())
      .find((line) => line !== '') ?? 'unknown error'
  );
}
