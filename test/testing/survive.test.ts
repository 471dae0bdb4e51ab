import test from 'ava';
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

for (const [title, {faulty, correct}] of Object.entries(mistakes)) {
  test.serial(`an operator with the mistake of ${title} is found, and its correct form survives`, async t => {
    t.timeout(240_000);
    const found = await survive({...described, controllers: faulty});
    const [difference] = found.differences;
    t.truthy(difference, found.explain());
    t.log(`${found.runs} runs: ${difference?.schedule}`);
    const again = await survive({...described, controllers: faulty, seed: difference!.seed});
    t.is(again.runs, 1);
    t.deepEqual(again.differences, found.differences, 'the seed repeats it, trace and all');

    const report = await survive({...described, controllers: correct, seed: difference!.seed});
    t.deepEqual(report.differences, [], report.explain());
  });
}
