/** Plans of functions: those that say the same are one object, and nothing else is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembledImage, kernelSource } from '../../bench/assembled-kernel.ts';
import { parseCodeObject } from '../../codeobject/code-object.ts';
import { liftCodeObject } from '../../lift/lifted-code.ts';
import { RegisterPlans } from './register-plans.ts';

/** Plans of three kernels with the same code. */
function plansOfThree() {
  const source = ['one', 'two', 'three'].map((name) => kernelSource(name, 's_mov_b32 s0, 1')).join('\n');
  const lifted = liftCodeObject(parseCodeObject(assembledImage(source, 'kernels').bytes, 'kernels.co'));
  const plans = new RegisterPlans(lifted, { isMoved: () => true });
  const functionOf = (name: string) =>
    lifted.functions.find(({ kernels }) => kernels.some((each) => each.name === name))!;
  return { plans, one: functionOf('one'), two: functionOf('two'), three: functionOf('three') };
}

test('functions that may have the same registers have one plan', () => {
  const { plans, one, two } = plansOfThree();
  assert.equal(plans.planOf(one), plans.planOf(two));
});

test('what one kernel keeps is reserved in its plan alone', () => {
  const { plans, one, two, three } = plansOfThree();
  const kept = plans.persistentOf(two)!.takeScalars(2)!;
  const free = plans.planOf(one);
  const holding = plans.planOf(two);
  const isKept = ({ reserved }: typeof free): boolean =>
    reserved.some(({ file, first, dwords }) => file === 'scalar' && first <= kept && kept + 2 <= first + dwords);
  assert.deepEqual([isKept(free), isKept(holding), isKept(plans.planOf(three))], [false, true, false]);
  assert.equal(plans.planOf(three), free);
});

test('what some kernels keep is reserved in all code that they run, and has numbers that others use', () => {
  const address = 's_getpc_b64 s[4:5]\ns_add_u32 s4, s4, callee@rel32@lo+4\ns_addc_u32 s5, s5, callee@rel32@hi+12';
  const call = `${address}\ns_swappc_b64 s[30:31], s[4:5]`;
  const source = `${kernelSource('few', call)}
${kernelSource('also', call)}
${kernelSource('many', `${call}\ns_mov_b32 s101, 1\nv_mov_b32 v60, 1`)}
.text
.type callee,@function
callee:
s_setpc_b64 s[30:31]
.size callee, .-callee
`;
  const lifted = liftCodeObject(parseCodeObject(assembledImage(source, 'kernels').bytes, 'kernels.co'));
  const plans = new RegisterPlans(lifted, { isMoved: () => true });
  const [few, also, many] = ['few', 'also', 'many'].map((name) => plans.kernelNamed(name)!);
  const functionOf = (kernel: string) =>
    lifted.functions.find(({ kernels }) => kernels.some((each) => each.name === kernel))!;
  const registers = plans.persistentOfKernel(few!)!;
  assert.equal(registers, plans.persistentOfKernel(many!));
  const [both, own, other] = [[few!, also!], [few!], [also!]].map((kernels) => registers.shareOf(kernels));
  assert.deepEqual(
    [both!.takeScalars(2), own!.takeScalars(1), other!.takeScalars(1), both!.takeScalars(2), own!.takeVectors()],
    [32, 34, 34, 36, 0],
  );
  assert.equal(registers.shareOf([many!]).takeScalars(1), undefined);
  const reservedIn = (kernel: string | undefined): string =>
    plans
      .planOf(kernel === undefined ? lifted.functions.find(({ kernels }) => kernels.length === 0)! : functionOf(kernel))
      .reserved.filter(({ dwords }) => dwords > 0)
      .map(({ file, first, dwords }) => `${file[0]}${first} ${dwords}`)
      .sort()
      .join();
  assert.equal(reservedIn(undefined), 's32 2,s34 1,s34 1,s36 2,v0 2');
  assert.equal(reservedIn('few'), 's32 2,s34 1,s36 2,v0 2');
  assert.equal(reservedIn('also'), 's32 2,s34 1,s36 2');
  assert.equal(reservedIn('many'), '');
  assert.deepEqual(
    [few, also, many].map((each) => plans.keptBy(each!)),
    [
      { scalar: 38, vector: 2 },
      { scalar: 38, vector: 0 },
      { scalar: 0, vector: 0 },
    ],
  );
});

test('a kernel whose calls are not understood may be in any function', () => {
  // The second kernel hides the address that it makes of the function, and keeps s27 over the call.
  const address = 's_getpc_b64 s[4:5]\ns_add_u32 s4, s4, callee@rel32@lo+4\ns_addc_u32 s5, s5, callee@rel32@hi+12';
  const hidden = 's_xor_b32 s4, s4, s9\ns_xor_b32 s4, s4, s9\ns_mov_b32 s27, 1';
  const call = 's_swappc_b64 s[30:31], s[4:5]';
  const source = `${kernelSource('plain', `${address}\n${call}`)}
${kernelSource('hiding', `${address}\n${hidden}\n${call}\ns_mov_b32 s10, s27`)}
.text
.type callee,@function
callee:
s_mov_b32 s11, 1
s_setpc_b64 s[30:31]
.size callee, .-callee
`;
  const lifted = liftCodeObject(parseCodeObject(assembledImage(source, 'kernels').bytes, 'kernels.co'));
  const callee = lifted.functions.find(({ kernels }) => kernels.length === 0)!;
  const plans = new RegisterPlans(lifted);
  assert.deepEqual(
    plans.kernelsOf(callee).map(({ kernel }) => kernel.name),
    ['plain', 'hiding'],
  );
  assert.ok(plans.planOf(callee).scalar.used > 27);
});
