import {readFileSync} from 'node:fs';
import test from 'ava';
import {parse} from 'yaml';
import {commands} from '#src/cli/commands.js';
import {upFlags} from '#src/options/programs/up.js';

interface Job {
  readonly steps?: readonly {readonly run?: string}[];
  readonly before_script?: readonly string[];
  readonly script?: readonly string[];
}

const [actions, gitlab] = [...readFileSync('docs/ci.md', 'utf8').matchAll(/^```yaml\n([^]*?)^```$/gm)].map(
  ([, text = '']) => parse(text, {strict: true}) as Record<string, unknown>,
);

const commandsOf = (jobs: Record<string, Job>): readonly string[] =>
  Object.values(jobs).flatMap(({steps = [], before_script: before = [], script = []}) => [
    ...steps.flatMap(({run}) => (run === undefined ? [] : run.split('\n'))),
    ...before,
    ...script,
  ]);

test('the recipes for continuous integration parse, and their jobs have commands', t => {
  const jobs = actions!['jobs'] as Record<string, Job>;
  t.deepEqual(Object.keys(actions!).sort(), ['jobs', 'name', 'on', 'permissions']);
  for (const [name, {steps = []}] of Object.entries(jobs))
    t.true(
      steps.some(({run}) => run !== undefined),
      name,
    );

  const {stages, ...stated} = gitlab! as Record<string, Job & {readonly stage: string}> & {readonly stages: readonly string[]};
  for (const [name, job] of Object.entries(stated as Record<string, Job & {readonly stage: string}>)) {
    t.true(stages.includes(job.stage), name);
    t.true(
      commandsOf({[name]: job}).every(line => typeof line === 'string'),
      name,
    );
  }
});

test('the commands of plat in the recipes exist, with their flags', t => {
  const {stages: _, ...stated} = gitlab!;
  const lines = [...commandsOf(actions!['jobs'] as Record<string, Job>), ...commandsOf(stated as Record<string, Job>)];
  const calls = lines.flatMap(line => /npm exec -- plat (\w+)(.*)$/.exec(line) ?? []).filter(part => /^\w+$/.test(part));
  t.deepEqual([...new Set(calls)].sort(), ['envtest', 'up']);
  for (const name of calls) t.true(name in commands, name);

  const flags = lines
    .filter(line => line.includes('plat up'))
    .flatMap(line => [...line.matchAll(/ --([\w-]+)[ =]/g)].map(([, flag = '']) => flag));
  t.deepEqual(
    [...new Set(flags)].filter(flag => !(flag in upFlags.rows)),
    [],
  );
});
