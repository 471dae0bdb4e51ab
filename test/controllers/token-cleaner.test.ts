// The scenarios of upstream's pkg/controller/bootstrap/tokencleaner_test.go: TestCleanerNoExpiration,
// TestCleanerExpired, TestCleanerNotExpired and TestCleanerExpiredAt.

import test from 'ava';
import {cleaner} from '#controllers/token-cleaner/reconcile.js';
import {kinds} from '#src/api/kinds/index.js';
import {naming as namingOf} from '#src/api/naming.js';
import {wireTime} from '#src/api/time.js';
import {aBootstrapToken} from './bootstrap-tokens.js';
import {attempt, contextOver} from './context.js';
import {aPlane} from './plane.js';

const naming = namingOf('plat');
const namespace = naming.systemNamespace;
const minute = 60_000;

const aCleaningPlane = async () => {
  const plane = await aPlane({controllers: ['token-cleaner-controller'], controllerManagerArgs: ['--use-service-account-credentials']});
  const secrets = plane.client().resource(kinds.secrets);
  const names = async () =>
    (await secrets.list({namespace})).items.flatMap(({metadata}) => /^bootstrap-token-(.*)/.exec(metadata!.name!)?.[1] ?? []).sort();
  return {plane, clock: plane.clock, secrets, names, [Symbol.asyncDispose]: () => plane.stop()};
};

const expirations: readonly (readonly [what: string, expiration: ((now: number) => string) | undefined, isDeleted: boolean])[] = [
  ['without an expiration', undefined, false],
  ['with an empty expiration', () => '', false],
  ['that has expired', now => wireTime(now - minute), true],
  ['that expires at this moment', now => wireTime(now), true],
  ['with an expiration that is no time', () => 'tomorrow', true],
  ['with an expiration in another time zone that has passed', now => wireTime(now + 59 * minute).replace('Z', '+01:00'), true],
  ['that expires later', now => wireTime(now + minute), false],
];

test('tokens are deleted by their expiration alone', async t => {
  await using at = await aCleaningPlane();
  const {clock, secrets, names} = at;
  const now = clock.now();
  for (const [i, [, expiration]] of expirations.entries())
    await secrets.create(aBootstrapToken(naming, `token${i}`, {expiration: expiration?.(now)}));
  await secrets.create({...aBootstrapToken(naming, 'opaque', {expiration: wireTime(now - minute)}), type: 'Opaque'});
  await clock.drain();

  const left = await names();
  for (const [i, [what, , isDeleted]] of expirations.entries()) t.is(left.includes(`token${i}`), !isDeleted, `a token ${what}`);
  t.true(left.includes('opaque'), 'a secret of another type');
});

test('a token is deleted when it expires, or when its expiration is moved to before now', async t => {
  await using at = await aCleaningPlane();
  const {clock, secrets, names} = at;
  for (const id of ['first0', 'second', 'moved0'])
    await secrets.create(aBootstrapToken(naming, id, {expiration: wireTime(clock.now() + (id === 'first0' ? 1 : 10) * minute)}));
  await clock.advance(minute - 1);
  t.deepEqual(await names(), ['first0', 'moved0', 'second']);
  await clock.advance(1);
  t.deepEqual(await names(), ['moved0', 'second']);

  const expiration = Buffer.from(wireTime(clock.now() - minute)).toString('base64');
  await secrets.patch('bootstrap-token-moved0', 'merge', {data: {expiration}}, {namespace});
  await clock.drain();
  t.deepEqual(await names(), ['second']);
});

test('a token whose expiration is moved to later stays until then', async t => {
  await using at = await aCleaningPlane();
  const {clock, secrets, names} = at;
  await secrets.create(aBootstrapToken(naming, 'moved0', {expiration: wireTime(clock.now() + minute)}));
  const expiration = Buffer.from(wireTime(clock.now() + 3 * minute)).toString('base64');
  await secrets.patch('bootstrap-token-moved0', 'merge', {data: {expiration}}, {namespace});
  await clock.advance(2 * minute);
  t.deepEqual(await names(), ['moved0']);
  await clock.advance(minute);
  t.deepEqual(await names(), []);
});

test('a token that was replaced under the same name is not deleted, nor is its failure retried', async t => {
  await using at = await aCleaningPlane();
  const {plane, clock, secrets, names} = at;
  const old = {...aBootstrapToken(naming, 'aaaaaa', {expiration: wireTime(clock.now() - minute)})};
  const cached = {...old, metadata: {...old.metadata, uid: '11111111-1111-1111-1111-111111111111'}};
  await secrets.create(aBootstrapToken(naming, 'aaaaaa', {expiration: wireTime(clock.now() + minute)}));
  await clock.drain();

  t.deepEqual(await cleaner(contextOver(plane, [cached], {}))({namespace, name: 'bootstrap-token-aaaaaa'}, attempt), {kind: 'settled'});
  t.deepEqual(await names(), ['aaaaaa']);
});
