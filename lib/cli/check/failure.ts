/** How a rule says that it does not hold, or does not apply. */

/** A rule is broken. */
export class Broken extends Error {}

/** A rule does not apply to this addon. */
export class Skip extends Error {}

/** @throws Broken with what was found */
export function expect(holds: boolean, found: string): asserts holds {
  if (!holds) throw new Broken(found);
}

/** What a call throws; undefined when it throws nothing. */
export async function thrownBy(call: () => unknown): Promise<Error | undefined> {
  try {
    await call();
    return undefined;
  } catch (error) {
    return isError(error) ? error : new Error(`something that is no Error: ${String(error)}`);
  }
}

/** An Error of any realm. */
export function isError(value: unknown): value is Error {
  return typeof value === 'object' && value !== null && 'message' in value && 'name' in value;
}
