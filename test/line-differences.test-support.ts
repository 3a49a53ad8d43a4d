/**
 * Long lists of lines, compared. `assert.deepEqual` would show how one becomes the other, and the memory for
 * that grows with the square of what differs: 8,000 lines of which half differ took 1 GiB.
 */
import assert from 'node:assert/strict';

const SHOWN = 20;

/** The first lines that are in one list alone, or in one more often; both lists in the order of sort(). */
export function lineDifferences(found: readonly string[], expected: readonly string[]): string[] {
  const different: string[] = [];
  let [i, j] = [0, 0];
  while (different.length < SHOWN && (i < found.length || j < expected.length)) {
    const [own, other] = [found[i], expected[j]];
    if (own === other) {
      i++;
      j++;
    } else if (other === undefined || (own !== undefined && own < other)) {
      different.push(`found ${own}`);
      i++;
    } else {
      different.push(`missing ${other}`);
      j++;
    }
  }
  return different;
}

export function assertSameLines(found: readonly string[], expected: readonly string[], message = ''): void {
  const counts = `${found.length} lines, expected ${expected.length}`;
  assert.deepEqual(lineDifferences(found, expected), [], `${message} ${counts}`);
}
