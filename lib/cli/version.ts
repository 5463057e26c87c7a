/** Which version of the package this is. */
import { readFileSync } from 'node:fs';
import path = require('node:path');

export function packageVersion(): string {
  const manifest = readFileSync(path.join(__dirname, '..', '..', 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
