import {generateKeyPairSync} from 'node:crypto';
import {mkdtempSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {isNotFound} from '#src/api/status.js';
import type {Secret} from '#src/api/types.js';
import {parseSigningKey} from '#src/pki/keys/token-keys.js';
import {readToken} from '#src/pki/keys/token.js';
import {aPlane} from './plane.js';

const plane = await aPlane({controllers: ['serviceaccount-token-controller']});
test.after.always(() => plane.stop());

const {clock, naming} = plane;
const client = plane.client();
const accounts = client.resource(kinds.serviceAccounts);
const secrets = client.resource(kinds.secrets);
const namespace = 'default';
const annotations = {name: naming.key('service-account.name'), uid: naming.key('service-account.uid')};

const anAccount = async (name: string) => (await accounts.create({metadata: {namespace, name}})).metadata?.uid ?? '';
const aSecret = (name: string, account: string, more: Partial<Secret> & {readonly uid?: string} = {}) => {
  const {uid, ...rest} = more;
  return secrets.create({
    metadata: {namespace, name, annotations: {[annotations.name]: account, ...(uid ? {[annotations.uid]: uid} : {})}},
    type: naming.key('service-account-token'),
    ...rest,
  });
};
const found = (name: string) =>
  secrets.get(name, {namespace}).catch((error: unknown) => (isNotFound(error) ? undefined : Promise.reject(error as Error)));
const text = (secret: Secret | undefined, key: string) => Buffer.from(secret?.data?.[key] ?? '', 'base64').toString();

test.serial('a secret made for an account gets a token, the CA bundle, the namespace, and the uid of the account', async t => {
  const uid = await anAccount('builder');
  await aSecret('builder-token', 'builder');
  await clock.drain();

  const secret = await found('builder-token');
  t.is(secret?.metadata?.annotations?.[annotations.uid], uid);
  t.is(text(secret, 'namespace'), namespace);
  t.regex(text(secret, 'ca.crt'), /BEGIN CERTIFICATE/);
  const token = readToken(text(secret, 'token'));
  t.deepEqual(token?.claims, {
    aud: [],
    iss: `${naming.namespaceFinalizer}/serviceaccount`,
    sub: 'system:serviceaccount:default:builder',
    [naming.key('serviceaccount/namespace')]: namespace,
    [naming.key('serviceaccount/secret.name')]: 'builder-token',
    [naming.key('serviceaccount/service-account.name')]: 'builder',
    [naming.key('serviceaccount/service-account.uid')]: uid,
  });
});

test.serial('the server authenticates the account by that token until the secret is deleted', async t => {
  await anAccount('caller');
  await aSecret('caller-token', 'caller');
  await clock.drain();
  const token = text(await found('caller-token'), 'token');
  const review = async () => (await client.resource(kinds.tokenReviews).create({spec: {token}})).status;
  const {user, authenticated} = (await review()) ?? {};
  t.deepEqual([authenticated, user?.username], [true, 'system:serviceaccount:default:caller']);

  await secrets.delete('caller-token', {namespace});
  t.falsy((await review())?.authenticated);
});

test.serial('accounts get no secrets by themselves, and secrets of other types are left alone', async t => {
  await anAccount('plain');
  await secrets.create({metadata: {namespace, name: 'opaque', annotations: {[annotations.name]: 'nobody'}}});
  await clock.drain();

  const {items} = await secrets.list({namespace});
  t.deepEqual(
    items.filter(({metadata}) => metadata?.annotations?.[annotations.name] === 'plain'),
    [],
  );
  t.truthy(await found('opaque'));
});

test.serial('existing data of a secret stays, but a different CA bundle is replaced', async t => {
  await anAccount('keeper');
  await aSecret('kept', 'keeper', {
    data: {token: Buffer.from('mine').toString('base64'), 'ca.crt': Buffer.from('old').toString('base64'), extra: ''},
  });
  await clock.drain();

  const secret = await found('kept');
  t.is(text(secret, 'token'), 'mine');
  t.regex(text(secret, 'ca.crt'), /BEGIN CERTIFICATE/);
  t.true('extra' in (secret?.data ?? {}));
});

test.serial('secrets go with their account, and those that name another account of that name are deleted too', async t => {
  const uid = await anAccount('leaver');
  await aSecret('left', 'leaver');
  await aSecret('stale', 'leaver', {uid: 'somebody-else'});
  await aSecret('homeless', 'never-there');
  await clock.drain();
  t.deepEqual(
    [(await found('left'))?.metadata?.annotations?.[annotations.uid], await found('stale'), await found('homeless')],
    [uid, undefined, undefined],
  );

  await accounts.delete('leaver', {namespace});
  await clock.drain();
  t.is(await found('left'), undefined);
});

test.serial('a secret that is gone is taken from the list of its account', async t => {
  await accounts.create({metadata: {namespace, name: 'lister'}, secrets: [{name: 'listed'}, {name: 'other'}]});
  await aSecret('listed', 'lister');
  await clock.drain();
  await secrets.delete('listed', {namespace});
  await clock.drain();

  t.deepEqual((await accounts.get('lister', {namespace})).secrets, [{name: 'other'}]);
});

test('tokens are signed by RSA keys too', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-test-'));
  const {privateKey} = generateKeyPairSync('rsa', {modulusLength: 2048});
  const pem = privateKey.export({type: 'pkcs1', format: 'pem'}).toString();
  writeFileSync(join(folder, 'key.pem'), pem);
  await using own = await aPlane({
    controllers: ['serviceaccount-token-controller'],
    controllerManagerArgs: [`--service-account-private-key-file=${join(folder, 'key.pem')}`],
  });
  await own
    .client()
    .resource(kinds.serviceAccounts)
    .create({metadata: {namespace, name: 'rsa'}});
  await own
    .client()
    .resource(kinds.secrets)
    .create({metadata: {namespace, name: 'rsa', annotations: {[annotations.name]: 'rsa'}}, type: naming.key('service-account-token')});
  await own.clock.drain();

  const token = readToken(text(await own.client().resource(kinds.secrets).get('rsa', {namespace}), 'token'));
  const key = parseSigningKey(pem);
  t.deepEqual([token?.keyId, token?.isSignedBy(key.key)], [key.id, true]);
});

test('a key that cannot be read stops the start with one line', async t => {
  const error = await t.throwsAsync(
    aPlane({
      controllers: ['serviceaccount-token-controller'],
      controllerManagerArgs: ['--service-account-private-key-file=/nowhere/key.pem'],
    }),
  );

  t.regex(
    error?.message ?? '',
    /--service-account-private-key-file: \/nowhere\/key\.pem: open \/nowhere\/key\.pem: no such file or directory/,
  );
});
