// Emulates v_dot4_u32_u8, for processors that lack it: plain arithmetic stands in its place.
// docs/instrumentation.md says how such tools are written.
import { defineTool, type HookBuilder, hookOf, type ToolInstruction } from 'wavewright/instrument';

/** An operand as the instruction finds it. */
function operandOf(b: HookBuilder, { step: { instruction } }: ToolInstruction, index: number) {
  const operand = instruction.operand(index);
  if (operand.kind === 'constant') return b.constant(Number(BigInt.asUintN(32, operand.value)));
  if (operand.kind === 'scalar') return b.scalar(operand.register);
  if (operand.kind === 'vector') return b.vector(operand.register);
  throw new Error(`operand ${index} of '${instruction.name}' is no register`);
}

/** Destination, two operands with four bytes each, and what their products are added to. */
const dotProduct = (each: ToolInstruction) =>
  hookOf((b) => {
    const [x, y] = [operandOf(b, each, 1), operandOf(b, each, 2)];
    let sum = operandOf(b, each, 3);
    for (let byte = 0; byte < 4; byte++) {
      const of = (value: typeof x) => b.binary('and', b.shift('shrU', value, b.constant(8 * byte)), b.constant(0xff));
      sum = b.binary('add', sum, b.multiply(of(x), of(y)));
    }
    const destination = each.step.instruction.operand(0);
    if (destination.kind === 'vector') b.setVector(destination.register, sum);
  });

export const dotProducts = defineTool({
  name: 'dot-products',
  summary: 'runs v_dot4_u32_u8 as plain arithmetic',
  options: {},
  attach(code) {
    const all = code.instructions.filter(({ step }) => step.text().startsWith('v_dot4_u32_u8 '));
    // With modifiers it is another function.
    const plain = all.filter(({ step }) => !/clamp|neg|op_sel/.test(step.text()));
    for (const each of plain) code.replace(each, dotProduct(each));
    return () => ({ summary: { replaced: plain.length, kept: all.length - plain.length }, tables: [] });
  },
});
