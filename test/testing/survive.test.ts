import test from 'ava';
import {defineController} from '#src/operator/index.js';
import {ConfigMap} from '#src/operator/kinds.js';
import {survive, type Stage, type SurviveOptions} from '#src/testing/index.js';
import {aSite, mistakes, namespace, Site, siteDefinition} from './operators.js';

/** Two sites are created, one is renamed and one is deleted again. */
const scenario = async ({client, until}: Stage): Promise<void> => {
  const sites = client.resource(Site);
  const maps = async () => (await client.resource(ConfigMap).list({namespace})).items.filter(({metadata}) => metadata?.labels?.['site']);
  await sites.create(aSite('a'));
  await sites.create(aSite('b'));
  await until(
    async () => (await maps()).length >= 2 || (await sites.list({namespace})).items.every(({metadata}) => metadata?.labels?.['seen']),
  );
  await sites.delete('b', {namespace});
};

const described: Omit<SurviveOptions, 'controllers'> = {
  manifests: [siteDefinition],
  scenario,
  async end({list}) {
    const sites = await list(Site);
    const maps = (await list(ConfigMap, {namespace})).filter(({metadata}) => metadata?.labels?.['site']);
    return {
      sites: sites.map(({metadata, status}) => [metadata?.name, status?.published]),
      maps: maps.map(({metadata}) => metadata?.labels?.['site']).sort(),
    };
  },
};

/** The garbage collector follows every kind there is: a third of the work of a run in which nothing waits for it. */
const withoutCollector = {...described, plane: {controllers: 'none' as const}};

for (const [title, {faulty, correct, isCollected}] of Object.entries(mistakes)) {
  test.serial(`an operator with the mistake of ${title} is found, and its correct form survives`, async t => {
    t.timeout(240_000);
    const play = isCollected ? described : withoutCollector;
    const found = await survive({...play, controllers: faulty});
    const [difference] = found.differences;
    t.truthy(difference, found.explain());
    t.log(`${found.runs} runs: ${difference?.schedule}`);
    t.true(found.explain().includes(`seed: "${difference?.seed}"`));

    const report = await survive({...play, controllers: correct, seed: difference!.seed});
    t.deepEqual(report.differences, [], report.explain());
  });
}

test.serial('the seed of a difference repeats its run, trace and all', async t => {
  const {faulty} = mistakes['names that are given again after a restart']!;
  const seed = '1/write 1/answer lost';
  const [first, second] = [
    await survive({...described, controllers: faulty, seed}),
    await survive({...described, controllers: faulty, seed}),
  ];

  t.is(first.runs, 1);
  t.is(first.differences[0]?.seed, seed);
  t.deepEqual(first.differences, second.differences);
});

test.serial(
  'a correct operator survives every schedule that fits into the limits, and a scenario that fails by itself is refused',
  async t => {
    t.timeout(240_000);
    const {correct} = mistakes['a child without an owner, deleted by the operator itself']!;
    const report = await survive({...described, controllers: correct, maxRuns: 6});
    t.deepEqual([report.runs, report.differences], [6, []], report.explain());
    t.true(report.schedules > 6);
    t.regex(report.explain(), /^6 of \d+ schedules ran/);
    const stopped = await survive({...described, controllers: correct, timeLimit: 0});
    t.is(stopped.runs, 0);

    const impossible = async ({until}: Stage) => void (await until(() => false, {within: '1s', what: 'the moon is blue'}));
    await t.throwsAsync(survive({...described, controllers: correct, scenario: impossible}), {
      message: /^the scenario fails without any fault: the moon is blue/,
    });
  },
);

test.serial('an operator that waits forever after a stop is left and reported, with what was going on', async t => {
  t.timeout(120_000);
  const waiting = () => [
    defineController<Site>({
      name: 'sites',
      for: Site,
      reads: [ConfigMap],
      async reconcile({key, object, client, caches}) {
        if (!object || object.metadata?.labels?.['seen']) return;
        const map = caches.get(ConfigMap, {namespace, name: key.name});
        // The one that made the map has ended, and with it what this waits for.
        if (map) await new Promise(() => {});
        const metadata = {namespace, name: key.name, labels: {site: key.name}};
        await client.apply(ConfigMap, {metadata});
        await client.apply(Site, {metadata: {namespace, name: key.name, labels: {seen: 'true'}}, spec: {title: key.name}});
      },
    }),
  ];
  const report = await survive({...described, controllers: waiting, seed: '1/write 1/stopped after', timeLimit: '1s'});

  t.deepEqual([report.runs, report.differences.length], [1, 1]);
  t.regex(
    report.explain(),
    /the scenario failed: the run has not ended, \S+ of virtual time after its start: time is held by work that has not ended \(\d+\)/,
  );
  t.regex(report.explain(), /the operator's write 1 \(patch configmaps default\/a\)/);
});

test('seeds that are none are refused', async t => {
  const {correct} = mistakes['a change of others that is overwritten']!;
  for (const seed of ['x', '1/write 0/missed', '1/write 1/missed', '1/event 1/stopped after'])
    await t.throwsAsync(survive({...described, controllers: correct, seed}), {instanceOf: TypeError, message: /the seed/});
});
