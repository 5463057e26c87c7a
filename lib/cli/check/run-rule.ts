/** One rule, in a process of its own: the answer goes to the parent, and the way in which the process ends is part of it. */
import { Broken, isError, Skip } from './failure';
import { RULES, type Answer } from './rules';
import { Subject } from './subject';

async function answer(addon: string, id: string): Promise<Answer> {
  try {
    const subject = await Subject.load(addon);
    const rule = RULES.find((candidate) => candidate.id === id);
    if (rule === undefined) return { outcome: 'holds' }; // only to load it
    if (!subject.has(rule.about)) return { outcome: 'skipped', found: `the addon has no ${rule.about}` };
    await rule.run(subject);
    return { outcome: 'holds' };
  } catch (error) {
    if (error instanceof Skip) return { outcome: 'skipped', found: error.message };
    const found = isError(error) ? error.message : String(error);
    return { outcome: 'broken', found: error instanceof Broken || !isError(error) ? found : `${error.name}: ${found}` };
  }
}

const [, , addon = '', id = ''] = process.argv;
void answer(addon, id).then((result) => {
  process.send?.(result, () => process.disconnect());
});
