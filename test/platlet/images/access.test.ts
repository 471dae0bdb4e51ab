import {createHash} from 'node:crypto';
import {existsSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {naming} from '#src/api/naming.js';
import type {Secret} from '#src/api/types.js';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {ImageAccess} from '#src/platlet/images/image-access.js';
import {ImagePulls} from '#src/platlet/images/image-pulls.js';
import {keyringEntry} from '#src/platlet/images/keyring.js';
import {PullCredentials} from '#src/platlet/images/pull-credentials.js';
import {ImagePuller} from '#src/platlet/images/puller.js';
import {PullRecords} from '#src/platlet/images/pull-records.js';
import {verificationOf} from '#src/platlet/images/verification.js';
import {WaitingError} from '#src/platlet/pod/ports.js';
import type {Image} from '#src/platlet/runtime/images.js';
import {folderHost, type FolderHost} from '#test/platlet/host.js';
import {memoryObjects} from '#test/platlet/inputs/objects.js';
import {aPod} from '#test/platlet/pod/objects.js';

const fileOf = (subject: string): string => `sha256-${createHash('sha256').update(subject).digest('hex')}`;

/** A node with images, an agent that notes its pulls, and a registry that knows passwords. */
class Node implements Disposable {
  readonly host: FolderHost = folderHost();
  readonly clock = new VirtualClock(Date.parse('2026-01-02T03:04:05Z'));
  readonly objects = memoryObjects();
  readonly images = new Map<string, Image>();
  readonly passwords = new Set<string | undefined>(['good', 'better']);
  readonly meter = new MetricsRegistry();
  readonly pulls: (string | undefined)[] = [];
  policy = 'NeverVerifyPreloadedImages';
  allowlist: string[] = [];
  /** Thrown by the next writes. */
  writeError: Error | undefined;
  access!: ImageAccess;
  puller!: ImagePuller;

  readonly runtime = {
    images: async () => [...this.images.values()],
    imageStatus: async ({image}: {image: string}) => this.images.get(image) ?? [...this.images.values()].find(({id}) => id === image),
    pullImage: async ({image}: {image: string}, credentials?: {password?: string}) => {
      this.pulls.push(credentials?.password);
      if (!this.passwords.has(credentials?.password)) throw new Error('401 Unauthorized');
      this.preload(image);
      return this.images.get(image)!.id;
    },
  };

  [Symbol.dispose](): void {
    this.host[Symbol.dispose]();
  }

  preload(image: string): void {
    this.images.set(image, {id: `sha256:${image}`, tags: [`docker.io/${image}`], digests: [], bytes: 1, isPinned: false});
  }

  secret(name: string, password: string, uid = `uid-${name}`): void {
    const auths = {'docker.io': {username: 'user', password}};
    const data = {'.dockerconfigjson': Buffer.from(JSON.stringify({auths})).toString('base64')};
    const secret: Secret = {metadata: {uid, namespace: 'default', name}, type: 'plat.io/dockerconfigjson', data};
    this.objects.secrets.set(`default/${name}`, secret);
  }

  /** Starts the agent, anew with what is on the disk. */
  async start(): Promise<this> {
    const {host, clock, objects, runtime, meter} = this;
    const writing = {...host, writeFile: (...args: Parameters<typeof host.writeFile>) => this.#write(...args)};
    const parts = {naming: naming('plat'), clock, log: noLog, runtime};
    const records = await PullRecords.open({naming: parts.naming, host: writing, root: host.folders.root});
    const needsVerification = verificationOf(this.policy, this.allowlist);
    this.access = await ImageAccess.open({...parts, records, needsVerification, meter, agent: 'platlet'});
    const limits = {parallel: 1, qps: 0, burst: 0};
    this.puller = new ImagePuller({
      runtime,
      credentials: new PullCredentials({
        naming: parts.naming,
        objects,
        log: noLog,
        provided: async ({spec}) => {
          const name = spec?.serviceAccountName;
          if (name !== 'app' && name !== 'other') return [];
          return [
            keyringEntry('docker.io', {username: 'user', password: 'good'}, {serviceAccount: {uid: name, namespace: 'default', name}}),
          ];
        },
      }),
      pulls: new ImagePulls({runtime, clock, limits, access: this.access}),
      access: this.access,
      events: {normal() {}, warning() {}},
      clock,
    });
    return this;
  }

  #write(...args: Parameters<FolderHost['writeFile']>): Promise<void> {
    return this.writeError ? Promise.reject(this.writeError) : this.host.writeFile(...args);
  }

  /**
   * Starts a container. Returns `present` if the image was there, `pulled` if it was pulled, or why neither was done.
   */
  async use(image: string, secrets: readonly string[] = [], imagePullPolicy = 'IfNotPresent', serviceAccountName = ''): Promise<string> {
    const before = this.pulls.length;
    const container = {name: 'app', image, imagePullPolicy};
    const pod = aPod({containers: [container], imagePullSecrets: secrets.map(name => ({name})), serviceAccountName});
    try {
      await this.puller.ensure(pod, container, new AbortController().signal);
      return this.pulls.length === before ? 'present' : 'pulled';
    } catch (error) {
      if (!(error instanceof WaitingError)) throw error;
      // The next one is another pod.
      await this.clock.advance(3_600_000);
      return error.reason;
    }
  }

  folder(name: 'pulled' | 'pulling'): string {
    return join(this.host.folders.root, 'image_manager', name);
  }

  files(name: 'pulled' | 'pulling'): string[] {
    return readdirSync(this.folder(name));
  }

  note(image: string): unknown {
    return JSON.parse(readFileSync(join(this.folder('pulled'), fileOf(`sha256:${image}`)), 'utf8'));
  }
}

test('an image that was pulled with a secret is for pods that have its credentials', async t => {
  using node = await new Node().start();
  node.secret('one', 'good');
  node.secret('copy', 'good');
  node.secret('wrong', 'bad');
  t.is(await node.use('team/app:1', ['one']), 'pulled');
  t.is(await node.use('team/app:1', ['one']), 'present');
  t.is(await node.use('team/app:1', ['copy']), 'present');
  t.is(await node.use('team/app:1', ['wrong']), 'ErrImagePull');
  t.is(await node.use('team/app:1'), 'ErrImagePull');
  t.is(await node.use('team/app:1', [], 'Never'), 'ErrImageNeverPull');
  // Other credentials of the same secret count, too, and another secret whose pull succeeds.
  node.secret('one', 'changed');
  t.is(await node.use('team/app:1', ['one']), 'present');
  node.secret('two', 'better');
  t.is(await node.use('team/app:1', ['two']), 'pulled');
  t.is(await node.use('team/app:1', ['two']), 'present');
  // Under another name the registry decides.
  node.images.set('else/app:1', node.images.get('team/app:1')!);
  t.is(await node.use('else/app:1', ['wrong']), 'ErrImagePull');
});

test('an image that was pulled for the token of a service account is for the pods of that account', async t => {
  using node = await new Node().start();
  const use = (account: string) => node.use('team/app:1', [], 'IfNotPresent', account);
  t.is(await use('app'), 'pulled');
  t.like(node.note('team/app:1'), {
    credentialMapping: {'docker.io/team/app': {kubernetesServiceAccounts: [{uid: 'app', namespace: 'default', name: 'app'}]}},
  });
  t.is(await use('app'), 'present');
  t.is(await use('none'), 'ErrImagePull');
  t.is(await use('other'), 'pulled');
  t.is(await use('other'), 'present');
  t.is(await use('app'), 'present');
});

test('the notes about pulls are those of the original', async t => {
  using node = await new Node().start();
  node.secret('one', 'good');
  node.secret('a', 'better');
  const pull = node.use('team/app:1', ['one']);
  await node.clock.advance(0);
  await pull;
  await node.use('team/app:1', ['a']);
  t.deepEqual(node.files('pulling'), []);
  const hash = (password: string) =>
    createHash('sha256')
      .update(JSON.stringify({username: 'user', password}))
      .digest('hex');
  t.deepEqual(node.note('team/app:1'), {
    kind: 'ImagePulledRecord',
    apiVersion: 'platlet.config.plat.io/v1beta1',
    lastUpdatedTime: '2026-01-02T03:04:05Z',
    imageRef: 'sha256:team/app:1',
    credentialMapping: {
      'docker.io/team/app': {
        kubernetesSecrets: [
          {uid: 'uid-a', namespace: 'default', name: 'a', credentialHash: hash('better')},
          {uid: 'uid-one', namespace: 'default', name: 'one', credentialHash: hash('good')},
        ],
      },
    },
  });
  await node.access.begin('team/next');
  t.deepEqual(JSON.parse(readFileSync(join(node.folder('pulling'), fileOf('team/next')), 'utf8')), {
    kind: 'ImagePullIntent',
    apiVersion: 'platlet.config.plat.io/v1beta1',
    image: 'team/next',
  });
  const {body: text} = await node.meter.exposition();
  t.regex(text, /^platlet_imagemanager_ondisk_pullintents 1$/m);
  t.regex(text, /^platlet_imagemanager_ondisk_pulledrecords 1$/m);
});

test('an image that needed no credentials is for all pods', async t => {
  using node = await new Node().start();
  node.passwords.add(undefined);
  t.is(await node.use('public/app:1'), 'pulled');
  node.passwords.clear();
  t.is(await node.use('public/app:1'), 'present');
  t.like(node.note('public/app:1'), {credentialMapping: {'docker.io/public/app': {nodePodsAccessible: true}}});
  const {body: text} = await node.meter.exposition();
  t.regex(text, /image_mustpull_checks_total\{result="credentialRecordFound"\} 1/);
});

const policies: [policy: string, allowlist: string[], preloaded: string, pulled: string][] = [
  ['NeverVerify', [], 'present', 'present'],
  ['NeverVerifyPreloadedImages', [], 'present', 'ErrImagePull'],
  ['NeverVerifyAllowlistedImages', ['docker.io/team/*'], 'present', 'present'],
  ['NeverVerifyAllowlistedImages', ['docker.io/team/there', 'docker.io/team/ap'], 'present', 'ErrImagePull'],
  ['NeverVerifyAllowlistedImages', [], 'ErrImagePull', 'ErrImagePull'],
  ['AlwaysVerify', [], 'ErrImagePull', 'ErrImagePull'],
];

for (const [policy, allowlist, preloaded, pulled] of policies)
  test(`${policy} with [${allowlist.join(' ')}]`, async t => {
    using node = new Node();
    Object.assign(node, {policy, allowlist});
    await node.start();
    node.preload('team/there:1');
    node.secret('one', 'good');
    await node.use('team/app:1', ['one']);
    t.is(await node.use('team/there:1'), preloaded);
    t.is(await node.use('team/app:1'), pulled);
  });

test('a pull that was cut off does not open the image to all pods', async t => {
  using node = await new Node().start();
  await node.access.begin('team/app:1');
  await node.access.begin('gone/app:1');
  // It ended while the agent was away.
  node.preload('team/app:1');
  t.is(await node.use('team/app:1'), 'ErrImagePull');
  await node.access.begin('team/app:1');
  await node.start();
  t.deepEqual(node.files('pulling'), [fileOf('gone/app:1')]);
  t.like(node.note('team/app:1'), {imageRef: 'sha256:team/app:1', credentialMapping: undefined});
  t.is(await node.use('team/app:1'), 'ErrImagePull');
  node.secret('one', 'good');
  t.is(await node.use('team/app:1', ['one']), 'pulled');
  t.is(await node.use('team/app:1', ['one']), 'present');
});

test('damaged notes ask for credentials, and are written anew', async t => {
  using node = await new Node().start();
  node.secret('one', 'good');
  const head = {kind: 'ImagePulledRecord', apiVersion: 'platlet.config.plat.io/v1beta1', imageRef: 'sha256:team/app:1'};
  for (const text of [
    '',
    'x',
    '[]',
    JSON.stringify({...head, kind: 'ImagePullIntent'}),
    JSON.stringify({...head, apiVersion: 'v1'}),
    JSON.stringify({...head, more: 1}),
    JSON.stringify({...head, credentialMapping: {'docker.io/team/app': {nodePodsAccessible: 'yes'}}}),
    JSON.stringify({...head, credentialMapping: {'docker.io/team/app': {kubernetesSecrets: [{uid: 'u'}]}}}),
    JSON.stringify(head).padEnd(1 << 21),
  ]) {
    node.preload('team/app:1');
    writeFileSync(join(node.folder('pulled'), fileOf('sha256:team/app:1')), text);
    writeFileSync(join(node.folder('pulling'), fileOf('other')), text);
    await node.start();
    t.is(await node.use('team/app:1'), 'ErrImagePull', text.slice(0, 100));
    t.is(await node.use('team/app:1', ['one']), 'pulled');
    t.is(await node.use('team/app:1', ['one']), 'present');
  }
  // Those of an earlier release are read.
  const older = {
    ...head,
    apiVersion: 'kubelet.config.k8s.io/v1alpha1',
    credentialMapping: {'docker.io/team/app': {nodePodsAccessible: true}},
  };
  writeFileSync(join(node.folder('pulled'), fileOf('sha256:team/app:1')), JSON.stringify(older));
  t.is(await node.use('team/app:1'), 'present');
});

test('the notes about images that are gone are removed', async t => {
  using node = await new Node().start();
  node.secret('one', 'good');
  await node.use('team/a:1', ['one']);
  await node.use('team/b:1', ['one']);
  await node.clock.advance(60_000);
  writeFileSync(join(node.folder('pulled'), 'sha256-damaged'), 'x');
  writeFileSync(join(node.folder('pulled'), 'mine'), 'x');
  await node.access.prune(['sha256:team/a:1'], Date.parse('2026-01-02T03:04:05Z'));
  t.deepEqual(node.files('pulled').sort(), ['mine', fileOf('sha256:team/a:1'), fileOf('sha256:team/b:1')].sort());
  writeFileSync(join(node.folder('pulled'), fileOf('sha256:team/a:1')), 'x');
  await node.access.prune(['sha256:team/a:1'], node.clock.now());
  t.deepEqual(node.files('pulled').sort(), ['mine', fileOf('sha256:team/a:1')].sort());
});

test('nothing is pulled that cannot be noted', async t => {
  using node = await new Node().start();
  node.secret('one', 'good');
  node.writeError = new Error('no space left on device');
  t.is(await node.use('team/app:1', ['one']), 'ErrImagePull');
  t.deepEqual(node.pulls, []);
  t.false(existsSync(join(node.folder('pulled'), fileOf('sha256:team/app:1'))));
});

test('an image without a note of what it was pulled with stays one that the agent has pulled', async t => {
  using node = await new Node().start();
  await node.access.begin('team/app:1');
  node.writeError = new Error('no space left on device');
  node.preload('team/app:1');
  await node.access.pulled('team/app:1', 'sha256:team/app:1', undefined);
  node.writeError = undefined;
  await node.start();
  t.is(await node.use('team/app:1'), 'ErrImagePull');
});
