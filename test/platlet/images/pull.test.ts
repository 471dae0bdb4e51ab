import {createHash} from 'node:crypto';
import test from 'ava';
import {naming} from '#src/api/naming.js';
import type {Container} from '#src/api/pod.js';
import type {Secret} from '#src/api/types.js';
import {noLog} from '#src/base/log.js';
import {sleep} from '#src/base/clock.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {credentialsFor, keyringOf} from '#src/platlet/images/keyring.js';
import {ImagePulls, type ImagePullsParts} from '#src/platlet/images/image-pulls.js';
import {PullCredentials} from '#src/platlet/images/pull-credentials.js';
import {ImagePuller, type ImagePullerParts} from '#src/platlet/images/puller.js';
import {WaitingError} from '#src/platlet/pod/ports.js';
import type {Image, ImageSpec} from '#src/platlet/runtime/images.js';
import {RuntimeError} from '#src/platlet/runtime/runtime.js';
import {memoryObjects} from '#test/platlet/inputs/objects.js';
import {aPod} from '#test/platlet/pod/objects.js';

const image = (id: string, fields: Partial<Image> = {}): Image => ({id, tags: [], digests: [], bytes: 1234, isPinned: false, ...fields});

/** A runtime that has images by name, and a registry. */
class Registry {
  readonly images = new Map<string, Image>();
  readonly pulls: string[] = [];
  readonly clock = new VirtualClock(0);
  readonly events: string[] = [];
  readonly objects = memoryObjects();
  error: Error | undefined;
  pullMs = 1_500;
  running = 0;
  most = 0;

  /** The images that the runtime was asked for. */
  readonly asked: ImageSpec[] = [];

  puller(limits: Partial<ImagePullsParts['limits']> = {}, more: Partial<ImagePullerParts> = {}): ImagePuller {
    const {clock, objects} = this;
    const record = (type: string) => (_: object, reason: string, message: string) => void this.events.push(`${type} ${reason}: ${message}`);
    const runtime: ImagePullsParts['runtime'] = {
      imageStatus: async ({image: name}) => this.images.get(name) ?? [...this.images.values()].find(({id}) => id === name),
      pullImage: async (spec, credentials) => {
        const {image: name} = spec;
        this.asked.push(spec);
        this.pulls.push(`${name}${credentials ? ` as ${credentials.username}` : ''}`);
        this.most = Math.max(this.most, ++this.running);
        await sleep(clock, this.pullMs);
        this.running--;
        if (this.error) throw this.error;
        this.images.set(name, image(`sha256:${name}`, {uid: 5}));
        return `sha256:${name}`;
      },
    };
    return new ImagePuller({
      runtime,
      credentials: new PullCredentials({naming: naming('plat'), objects, log: noLog}),
      pulls: new ImagePulls({runtime, clock, limits: {parallel: 1, qps: 0, burst: 0, ...limits}}),
      events: {normal: record('Normal'), warning: record('Warning')},
      clock,
      ...more,
    });
  }

  async ensure(puller: ImagePuller, container: Partial<Container>, spec: Parameters<typeof aPod>[0] = {}): Promise<unknown> {
    const all = {name: 'app', ...container};
    const result = puller.ensure(aPod({containers: [all], ...spec}), all, new AbortController().signal).catch((error: unknown) => {
      if (error instanceof WaitingError) return `${error.reason}: ${error.message}`;
      throw error;
    });
    await this.clock.advance(this.pullMs);
    return result;
  }

  taken(): string[] {
    return this.events.splice(0);
  }
}

test('an image that is there is used', async t => {
  const registry = new Registry();
  registry.images.set('app:1', image('id', {username: 'web'}));
  t.deepEqual(await registry.ensure(registry.puller(), {image: 'app:1'}), {ref: 'id', username: 'web'});
  t.deepEqual(registry.taken(), ['Normal Pulled: Container image "app:1" already present on machine']);
});

test('an image that is missing is pulled, by the tag latest if none is named', async t => {
  const registry = new Registry();
  t.deepEqual(await registry.ensure(registry.puller(), {image: 'app'}), {ref: 'sha256:app:latest', uid: 5});
  t.deepEqual(registry.taken(), [
    'Normal Pulling: Pulling image "app"',
    'Normal Pulled: Successfully pulled image "app" in 1.5s (1.5s including waiting). Image size: 1234 bytes.',
  ]);
  await registry.ensure(registry.puller(), {image: 'app'});
  t.is(registry.pulls.length, 2);
});

test('an image that is never pulled keeps a container waiting', async t => {
  const registry = new Registry();
  t.is(
    await registry.ensure(registry.puller(), {image: 'app:1', imagePullPolicy: 'Never'}),
    'ErrImageNeverPull: Container image "app:1" is not present with pull policy of Never',
  );
  t.deepEqual(registry.taken(), [
    'Warning ErrImageNeverPull: Container image "app:1" is not present with pull policy of Never',
    'Warning Failed: Error: ErrImageNeverPull',
  ]);
});

test('a name that is none keeps a container waiting', async t => {
  const registry = new Registry();
  const message = 'Failed to apply default image tag "App:": couldn\'t parse image name "App:": invalid reference format';
  t.is(await registry.ensure(registry.puller(), {image: 'App:'}), `InvalidImageName: ${message}`);
  t.deepEqual(registry.taken(), [`Warning InspectFailed: ${message}`, 'Warning Failed: Error: InvalidImageName']);
});

test('failed pulls back off, from 10 s to 5 min', async t => {
  const registry = new Registry();
  registry.error = new RuntimeError('not-found', 'not found');
  registry.pullMs = 0;
  const puller = registry.puller();
  const pull = () => registry.ensure(puller, {image: 'app:1'});
  t.is(await pull(), 'ErrImagePull: not found');
  t.deepEqual(registry.taken(), [
    'Normal Pulling: Pulling image "app:1"',
    'Warning Failed: Failed to pull image "app:1": not found',
    'Warning Failed: Error: ErrImagePull',
  ]);
  t.is(await pull(), 'ImagePullBackOff: Back-off pulling image "app:1": ErrImagePull: not found');
  t.deepEqual(registry.taken(), ['Normal BackOff: Back-off pulling image "app:1"', 'Warning Failed: Error: ImagePullBackOff']);
  for (const seconds of [10, 20, 40, 80, 160, 300, 300]) {
    await registry.clock.advance(seconds * 1000 - 1);
    t.regex(String(await pull()), /^ImagePullBackOff/);
    await registry.clock.advance(1);
    t.regex(String(await pull()), /^ErrImagePull/);
  }
  await registry.clock.advance(600_001);
  await pull();
  await registry.clock.advance(10_000);
  t.regex(String(await pull()), /^ErrImagePull/);
});

test('a registry that is not there, and a signature that is not valid, are reasons of their own', async t => {
  for (const [reason, why] of [
    ['RegistryUnavailable', 'the registry is unavailable'],
    ['SignatureValidationFailed', 'the signature validation failed'],
  ]) {
    const registry = new Registry();
    registry.error = new Error(`${reason}: details`);
    t.is(await registry.ensure(registry.puller(), {image: 'app:1'}), `${reason}: image pull failed for app:1 because ${why}: details`);
  }
});

test('pulls go on one at a time, or as many as are allowed', async t => {
  for (const [parallel, most] of [
    [1, 1],
    [2, 2],
    [Infinity, 3],
  ] as const) {
    const registry = new Registry();
    const puller = registry.puller({parallel});
    const pulls = ['a:1', 'b:1', 'c:1'].map(name => registry.ensure(puller, {image: name}));
    await registry.clock.advance(10_000);
    await Promise.all(pulls);
    t.is(registry.most, most);
  }
});

test('more pulls than the rate allows fail', async t => {
  const registry = new Registry();
  registry.pullMs = 0;
  const puller = registry.puller({parallel: Infinity, qps: 1, burst: 2});
  await registry.ensure(puller, {image: 'a:1'});
  await registry.ensure(puller, {image: 'b:1'});
  t.is(await registry.ensure(puller, {image: 'c:1'}), 'ErrImagePull: pull QPS exceeded');
});

const secret = (auths: object, type = 'plat.io/dockerconfigjson'): Secret => ({
  type,
  data: {
    [type.endsWith('json') ? '.dockerconfigjson' : '.dockercfg']: Buffer.from(
      JSON.stringify(type.endsWith('json') ? {auths} : auths),
    ).toString('base64'),
  },
});

test('the credentials that match are tried in turn', async t => {
  const registry = new Registry();
  registry.pullMs = 0;
  registry.error = new Error('unauthorized');
  registry.objects.secrets.set('default/one', secret({'example.com': {username: 'all', password: 'p'}}));
  registry.objects.secrets.set('default/two', secret({'example.com/team': {username: 'team', password: 'p'}}));
  const spec = {imagePullSecrets: ['one', 'two', 'again', 'none'].map(name => ({name}))};
  registry.objects.secrets.set('default/again', secret({'example.com/team': {username: 'team', password: 'p'}}));
  const puller = registry.puller();
  await puller.prepare(aPod(spec));
  t.deepEqual(registry.taken(), [
    'Warning FailedToRetrieveImagePullSecret: Unable to retrieve some image pull secrets (none); attempting to pull the image may not succeed.',
  ]);
  t.is(await registry.ensure(puller, {image: 'example.com/team/app:1'}, spec), 'ErrImagePull: unauthorized');
  t.deepEqual(registry.pulls, ['example.com/team/app:1 as team', 'example.com/team/app:1 as all']);
  await registry.ensure(registry.puller(), {image: 'other.com/app:1'}, spec);
  t.is(registry.pulls.at(-1), 'other.com/app:1');
});

const rows: [registry: string, image: string, isMatch: boolean][] = [
  ['example.com', 'example.com/a:1', true],
  ['https://example.com/v1/', 'example.com/a:1', true],
  ['example.com', 'example.com:5000/a', true],
  ['example.com:5000', 'example.com/a', false],
  ['example.com:5000', 'example.com:5000/a@sha256:0', true],
  ['example.com/a', 'example.com/a/b', true],
  ['example.com/a', 'example.com/b', false],
  ['*.example.com', 'eu.example.com/a', true],
  ['*.example.com', 'a.eu.example.com/a', false],
  ['*.example.com', 'example.com/a', false],
  ['e*-x*.example.com', 'eu-x1.example.com/a', true],
  ['https://index.docker.io/v1/', 'busybox', true],
  ['docker.io', 'library/busybox:1', true],
  ['docker.io', 'docker.io/library/busybox', true],
  ['example.com', 'busybox', false],
];

for (const [registry, name, isMatch] of rows)
  test(`credentials for ${registry} ${isMatch ? 'are' : 'are not'} used for ${name}`, t => {
    const keyring = keyringOf(naming('plat'), [secret({[registry]: {username: 'u', password: 'p'}})]);
    t.is(credentialsFor(keyring, name).length, isMatch ? 1 : 0);
  });

test('pull secrets of both types are understood, and broken ones have no credentials', t => {
  const auth = Buffer.from('me:pass:word').toString('base64');
  const keyring = keyringOf(naming('plat'), [
    secret({'a.com': {auth}}),
    secret({'a.com': {username: 'old', password: 'p'}}, 'plat.io/dockercfg'),
    {type: 'plat.io/dockerconfigjson', data: {'.dockerconfigjson': 'e30'}},
    {type: 'plat.io/dockerconfigjson', data: {'.dockerconfigjson': 'eA=='}},
    secret({'a.com': {auth}}, 'Opaque/json'),
  ]);
  t.deepEqual(
    credentialsFor(keyring, 'a.com/x').map(({credentials}) => credentials),
    [
      {username: 'me', password: 'pass:word'},
      {username: 'old', password: 'p'},
    ],
  );
});

test('credentials are known by the secret that they come from and by their hash', t => {
  const of = (name: string, password: string) => ({
    ...secret({'a.com': {username: 'user', password}}),
    metadata: {uid: `uid-${name}`, namespace: 'default', name},
  });
  const [one, two, three] = credentialsFor(
    keyringOf(naming('plat'), [of('one', 'password'), of('two', 'password'), of('three', '<&>\u2028')]),
    'a.com/x',
  );
  t.deepEqual(one?.source, {uid: 'uid-one', namespace: 'default', name: 'one'});
  // The hash that the original has for them.
  t.is(one?.hash, 'a55436fc140d516560d072c5fe8700385ce9f41629abf65c1edcbcb39fac691d');
  t.is(two?.hash, one?.hash);
  const escaped = String.raw`{"username":"user","password":"\u003c\u0026\u003e\u2028"}`;
  t.is(three?.hash, createHash('sha256').update(escaped).digest('hex'));
});

test('the image of a volume is pulled for the pod, and is mounted by its id', async t => {
  const registry = new Registry();
  const puller = registry.puller({}, {uses: {mounts: true}});
  const pod = aPod({}, {annotations: {a: 'b'}});
  const volume = (pullPolicy?: string) => ({name: 'v', image: {reference: 'files', ...(pullPolicy ? {pullPolicy} : {})}});
  const ensure = async (by = puller, policy?: string) => {
    const result = by.ensureVolume(pod, volume(policy), new AbortController().signal).catch((error: WaitingError) => error.reason);
    await registry.clock.advance(registry.pullMs);
    return result;
  };
  t.is(await ensure(puller, 'Never'), 'ErrImageNeverPull');
  registry.error = new Error('no');
  t.is(await ensure(), 'ErrImagePull');
  registry.error = undefined;
  await registry.clock.advance(60_000);
  registry.taken();
  t.deepEqual(await ensure(), {image: 'sha256:files:latest', userSpecified: 'files', annotations: {a: 'b'}});
  t.like(registry.asked.at(-1), {image: 'files:latest', userSpecified: 'files', annotations: {a: 'b'}});
  t.false(registry.taken().some(event => event.includes('Error: ')));
  t.is(await ensure(registry.puller()), undefined);
});

test('images are asked for with the runtime handler of the pod where runtimes keep them apart by it', async t => {
  const registry = new Registry();
  const puller = registry.puller({}, {uses: {mounts: true, handlerOf: async ({spec}) => spec?.runtimeClassName ?? ''}});
  await registry.ensure(puller, {image: 'app:1'}, {runtimeClassName: 'vm'});
  t.is(registry.asked.at(-1)?.handler, 'vm');
  await registry.ensure(puller, {image: 'app:2'});
  t.is(registry.asked.at(-1)?.handler, undefined);
});
