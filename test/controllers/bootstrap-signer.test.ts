// The scenarios of upstream's pkg/controller/bootstrap: of bootstrapsigner_test.go TestNoConfigMap, TestSimpleSign,
// TestNoSignNeeded, TestUpdateSignature and TestRemoveSignature; of util_test.go TestValidateSecretForSigning,
// TestValidateSecret, TestBadSecretName and TestMismatchSecretName; and TestComputeDetachedSig of cluster-bootstrap's
// jws_test.go.

import {createHmac} from 'node:crypto';
import test from 'ava';
import {signingTokenOf} from '#controllers/bootstrap-signer/tokens.js';
import {detachedSignature} from '#src/model/bootstrap-signature.js';
import {kinds} from '#src/api/kinds/index.js';
import {naming as namingOf} from '#src/api/naming.js';
import {wireTime} from '#src/api/time.js';
import type {Secret} from '#src/api/types.js';
import {aBootstrapToken, tokenSecret} from './bootstrap-tokens.js';
import {aPlane} from './plane.js';

const naming = namingOf('plat');
const now = Date.parse('2026-01-10T00:00:00Z');
const aToken = (entries: Readonly<Record<string, string | undefined>> = {}) => aBootstrapToken(naming, 'tokens', entries);

const secrets: readonly (readonly [what: string, secret: Secret, isSigning: boolean])[] = [
  ['is complete', aToken(), true],
  ['has another name', {...aToken(), metadata: {name: 'tokens'}}, false],
  ['has a name with an id that is too long', {...aToken(), metadata: {name: 'bootstrap-token-tokens7'}}, false],
  ['has a name with capital letters', {...aToken(), metadata: {name: 'bootstrap-token-TOKENS'}}, false],
  ['has no id', aToken({'token-id': undefined}), false],
  ['has an empty id', aToken({'token-id': ''}), false],
  ['has an id that is not that of its name', aToken({'token-id': 'others'}), false],
  ['has no secret', aToken({'token-secret': undefined}), false],
  ['has an empty secret', aToken({'token-secret': ''}), false],
  ['has no data at all', {...aToken(), data: {}}, false],
  ['is not for signing', aToken({'usage-bootstrap-signing': undefined}), false],
  ['has an empty mark for signing', aToken({'usage-bootstrap-signing': ''}), false],
  ['is explicitly not for signing', aToken({'usage-bootstrap-signing': 'false'}), false],
  ['is for signing in other letters', aToken({'usage-bootstrap-signing': 'True'}), false],
  ['has expired', aToken({expiration: wireTime(now - 1000)}), false],
  ['expires at this moment', aToken({expiration: wireTime(now)}), false],
  ['expires later', aToken({expiration: wireTime(now + 1000)}), true],
  ['has an empty expiration', aToken({expiration: ''}), true],
  ['has an invalid expiration', aToken({expiration: 'soon'}), false],
];

for (const [what, secret, isSigning] of secrets) {
  test(`a token that ${what} ${isSigning ? 'signs' : 'does not sign'}`, t => {
    t.is(signingTokenOf(secret, now) !== undefined, isSigning);
  });
}

test('a signature is a JWS whose payload is detached', t => {
  const content = 'Hello from the other side. I must have called a thousand times.';

  t.is(
    detachedSignature(content, {id: 'joshua', key: Buffer.from('my voice is my passcode')}),
    'eyJhbGciOiJIUzI1NiIsImtpZCI6Impvc2h1YSJ9..VShe2taLd-YTrmWuRkcL_8QTNDHYxQIEBsAYYiIj1_8',
  );
});

test('the signature of a short text with a short key is that of other signers', t => {
  t.is(
    detachedSignature('payload', {id: 'abc123', key: Buffer.from('tokenSecret')}),
    'eyJhbGciOiJIUzI1NiIsImtpZCI6ImFiYzEyMyJ9..QSxpUG7Q542CirTI2ECPSZjvBOJURUW5a7XqFpNI958',
  );
});

const signed = (content: string, id: string, key = tokenSecret): string => {
  const header = Buffer.from(`{"alg":"HS256","kid":"${id}"}`).toString('base64url');
  const payload = Buffer.from(content).toString('base64url');
  return `${header}..${createHmac('sha256', key).update(`${header}.${payload}`).digest('base64url')}`;
};

const aSigningPlane = async (data: Record<string, string> | undefined) => {
  const plane = await aPlane({
    controllers: ['bootstrap-signer-controller'],
    controllerManagerArgs: ['--use-service-account-credentials'],
  });
  const {clock} = plane;
  const configMaps = plane.client().resource(kinds.configMaps);
  const tokens = plane.client().resource(kinds.secrets);
  const namespace = naming.publicNamespace;
  const name = 'cluster-info';
  // The plane publishes one of its own.
  await configMaps.delete(name, {namespace}).catch(() => {});
  if (data) await configMaps.create({metadata: {namespace, name}, data});
  await clock.drain();
  return {
    plane,
    clock,
    configMaps,
    tokens,
    address: {namespace, name},
    stored: () => configMaps.get(name, {namespace}),
    data: async () => (await configMaps.get(name, {namespace})).data,
    async [Symbol.asyncDispose]() {
      await plane.stop();
    },
  };
};

test('settings are signed with each token, again when they change, and signatures of tokens that are gone are removed', async t => {
  await using at = await aSigningPlane({platconfig: 'one', other: 'kept'});
  const {clock, tokens, stored} = at;
  await tokens.create(aBootstrapToken(naming, 'aaaaaa'));
  await tokens.create(aBootstrapToken(naming, 'bbbbbb', {'token-secret': 'ponmlkjihgfedcba'}));
  await tokens.create(aBootstrapToken(naming, 'cccccc', {'usage-bootstrap-signing': undefined}));
  await clock.drain();
  t.deepEqual(await at.data(), {
    platconfig: 'one',
    other: 'kept',
    'jws-platconfig-aaaaaa': signed('one', 'aaaaaa'),
    'jws-platconfig-bbbbbb': signed('one', 'bbbbbb', 'ponmlkjihgfedcba'),
  });

  await tokens.delete('bootstrap-token-bbbbbb', {namespace: naming.systemNamespace});
  await clock.drain();
  await at.configMaps.update({...(await stored()), data: {...(await at.data()), platconfig: 'two'}});
  await clock.drain();
  t.deepEqual(await at.data(), {platconfig: 'two', other: 'kept', 'jws-platconfig-aaaaaa': signed('two', 'aaaaaa')});
});

test('nothing is written if all signatures are up to date', async t => {
  await using at = await aSigningPlane({platconfig: 'one', 'jws-platconfig-aaaaaa': signed('one', 'aaaaaa')});
  const {clock, tokens, stored} = at;
  const before = await stored();
  await tokens.create(aBootstrapToken(naming, 'aaaaaa'));
  await tokens.create({...aBootstrapToken(naming, 'bbbbbb'), type: 'Opaque'});
  await clock.drain();
  const after = await stored();

  // Removed while the token was missing, and then written as it was.
  t.deepEqual(after.data, before.data ? {...before.data, 'jws-platconfig-aaaaaa': signed('one', 'aaaaaa')} : undefined);
  const {resourceVersion} = after.metadata!;
  await tokens.patch('bootstrap-token-aaaaaa', 'merge', {metadata: {labels: {a: 'b'}}}, {namespace: naming.systemNamespace});
  await clock.drain();
  t.is((await stored()).metadata!.resourceVersion, resourceVersion);
});

test('a signature that someone has changed is replaced', async t => {
  await using at = await aSigningPlane({platconfig: 'one'});
  const {clock, tokens, stored} = at;
  await tokens.create(aBootstrapToken(naming, 'aaaaaa'));
  await clock.drain();
  await at.configMaps.update({...(await stored()), data: {platconfig: 'one', 'jws-platconfig-aaaaaa': 'old signature'}});
  await clock.drain();

  t.deepEqual(await at.data(), {platconfig: 'one', 'jws-platconfig-aaaaaa': signed('one', 'aaaaaa')});
});

test('a signature is removed if there are no tokens at all', async t => {
  await using at = await aSigningPlane({platconfig: 'one', 'jws-platconfig-aaaaaa': 'old signature'});

  t.deepEqual(await at.data(), {platconfig: 'one'});
});

test('the config map is never created, and without settings it stays as it is', async t => {
  await using at = await aSigningPlane(undefined);
  const {clock, tokens, configMaps, address} = at;
  await tokens.create(aBootstrapToken(naming, 'aaaaaa'));
  await clock.drain();
  await t.throwsAsync(at.stored(), {message: /not found/});

  await configMaps.create({metadata: address, data: {'jws-platconfig-zzzzzz': 'old'}});
  await clock.drain();
  t.deepEqual(await at.data(), {'jws-platconfig-zzzzzz': 'old'});
});
