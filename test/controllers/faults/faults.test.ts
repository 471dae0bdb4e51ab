import test from 'ava';
import {controllers} from '#controllers/index.js';
import {faults, play, type Planned} from './harness.js';
import {planeKeys} from './keys.js';
import {scenarios} from './scenarios.js';

const folderOf = (name: string): string => name.replace(/-controller$/, '');

test('every controller is put through faults, and no other', t => {
  t.deepEqual(
    Object.keys(scenarios).sort(),
    controllers.map(({name}) => folderOf(name)).sort(),
    'each controller needs a scenario in scenarios.ts',
  );
});

const most = 4;

/** Which writes are struck: all if they are few; else the first, the last and some between. */
const struck = (count: number): number[] => {
  const chosen = Math.min(count, most);
  return Array.from({length: chosen}, (_, i) => (chosen === 1 ? 0 : Math.round((i * (count - 1)) / (chosen - 1))));
};

/**
 * All faults at the first write, and one at each of the others, in turn. With PLAT_ALL_FAULTS set: all at all of them,
 * for a thorough look.
 */
const plan = (count: number): Planned[] =>
  struck(count).flatMap((write, i) =>
    i === 0 || process.env['PLAT_ALL_FAULTS'] ? faults.map(fault => ({write, fault})) : [{write, fault: faults[(i + 1) % faults.length]!}],
  );

for (const controller of controllers) {
  const scenario = scenarios[folderOf(controller.name)];
  if (!scenario) continue;

  test.serial(`${controller.name} reaches the same end whatever happens at its writes`, async t => {
    const calm = await play(controller, scenario, planeKeys);
    t.deepEqual(calm.bugs, []);
    t.true(calm.writes.length > 0, 'it wrote nothing');
    const failures: string[] = [];
    let first: unknown;
    const planned = plan(calm.writes.length).filter(
      ({fault, write}) => fault !== 'stopped before' || !scenario.lost?.test(calm.writes[write]!),
    );
    for (const each of planned) {
      const run = await play(controller, scenario, planeKeys, each);
      t.true(run.writes.length > each.write, `${each.fault} at write ${each.write}: it was never reached`);
      const same = JSON.stringify(run.state) === JSON.stringify(calm.state);
      if (!same) first ??= run.state;
      if (!same || run.bugs.length > 0)
        failures.push(`${each.fault} at write ${each.write}: ${calm.writes[each.write]} ${run.bugs.join(' ')}`);
    }
    t.log(`${calm.writes.length} writes, ${planned.length} runs`);
    if (first) t.deepEqual(first, calm.state, failures.join('\n'));
    t.deepEqual(failures, []);
  });
}
