import test from 'ava';
import {aggregatedRules, sameRules} from '#controllers/clusterrole-aggregation/policy.js';
import {kinds} from '#src/api/kinds/index.js';
import type {ClusterRole, PolicyRule} from '#src/api/types.js';
import type {Steps} from '#src/base/steps.js';
import {aPlane} from './plane.js';

const plane = await aPlane({controllers: ['clusterrole-aggregation-controller']});
test.after.always(() => plane.stop());

const {clock} = plane;
const roles = plane.client().resource(kinds.clusterRoles);

const rule = (verb: string, resource: string): PolicyRule => ({verbs: [verb], apiGroups: [''], resources: [resource]});
const toLabel = (label: string) => ({matchLabels: {[label]: 'true'}});

const create = async (
  name: string,
  {labels = [], rules = [], from}: {labels?: readonly string[]; rules?: PolicyRule[]; from?: readonly object[]} = {},
): Promise<ClusterRole> => {
  const metadata = {name, labels: Object.fromEntries(labels.map(label => [label, 'true']))};
  const created = await roles.create({metadata, rules, ...(from ? {aggregationRule: {clusterRoleSelectors: [...from]}} : {})});
  await clock.drain();
  return created;
};
const rulesOf = async (name: string) => (await roles.get(name)).rules ?? [];
const formatted = async (name: string) => (await rulesOf(name)).map(({verbs, resources}) => `${verbs.join()} ${resources?.join()}`);

test.serial('aggregated roles have the rules of their parts, through several steps', async t => {
  const [admin, edit, view] = [await rulesOf('admin'), await rulesOf('edit'), await rulesOf('view')];

  t.true(view.length > 5);
  for (const part of await rulesOf('system:aggregate-to-edit')) t.true(edit.some(held => JSON.stringify(held) === JSON.stringify(part)));
  for (const [larger, smaller] of [
    [admin, edit],
    [edit, view],
  ] as const)
    for (const held of smaller) t.true(larger.some(other => JSON.stringify(other) === JSON.stringify(held)));
});

test.serial('a role that begins to match is aggregated, and one that no longer matches or is deleted is not', async t => {
  const label = plane.naming.labels.aggregateTo('view');
  const has = async (name: string) => (await formatted(name)).includes('get widgets');
  await create('widgets', {labels: [label], rules: [rule('get', 'widgets')]});
  t.deepEqual([await has('view'), await has('edit'), await has('admin')], [true, true, true]);

  await roles.patch('widgets', 'merge', {metadata: {labels: {[label]: null}}});
  await clock.drain();
  t.deepEqual([await has('view'), await has('admin')], [false, false]);

  await roles.patch('widgets', 'merge', {metadata: {labels: {[label]: 'true'}}});
  await clock.drain();
  t.true(await has('admin'));
  await roles.delete('widgets');
  await clock.drain();
  t.false(await has('admin'));
});

test.serial('rules are aggregated selector by selector, in the order of names, none twice, and none of the role itself', async t => {
  await create('part-z', {labels: ['first'], rules: [rule('get', 'a'), rule('get', 'b')]});
  await create('part-y', {labels: ['first', 'second'], rules: [rule('get', 'b'), rule('get', 'c')]});
  await create('part-a', {labels: ['second'], rules: [rule('get', 'd'), rule('get', 'a')]});
  await create('whole', {labels: ['first'], rules: [rule('get', 'own')], from: [toLabel('first'), toLabel('second')]});

  t.deepEqual(await formatted('whole'), ['get b', 'get c', 'get a', 'get d']);
});

test.serial('selectors may be expressions, and one that is empty matches all', async t => {
  await create('in', {labels: ['third'], rules: [rule('get', 'in')]});
  await create('not-in', {labels: ['third', 'not'], rules: [rule('get', 'not-in')]});
  await create('chosen', {
    from: [
      {
        matchExpressions: [
          {key: 'third', operator: 'Exists'},
          {key: 'not', operator: 'DoesNotExist'},
        ],
      },
    ],
  });
  t.deepEqual(await formatted('chosen'), ['get in']);

  await create('everything', {from: [{}]});
  t.true((await formatted('everything')).includes('get not-in'));
});

test.serial('a role that gathers nothing has no rules, whatever was written into it', async t => {
  await create('empty', {rules: [rule('get', 'secrets')], from: [toLabel('nobody')]});
  t.deepEqual(await rulesOf('empty'), []);

  await roles.patch('empty', 'merge', {rules: [rule('get', 'secrets')]});
  await clock.drain();
  t.deepEqual(await rulesOf('empty'), []);
});

test.serial('roles that aggregate each other reach a stable state', async t => {
  await create('circle-a', {labels: ['from-a'], from: [toLabel('from-b')]});
  await create('circle-b', {labels: ['from-b'], from: [toLabel('from-a')]});
  await create('circle-part', {labels: ['from-a'], rules: [rule('get', 'x')]});

  t.deepEqual([await formatted('circle-a'), await formatted('circle-b')], [['get x'], ['get x']]);
});

test.serial('the rules are applied in the name of the controller, and only when they change', async t => {
  await create('applied-part', {labels: ['applied'], rules: [rule('get', 'x')]});
  await create('applied', {from: [toLabel('applied')]});
  const before = await roles.get('applied');
  const entry = before.metadata?.managedFields?.find(({manager}) => manager === 'clusterrole-aggregation-controller');
  t.deepEqual([entry?.operation, entry?.fieldsV1], ['Apply', {'f:rules': {}}]);

  await create('applied-too', {labels: ['applied'], rules: [rule('get', 'x')]});
  await clock.advance(60_000);

  t.is((await roles.get('applied')).metadata?.resourceVersion, before.metadata?.resourceVersion);
});

test('very many rules are gathered and compared in steps', t => {
  const rules = Array.from({length: 1000}, (_, index) => rule('get', `resource-${index}`));
  const part = {metadata: {name: 'part', labels: {joins: 'true'}}, rules: [...rules, ...rules]};
  const counted = <T>(work: Steps<T>) => {
    for (let steps = 0; ; steps++) {
      const {done, value} = work.next();
      if (done) return {steps, value};
    }
  };
  const gathered = counted(
    aggregatedRules({metadata: {name: 'whole'}, aggregationRule: {clusterRoleSelectors: [toLabel('joins')]}}, [part]),
  );
  const compared = counted(sameRules(rules, structuredClone(rules)));

  t.deepEqual(gathered.value, rules);
  t.true(gathered.steps >= 20);
  t.true(compared.value);
  t.true(compared.steps >= 10);
  t.false(counted(sameRules(rules, rules.toReversed())).value);
  t.false(counted(sameRules(rules, [])).value);
});

test('very many selectors are matched in steps, and what several match is read once', t => {
  let looks = 0;
  const parts = Array.from({length: 50}, (_, index) => ({
    metadata: {name: `part-${index}`, labels: {[`l${index}`]: 'true', joins: 'true'}},
    get rules() {
      looks++;
      return [rule('get', `r${index}`)];
    },
  }));
  const selectorsOf = (of: (index: number) => object) => Array.from({length: 1_000}, (_, index) => of(index));
  const gathered = (selectors: object[]) => {
    const work = aggregatedRules({metadata: {name: 'whole'}, aggregationRule: {clusterRoleSelectors: selectors}} as ClusterRole, parts);
    for (let steps = 0; ; steps++) {
      const {done, value} = work.next();
      if (done) return {steps, rules: value.length};
    }
  };

  const unlike = gathered(selectorsOf(index => toLabel(`none-${index}`)));
  t.is(unlike.rules, 0);
  t.true(unlike.steps >= (1_000 * 50) / 1_000, `${unlike.steps} steps`);
  looks = 0;
  t.is(gathered(selectorsOf(() => toLabel('joins'))).rules, 50);
  t.is(looks, 50);
});
