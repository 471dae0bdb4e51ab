import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {survive} from '#src/testing/index.js';
import {root} from '#test/sources.js';
import {correctOperators} from './catalogue/correct.js';
import {bugs} from './catalogue/faulty.js';
import {described} from './catalogue/site.js';

const page = readFileSync(join(root, 'docs/operator-testing.md'), 'utf8');

for (const [title, {faulty, seed, options}] of Object.entries(bugs)) {
  test.serial(`a bug is found: ${title}`, async t => {
    t.timeout(240_000);
    const report = await survive({...described, ...options, controllers: faulty, seed});
    const [difference] = report.differences;
    t.is(difference?.seed, seed, report.explain());
    t.true(
      page.includes(`\n| ${title} | ${placeOf(seed, difference!.schedule)} |\n`),
      `| ${title} | ${placeOf(seed, difference!.schedule)} |`,
    );
  });
}

/** Returns where a bug is found, as the table says it. */
const placeOf = (seed: string, schedule: string): string => {
  if (seed.includes('/run ')) return 'slow';
  const fault = seed.split('/')[2];
  return fault ?? (schedule.startsWith('undisturbed') ? 'a second run without any fault' : 'the run without any fault');
};

for (const [title, controllers] of Object.entries(correctOperators)) {
  test.serial(`nothing is found: ${title}`, async t => {
    t.timeout(240_000);
    const report = await survive({...described, controllers, maxRuns: 3});
    t.deepEqual(report.differences, [], report.explain());
    t.is(report.runs, 3);
    t.true(page.includes(`\n- ${title}\n`), `- ${title}`);
  });
}

test('the table has no other rows', t => {
  const [, table = ''] = /\| bug \| found by \|\n\|[-|]+\|\n((?:\|.*\n)+)/.exec(page) ?? [];
  t.is(table.trim().split('\n').length, Object.keys(bugs).length);
});
