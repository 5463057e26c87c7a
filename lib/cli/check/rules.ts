/** What a rule is, and all of them in the order in which they are printed. */
import { CONSUMER_RULES } from './consumer-rules';
import { LIFETIME_RULES } from './lifetime-rules';
import { MALFORMED_RULES } from './malformed-rules';
import { PRODUCER_RULES } from './producer-rules';
import { PROTOCOL_RULES } from './protocol-rules';
import type { Subject } from './subject';

/** `broken` for a `should` is a warning. */
export type Outcome = 'holds' | 'broken' | 'skipped';

/** What came of a rule. */
export interface Answer {
  readonly outcome: Outcome;
  /** What was found, where it does not simply hold. */
  readonly found?: string | undefined;
}

/** One thing that an addon must do, or should. */
export interface Rule {
  readonly id: string;
  readonly level: 'must' | 'should';
  /** In words that hold when the rule does. */
  readonly title: string;
  /** Who says so. */
  readonly source: 'DLPack 1.3' | 'array API standard' | 'node_dlpack.h';
  /** Which function it is about. */
  readonly about: 'makeTensor' | 'takeTensor';
  /** @throws Broken with what was found; Skip where it does not apply */
  readonly run: (subject: Subject) => void | Promise<void>;
}

export const RULES: readonly Rule[] = [
  ...PRODUCER_RULES,
  ...PROTOCOL_RULES,
  ...CONSUMER_RULES,
  ...MALFORMED_RULES,
  ...LIFETIME_RULES,
];
