import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {isNotFound} from '#src/api/status.js';
import {dayOf, isTrackedLongEnough, cleanupActionFor} from '#controllers/legacy-serviceaccount-token-cleaner/policy.js';
import {naming as namingOf} from '#src/api/naming.js';
import {aPlane} from './plane.js';

const naming = namingOf('plat');
const dayMs = 86_400_000;
const periodMs = 365 * dayMs;
const now = Date.parse('2026-01-01T12:00:00Z');
const used = naming.key('legacy-token-last-used');
const invalid = naming.key('legacy-token-invalid-since');
const account = {metadata: {name: 'a', uid: 'u'}, secrets: [{name: 's'}]};

const cases: readonly [
  title: string,
  what: {created?: string; deleting?: boolean; labels?: Record<string, string>; account?: object; mounted?: boolean; uid?: string},
  verdict: string,
][] = [
  ['is old and was never used', {}, 'mark'],
  ['is younger than the period', {created: '2025-01-01T12:00:01Z'}, 'keep'],
  ['is being deleted', {deleting: true}, 'keep'],
  ['was used within the period', {labels: {[used]: '2025-01-01'}}, 'keep'],
  ['was used before it', {labels: {[used]: '2024-12-31'}}, 'mark'],
  ['was used on an invalid day', {labels: {[used]: 'yesterday'}}, 'keep'],
  ['has no account', {account: {metadata: {name: 'a', uid: 'other'}, secrets: [{name: 's'}]}, uid: 'u'}, 'keep'],
  ['was made by hand, so that its account does not list it', {account: {metadata: {name: 'a', uid: 'u'}}}, 'keep'],
  ['is used by a pod', {mounted: true}, 'keep'],
  ['was marked on an invalid day', {labels: {[invalid]: 'x'}}, 'mark'],
  ['was marked within the period', {labels: {[invalid]: '2025-01-01'}}, 'keep'],
  ['was marked before it', {labels: {[invalid]: '2024-12-31'}}, 'delete'],
];

for (const [
  title,
  {created = '2024-01-01T00:00:00Z', deleting, labels = {}, account: of = account, mounted = false, uid},
  verdict,
] of cases) {
  test(`a secret that ${title}: ${verdict}`, t => {
    const annotations = {[naming.key('service-account.name')]: 'a', ...(uid ? {[naming.key('service-account.uid')]: uid} : {})};
    const secret = {
      metadata: {name: 's', creationTimestamp: created, labels, annotations, ...(deleting ? {deletionTimestamp: created} : {})},
    };
    t.is(cleanupActionFor(secret, {account: of, isMounted: () => mounted, periodMs, now, naming}), verdict as never);
  });
}

test('no token is checked before uses were recorded for a day and a period', t => {
  t.deepEqual(
    [undefined, 'nonsense', '2025-01-01', '2024-12-31', '2024-12-30'].map(since => isTrackedLongEnough(since, periodMs, now)),
    [false, false, false, true, true],
  );
  t.is(dayOf(now), '2026-01-01');
});

test('over two periods an unused secret is marked and then deleted, while one made by hand stays', async t => {
  await using plane = await aPlane({
    controllers: ['legacy-serviceaccount-token-cleaner-controller'],
    controllerManagerArgs: ['--legacy-service-account-token-clean-up-period=24h'],
  });
  const {clock} = plane;
  const client = plane.client();
  const namespace = 'default';
  const token = (name: string) => ({
    metadata: {namespace, name, annotations: {[naming.key('service-account.name')]: 'a'}},
    type: naming.key('service-account-token'),
  });
  const secrets = client.resource(kinds.secrets);
  const label = async (name: string) => {
    try {
      return (await secrets.get(name, {namespace})).metadata?.labels?.[invalid] ?? 'unmarked';
    } catch (error) {
      if (isNotFound(error)) return 'gone';
      throw error;
    }
  };
  const tracking = await client.resource(kinds.configMaps).get(plane.naming.legacyTokenTracking, {namespace: plane.naming.systemNamespace});
  t.is(tracking.data?.['since'], dayOf(clock.now()));
  await client.resource(kinds.serviceAccounts).create({metadata: {namespace, name: 'a'}, secrets: [{name: 'auto'}]});
  await secrets.create(token('auto'));
  await secrets.create(token('manual'));

  const story: string[] = [];
  for (let day = 1; day <= 4; day++) {
    await clock.advance(dayMs);
    story.push(await label('auto'));
  }
  t.deepEqual(story, ['unmarked', '2026-01-03', '2026-01-03', 'gone']);
  t.is(await label('manual'), 'unmarked');
});
