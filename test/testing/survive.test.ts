import test from 'ava';
import type {KubeObject} from '#src/api/types.js';
import {defineController} from '#src/operator/index.js';
import {ConfigMap} from '#src/operator/kinds.js';
import {survive, type EndView, type Stage} from '#src/testing/index.js';
import {correctOperators} from './catalogue/correct.js';
import {bugs} from './catalogue/faulty.js';
import {apply, aSite, controller, described, mapOf, namespace, Site} from './catalogue/site.js';

const correct = correctOperators['it applies an owned child']!;

test.serial('the seed of a difference repeats its run, trace and all', async t => {
  const {faulty} = bugs['names are numbered in memory']!;
  const seed = '1/write 1/answer lost';
  const [first, second] = [
    await survive({...described, controllers: faulty, seed}),
    await survive({...described, controllers: faulty, seed}),
  ];

  t.is(first.runs, 1);
  t.is(first.differences[0]?.seed, seed);
  t.true(first.explain().includes(`seed: "${seed}"`));
  t.deepEqual(first.differences, second.differences);
});

test.serial('no run begins after the limits, and a scenario that fails by itself is refused', async t => {
  const stopped = await survive({...described, controllers: correct, timeLimit: 0});
  t.is(stopped.runs, 0);
  t.regex(stopped.explain(), /^0 of \d+ schedules ran/);

  const impossible = async ({until}: Stage) => void (await until(() => false, {within: '1s', what: 'the moon is blue'}));
  await t.throwsAsync(survive({...described, controllers: correct, scenario: impossible}), {
    message: /^the scenario fails without any fault: the moon is blue/,
  });
});

test.serial('a scenario that waits in vain for an operator that never works is refused with the keys that fail', async t => {
  const {faulty} = bugs['it never works: the server refuses what it applies']!;
  const scenario = async ({client, until}: Stage): Promise<void> => {
    await client.resource(Site).create(aSite('a'));
    await until(async () => (await client.resource(ConfigMap).list({namespace, labelSelector: 'site'})).items.length > 0, {within: '20s'});
  };

  await t.throwsAsync(survive({...described, controllers: faulty, scenario}), {
    message:
      /^the scenario fails without any fault: .*\n- keys still failing at the end: sites default\/a \(failed \d+ times, at last: .* is invalid/,
  });
});

test.serial('faults of the undisturbed run are told once, and not as a difference of ends', async t => {
  const {faulty, seed} = bugs['it wakes itself by a time in the status']!;
  const report = await survive({...described, controllers: faulty, seed});
  const text = report.explain();

  t.is(report.runs, 0);
  t.regex(text, /One went wrong: without any fault, in the undisturbed run\n/);
  t.is(text.split('is written in a loop').length, 2);
  t.regex(
    text,
    /  - sites default\/[ab] is written in a loop, 20 times in 0\.\d s, .*: \.status\.at changes each time \(at last \.status\.at from "2026/,
  );
  t.notRegex(text, /The end differs/);
});

test.serial('an operator that no scenario concerns is reported', async t => {
  const scenario = async ({client}: Stage) =>
    void (await client.resource(ConfigMap).create({apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'other', namespace}}));
  const report = await survive({...described, controllers: correct, scenario, settle: '1s'});

  t.regex(report.explain(), /  - no key was ever reconciled/);
});

test.serial('the place of what makes runs differ is named', async t => {
  const {faulty, seed} = bugs['the clock of the machine is read']!;
  const report = await survive({...described, controllers: faulty, seed});

  t.regex(report.explain(), /Do you use Date\.now or Math\.random\? In reconciles Date\.now is called at \S+:\d+:\d+\n/);
  t.true(Object.hasOwn(Date, 'now') && !String(Date.now).includes('Proxy'));
  t.is(report.differences[0]?.schedule, 'undisturbed, once more');
});

test.serial('a violated invariant names the write, and the trace ends with it', async t => {
  const invariant = async ({list}: EndView) => {
    const titles = (await list(ConfigMap, {namespace})).map(({data}) => data?.['title']);
    return !titles.includes('renamed');
  };
  const report = await survive({...described, controllers: correct, invariant, seed: '1'});

  t.regex(report.explain(), /  - the invariant is violated after operator: patch configmaps default\/site-a: it does not hold\n/);
  t.regex(report.differences[0]!.trace.at(-1)!, /operator +patch configmaps default\/site-a: the operator is stopped$/);
});

test.serial('what a run changed in objects itself is not seen by the view of the end', async t => {
  const seen: (string | undefined)[] = [];
  const end = async ({list}: EndView) => {
    const objects: KubeObject[] = [...(await list(Site)), ...(await list(ConfigMap, {namespace}))] as KubeObject[];
    for (const {metadata} of objects) seen.push(JSON.stringify([metadata?.annotations, metadata?.managedFields]));
    return objects.map(({metadata}) => [metadata?.name, metadata?.annotations]);
  };
  const report = await survive({...described, controllers: correct, end, seed: '1/write 2/stale caches'});

  t.deepEqual(report.differences, [], report.explain());
  t.false(seen.some(text => text?.includes('faults.example.com')));
});

test.serial('a user who does not wait is no reason for a difference, even where the way shows', async t => {
  const controllers = () => [
    controller(async ({object, client}) => {
      if (!object) return;
      const {metadata, data} = mapOf(object);
      const map = await client.get(ConfigMap, {namespace, name: metadata.name!});
      const {titles = ''} = map?.data ?? {};
      if (titles.split(' ').at(-1) === object.spec.title) return;
      await apply(client, {metadata, data: {...data, titles: `${titles} ${object.spec.title}`}});
    }),
  ];
  for (const fault of ['user first', 'down until next act']) {
    const report = await survive({...described, controllers, seed: `1/write 1/${fault}`});
    t.deepEqual(report.differences, [], report.explain());
  }
});

test.serial('an operator that waits forever after a stop is left and reported, with what was going on', async t => {
  t.timeout(120_000);
  const waiting = () => [
    defineController<Site>({
      name: 'sites',
      for: Site,
      reads: [ConfigMap],
      async reconcile({object, client, caches}) {
        if (!object || object.metadata?.labels?.['seen']) return;
        const {name} = object.metadata!;
        // The one that made the map has ended, and with it what this waits for.
        if (caches.get(ConfigMap, {namespace, name: `site-${name}`})) await new Promise(() => {});
        await apply(client, mapOf(object));
        await client.patch(object, site => {
          site.metadata = {...site.metadata, labels: {seen: 'true'}};
        });
      },
    }),
  ];
  const report = await survive({...described, controllers: waiting, seed: '1/write 1/stopped after', timeLimit: '1s'});

  t.deepEqual([report.runs, report.differences.length], [1, 1]);
  t.regex(
    report.explain(),
    /the scenario failed: the run has not ended, \S+ of virtual time after its start: time is held by work that has not ended \(\d+\)/,
  );
  t.regex(report.explain(), /the operator's write 1 \(patch configmaps default\/site-a\)/);
});

test('seeds that are none are refused', async t => {
  for (const seed of ['x', '1/write 0/missed', '1/write 1/missed', '1/event 1/stopped after', '1/run 1/missed'])
    await t.throwsAsync(survive({...described, controllers: correct, seed}), {instanceOf: TypeError, message: /the seed/});
});
