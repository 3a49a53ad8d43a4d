import { packageFile } from '../../base/node-package-file.ts';

const { readFileSync } = process.getBuiltinModule('node:fs');

/** Of this package. */
export function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(packageFile('package.json'), 'utf8'));
  return String((manifest as { version: string }).version); // reason: our own file
}
