/**
 * Parts of a graph whose members reach each other (R. Tarjan, "Depth-First Search and Linear FlowGraph
 * Algorithms", 1972).
 */

interface Visit<T> {
  readonly node: T;
  readonly next: Iterator<T>;
}

/**
 * The strongly connected components that `root` reaches, each behind all that it leads to. What `isDone` says
 * of nodes is that they were in earlier results. No recursion: a chain may be as long as memory.
 */
export function* strongComponents<T>(
  root: T,
  successors: (node: T) => Iterable<T>,
  isDone: (node: T) => boolean,
): Generator<readonly T[]> {
  /** Number of each visited node, and the lowest one that it is known to reach on the stack. */
  const numbers = new Map<T, number>();
  const lowest = new Map<T, number>();
  const onStack = new Set<T>();
  const stack: T[] = [];
  const visits: Visit<T>[] = [];
  const enter = (node: T): void => {
    numbers.set(node, numbers.size);
    lowest.set(node, numbers.size - 1);
    stack.push(node);
    onStack.add(node);
    visits.push({ node, next: successors(node)[Symbol.iterator]() });
  };
  const lower = (node: T, number: number): void => {
    if (number < lowest.get(node)!) lowest.set(node, number);
  };
  if (!isDone(root)) enter(root);
  for (let visit = visits.at(-1); visit !== undefined; visit = visits.at(-1)) {
    const { node, next } = visit;
    const { done, value: successor } = next.next();
    if (!done) {
      if (onStack.has(successor)) lower(node, numbers.get(successor)!);
      else if (!numbers.has(successor) && !isDone(successor)) enter(successor);
      continue;
    }
    visits.pop();
    const parent = visits.at(-1);
    if (parent) lower(parent.node, lowest.get(node)!);
    if (lowest.get(node) !== numbers.get(node)) continue;
    const component: T[] = [];
    for (let member = stack.pop(); member !== undefined; member = member === node ? undefined : stack.pop()) {
      onStack.delete(member);
      component.push(member);
    }
    yield component;
  }
}
