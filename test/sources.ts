/**
 * The files that the repository tests look at: what a checkout holds, without dependencies, build output and
 * git's own files.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

export interface SourceFile {
  /** From the root of the repository, with forward slashes. */
  readonly path: string;
  /** UTF-8, or one character per byte in a file that holds a NUL. */
  readonly text: string;
}

const ROOT = path.resolve(import.meta.dirname, '..');
const SKIPPED = new Set(['node_modules', 'dist', 'build', '.git']);
/** What `npm pack` and profilers leave, as .gitignore says. */
const LEFT = /\.tgz$|\.cpuprofile$|^isolate-.*\.log$/;

/** All files below `directory` ('' for the whole repository), sorted by path. */
export function readSources(directory: string): SourceFile[] {
  const files: SourceFile[] = [];
  const walk = (relative: string): void => {
    for (const entry of readdirSync(path.join(ROOT, relative), { withFileTypes: true })) {
      const at = relative === '' ? entry.name : `${relative}/${entry.name}`;
      // Before its kind: a work tree may link to the packages of another one.
      if (SKIPPED.has(entry.name) || LEFT.test(entry.name)) continue;
      if (entry.isDirectory()) walk(at);
      else {
        const bytes = readFileSync(path.join(ROOT, at));
        files.push({ path: at, text: bytes.toString(bytes.includes(0) ? 'latin1' : 'utf8') });
      }
    }
  };
  walk(directory);
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/**
 * `text` with comments and the contents of strings blanked out; line numbers stay. Good enough for rules, not
 * a parser.
 */
export function withoutCommentsAndStrings(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g, (match) =>
    match.replace(/[^\n]/g, ' '),
  );
}

/** 1-based number of the line that holds `index`. */
export function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}
