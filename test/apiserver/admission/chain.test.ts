import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import type {AdmissionAttributes, AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {AdmissionChain} from '#src/apiserver/admission/chain.js';
import {targetsOf, type Handles} from '#src/apiserver/admission/handles.js';

const words = naming('kubernetes');

/** A chain of plugins that record their calls. */
const chainOf = (plugins: (seen: string[]) => readonly AdmissionPlugin[]) => {
  const seen: string[] = [];
  const meter = new MetricsRegistry();
  const chain = new AdmissionChain(plugins(seen), {clock: new VirtualClock(), meter, log: noLog});
  const prefix = 'apiserver_admission';
  return {
    seen,
    run: (attributes: Partial<AdmissionAttributes>, phase: 'admit' | 'validate' = 'validate') =>
      chain.run(phase, {operation: 'CREATE', group: '', resource: 'configmaps', subresource: '', ...attributes} as AdmissionAttributes),
    calls: (name: string, rejected = 'false') => meter.value(`${prefix}_controller_admission_duration_seconds`, {name, rejected}),
    phases: (operation: string, rejected = 'false') => meter.value(`${prefix}_step_admission_duration_seconds`, {operation, rejected}),
  };
};

const recording = (seen: string[], name: string, handles?: Handles): AdmissionPlugin => ({
  name,
  ...(handles ? {handles} : {}),
  validate: ({operation, resource, subresource}) => void seen.push(`${name} ${operation} ${resource}/${subresource}`),
});

test('a phase is over at once when no plugin of it has to wait, and each waits for those before it', async t => {
  const at = (seen: string[], name: string, wait?: Promise<void>): AdmissionPlugin => ({
    name,
    validate: () => (wait ? wait.then(() => void seen.push(name)) : void seen.push(name)),
  });
  const quick = chainOf(seen => [at(seen, 'a'), at(seen, 'b'), {name: 'of the other phase'}, at(seen, 'c')]);
  const done = quick.run({});
  t.is(done, undefined);
  t.deepEqual(quick.seen, ['a', 'b', 'c']);

  const slow = chainOf(seen => [at(seen, 'd'), at(seen, 'e', Promise.resolve()), at(seen, 'f')]);
  await slow.run({});
  t.deepEqual(slow.seen, ['d', 'e', 'f']);
});

test('a plugin is called only for the operations, resources and subresources that it handles', async t => {
  const {seen, run} = chainOf(seen => [
    recording(seen, 'all'),
    recording(seen, 'creations', {operations: ['CREATE']}),
    recording(seen, 'pods', {operations: ['CREATE', 'UPDATE'], targets: targetsOf(words, kinds.pods, '', 'binding')}),
    recording(seen, 'claims', {operations: ['UPDATE'], targets: targetsOf(words, kinds.certificateSigningRequests, '*')}),
  ]);

  await run({});
  t.deepEqual(seen.splice(0), ['all CREATE configmaps/', 'creations CREATE configmaps/']);
  await run({resource: 'pods'});
  t.deepEqual(seen.splice(0), ['all CREATE pods/', 'creations CREATE pods/', 'pods CREATE pods/']);
  await run({resource: 'pods', subresource: 'binding'});
  t.is(seen.splice(0).length, 3);
  for (const other of [{subresource: 'eviction'}, {group: 'example.com'}, {operation: 'DELETE'}] as const) {
    await run({resource: 'pods', ...other});
    t.false(seen.splice(0).some(each => each.startsWith('pods ')));
  }
  const csr = {operation: 'UPDATE', group: 'certificates.k8s.io', resource: 'certificatesigningrequests'} as const;
  for (const subresource of ['', 'status', 'approval']) {
    await run({...csr, subresource});
    t.deepEqual(seen.splice(0), [`all UPDATE ${csr.resource}/${subresource}`, `claims UPDATE ${csr.resource}/${subresource}`]);
  }
});

test('metrics count every plugin that handles the operation, also where it does not handle the resource', async t => {
  const {run, calls, phases} = chainOf(seen => [
    recording(seen, 'pods', {operations: ['CREATE'], targets: targetsOf(words, kinds.pods)}),
    {...recording(seen, 'internal'), unmeasured: true},
    {
      name: 'strict',
      validate: ({name}) => {
        if (name === 'bad') throw new Error('bad');
      },
    },
    recording(seen, 'later', {operations: ['CREATE'], targets: targetsOf(words, kinds.nodes)}),
  ]);

  await run({});
  await run({resource: 'pods'});
  await run({operation: 'DELETE', resource: 'pods'});
  await t.throwsAsync(async () => run({name: 'bad'}), {message: 'bad'});

  t.deepEqual([calls('pods'), calls('internal'), calls('strict'), calls('strict', 'true'), calls('later')], [3, undefined, 2, 1, 2]);
  t.deepEqual([phases('CREATE'), phases('DELETE'), phases('CREATE', 'true')], [2, 1, 1]);
});

test('all plugins of the mutating phase run once more when one requests it, and no third time', async t => {
  const {seen, run, calls} = chainOf(seen => [
    {name: 'first', admit: () => void seen.push('first')},
    {
      name: 'changing',
      admit: () => {
        seen.push('changing');
        return 'again';
      },
    },
  ]);

  await run({}, 'admit');

  t.deepEqual(seen, ['first', 'changing', 'first', 'changing']);
  t.is(calls('first'), 2);
});

test('routes do not grow with the resources of definitions', async t => {
  const {run, seen} = chainOf(seen => [recording(seen, 'pods', {operations: ['CREATE'], targets: targetsOf(words, kinds.pods)})]);
  for (let index = 0; index < 100; index++) await run({group: `group${index}.example.com`, resource: 'pods'});
  await run({resource: 'pods'});
  t.deepEqual(seen, ['pods CREATE pods/']);
});
