import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {wellKnown} from '#src/api/user.js';
import {systemClock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {systemRandom} from '#src/base/random.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {CriRuntime} from '#src/platlet/cri/runtime.js';
import {NodeFolders} from '#src/platlet/host/folders.js';
import {systemHost} from '#src/platlet/host/system-host.js';
import {ImagePulls} from '#src/platlet/images/image-pulls.js';
import {PullCredentials} from '#src/platlet/images/pull-credentials.js';
import {ImagePuller} from '#src/platlet/images/puller.js';
import {Environments} from '#src/platlet/inputs/environment.js';
import {NodePodConfigs} from '#src/platlet/inputs/pod-configs.js';
import {ContainerFiles} from '#src/platlet/logs/output.js';
import type {PodObjects} from '#src/platlet/objects/pod-objects.js';
import {Claims} from '#src/platlet/volumes/claims.js';
import {emptyDir} from '#src/platlet/volumes/empty-dir.js';
import {hostPath} from '#src/platlet/volumes/host-path.js';
import {Payloads} from '#src/platlet/volumes/payloads.js';
import {payloadVolumes} from '#src/platlet/volumes/payload-volumes.js';
import {PodTokens} from '#src/platlet/volumes/tokens.js';
import {Recorder} from '#src/runtime/events/events.js';
import {anAgent, createNode, describePod, nodeName, podNamed, podsOf, run, type TimedPlane} from '#test/platlet/agent.js';
import {nodeCgroups} from '#test/platlet/cgroups/groups.js';
import {nodeVolumes, unmeasured} from '#test/platlet/volumes/node-volumes.js';
import {noCredentials} from '#test/platlet/volumes/world.js';
import {cgroupsAt} from './cgroups.js';
import {startContainerd, type Containerd} from './containerd.js';
import {recipes} from './images/index.js';
import {mountsBelow} from './leftovers.js';
import {Registry} from './registry.js';
import {containersMissing} from './requirements.js';

if (containersMissing) console.log(`skipped: ${containersMissing}`);
const contained = containersMissing ? test.skip : test.serial;

let node: Containerd;
let plane: TimedPlane;
let folders: NodeFolders;
let registry: Registry;
let stop: () => Promise<void>;

/** Starts an agent with all that it does on the machine. */
const startAgent = async (): Promise<() => Promise<void>> => {
  const lifetime = new AbortController();
  const {signal} = lifetime;
  const shared = {clock: systemClock, log: noLog, random: systemRandom, host: systemHost, folders, signal, naming: plane.naming};
  const runtime = new CriRuntime({endpoint: node.endpoint, requestTimeoutMs: 20_000, clock: systemClock});
  const client = plane.client({name: `${wellKnown.nodeUserPrefix}${nodeName}`, groups: [wellKnown.nodes, wellKnown.authenticated]});
  const events = new Recorder({...shared, client, component: 'platlet', host: nodeName});
  const objects: PodObjects = {
    configMap: (namespace, name) => client.resource(kinds.configMaps).get(name, {namespace}),
    secret: (namespace, name) => client.resource(kinds.secrets).get(name, {namespace}),
    register() {},
    unregister() {},
  };
  const tokens = new PodTokens({...shared, client});
  const allocatable = (): Record<string, string> => ({cpu: '2', memory: '1Gi'});
  const onFolders = {...shared, allocatableMemory: () => 2 ** 30, excludesSwap: false};
  const payloads = new Payloads({objects, tokens, ...noCredentials, allocatable});
  const {volumes, mounts} = nodeVolumes({
    ...shared,
    events,
    objects,
    tokens,
    claims: new Claims(client),
    node: () => undefined,
    plugins: [emptyDir(onFolders), hostPath(systemHost), ...payloadVolumes({...onFolders, payloads, operations: unmeasured})],
  });
  const limits = {enforcesCpuLimits: true, cpuPeriod: 100_000, pageSizes: []};
  const cgroups = await nodeCgroups({
    ...shared,
    events,
    capacity: new Map(),
    reservation: {agent: new Map(), system: new Map(), threshold: new Map()},
    settings: {...limits, root: node.cgroup, perPod: true, enforced: new Set(), agentGroup: '', systemGroup: ''},
  });
  await cgroups.start();
  const configs = new NodePodConfigs({
    ...shared,
    events,
    mounts,
    environments: new Environments({
      objects,
      services: () => [],
      volumes,
      naming: plane.naming,
      hostAddresses: () => ['192.168.0.1'],
      allocatable,
    }),
    handlerOf: () => Promise.resolve(''),
    settings: {
      agent: plane.naming.agent,
      clusterDns: ['10.96.0.10'],
      clusterDomain: 'cluster.local',
      resolverFile: '',
      security: {seccomp: folders.seccomp, seccompDefault: false, maskedPaths: []},
      resources: {...limits, memoryCapacity: 2 ** 30, killsGroups: false},
    },
  });
  const images = new ImagePuller({
    runtime,
    credentials: new PullCredentials({...shared, objects}),
    pulls: new ImagePulls({runtime, clock: systemClock, limits: {parallel: 1, qps: 5, burst: 10}}),
    events,
    clock: systemClock,
  });
  const output = new ContainerFiles(systemHost, folders);
  const agent = await anAgent(plane, runtime, {volumes, cgroups, configs, images, output, runtimeName: 'containerd'});
  return async () => {
    await agent[Symbol.asyncDispose]();
    lifetime.abort();
    await runtime[Symbol.asyncDispose]();
  };
};

test.before(async () => {
  if (containersMissing) return;
  node = await startContainerd();
  folders = new NodeFolders({
    root: node.agentFolder,
    podLogs: join(node.agentFolder, 'logs/pods'),
    containerLogs: join(node.agentFolder, 'logs/containers'),
  });
  registry = await Registry.start({address: node.network.host, credentials: {username: 'me', password: 'secret'}});
  node.addRegistry('private.test', registry.url);
  registry.add('app', '1', 'busybox');
  const started: Plane = await startPlane({
    naming: 'plat',
    listen: false,
    apiserverArgs: ['--authorization-mode=Node,RBAC', '--enable-admission-plugins=NodeRestriction'],
    controllerManagerArgs: ['--controllers=serviceaccount-controller'],
  });
  plane = {...started, clock: systemClock};
  await createNode(plane);
  stop = await startAgent();
});

test.after.always(async () => {
  if (containersMissing) return;
  await stop?.();
  await plane?.stop();
  await registry?.[Symbol.asyncDispose]();
  await node?.stop();
});

/** Waits until something is so, for at most half a minute. */
const until = async <T>(look: () => Promise<T | undefined | false> | T | undefined | false, what: () => string): Promise<T> => {
  const end = Date.now() + 30_000;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited in vain until ${what()}`);
    await new Promise(resolve => setTimeout(resolve, 50));
  }
};

const reached = (name: string, state: RegExp): Promise<Pod> =>
  until(
    async () => {
      const pod = await podNamed(plane, name);
      return state.test(describePod(pod)) && pod;
    },
    () => `${name} is ${state}`,
  );

const logOf = (pod: Pod, container = 'app'): string[] =>
  readFileSync(join(folders.logs(pod), container, '0.log'), 'utf8')
    .split('\n')
    .map(line => line.split(' ').slice(3).join(' '))
    .filter(Boolean);

/** Deletes a pod and waits until nothing is left of it on the machine. */
const remove = async ({metadata: {name = '', uid = ''} = {}}: Pod): Promise<void> => {
  await podsOf(plane).delete(name, {namespace: 'default', gracePeriodSeconds: 1});
  const left = (): string[] => [
    ...cgroupsAt(node.cgroup).filter(path => path.includes(uid)),
    ...mountsBelow(folders.pods).filter(path => path.includes(uid)),
    ...(existsSync(folders.pod(uid)) ? [folders.pod(uid)] : []),
  ];
  await until(
    () => left().length === 0,
    () => `${name} has left nothing but ${left().join(' ')}`,
  );
};

const image = recipes.busybox.reference;
/** Nothing publishes the certificate that mounted tokens come with. */
const quiet = {automountServiceAccountToken: false};
const shell = (script: string, more: object = {}) => ({name: 'app', image, command: ['sh', '-c', script], ...more});
const create = {
  configMap: (name: string, data: Record<string, string>) =>
    plane
      .client()
      .resource(kinds.configMaps)
      .create({metadata: {name, namespace: 'default'}, data}),
  secret: (name: string, data: Record<string, string>, type = 'Opaque') =>
    plane
      .client()
      .resource(kinds.secrets)
      .create({
        metadata: {name, namespace: 'default'},
        type,
        data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
      }),
};

contained('a container sees its volumes, variables, names and limits, and nothing of them is left', async t => {
  await create.configMap('settings', {color: 'red'});
  await create.secret('login', {password: 'hidden'});
  const script = [
    'cat /config/color; echo',
    'cat /secret/password; echo',
    'echo $COLOR $POD',
    'grep " /secret " /proc/mounts | cut -d" " -f3',
    'cat /memory/limit 2>/dev/null; df -m /memory | tail -1 | awk "{print \\$2}"',
    'test -s /var/run/secrets/token && echo token',
    'hostname; tail -1 /etc/hosts | cut -f2; cat /etc/resolv.conf | head -1',
    'cat /sys/fs/cgroup/memory/memory.limit_in_bytes',
    'echo done > /dev/termination-log',
  ].join('; ');
  const pod = await run(plane, 'inputs', {
    ...quiet,
    restartPolicy: 'Never',
    hostname: 'web',
    volumes: [
      {name: 'config', configMap: {name: 'settings'}},
      {name: 'secret', secret: {secretName: 'login'}},
      {name: 'memory', emptyDir: {medium: 'Memory', sizeLimit: '4Mi'}},
      {name: 'token', projected: {sources: [{serviceAccountToken: {path: 'token'}}]}},
    ],
    containers: [
      shell(script, {
        env: [
          {name: 'COLOR', valueFrom: {configMapKeyRef: {name: 'settings', key: 'color'}}},
          {name: 'POD', valueFrom: {fieldRef: {fieldPath: 'metadata.name'}}},
        ],
        resources: {limits: {memory: '64Mi', cpu: '500m'}},
        volumeMounts: [
          {name: 'config', mountPath: '/config'},
          {name: 'secret', mountPath: '/secret'},
          {name: 'memory', mountPath: '/memory'},
          {name: 'token', mountPath: '/var/run/secrets'},
        ],
      }),
    ],
  });
  const ended = await reached('inputs', /^(?:Succeeded|Failed)/);
  t.deepEqual(logOf(ended), [
    'red',
    'hidden',
    'red inputs',
    'tmpfs',
    '4',
    'token',
    'web',
    'web',
    'search default.svc.cluster.local svc.cluster.local cluster.local',
    '67108864',
  ]);
  t.is(ended.status?.containerStatuses?.[0]?.state?.terminated?.message, 'done\n');
  t.is(readdirSync(folders.containerLogs!).filter(name => name.startsWith('inputs_default_app-')).length, 1);
  await remove(pod);
});

contained('a change of a config map arrives, and a part of a volume does not lead out of it', async t => {
  await create.configMap('changing', {text: 'before'});
  const pod = await run(plane, 'changing', {
    ...quiet,
    volumes: [{name: 'config', configMap: {name: 'changing'}}],
    containers: [
      shell('until grep -q after /config/text; do sleep 0.1; done; echo seen; sleep 60', {
        volumeMounts: [
          {name: 'config', mountPath: '/config'},
          {name: 'config', mountPath: '/part', subPath: 'text'},
        ],
      }),
    ],
  });
  await reached('changing', /^Running/);
  await plane
    .client()
    .resource(kinds.configMaps)
    .patch('changing', 'merge', {data: {text: 'after'}}, {namespace: 'default'});
  await podsOf(plane).patch('changing', 'merge', {metadata: {annotations: {look: 'again'}}}, {namespace: 'default'});
  await until(
    () => logOf(pod).includes('seen'),
    () => 'the change has arrived',
  );
  await remove(pod);

  const mounts = [{name: 'v', mountPath: '/v'}];
  const escaping = await run(plane, 'escaping', {
    ...quiet,
    volumes: [{name: 'v', emptyDir: {}}],
    initContainers: [shell('ln -s /etc /v/link', {name: 'first', volumeMounts: mounts})],
    containers: [shell('sleep 60', {volumeMounts: [{name: 'v', mountPath: '/v', subPath: 'link'}]})],
  });
  const refused = await reached('escaping', /CreateContainerConfigError/);
  t.is(refused.status?.containerStatuses?.[0]?.state?.waiting?.message, 'failed to prepare subPath for volumeMount "v" of container "app"');
  await remove(escaping);
});

contained('the group of a pod may write to its volumes', async t => {
  const pod = await run(plane, 'grouped', {
    ...quiet,
    restartPolicy: 'Never',
    securityContext: {runAsUser: 1000, runAsGroup: 1000, fsGroup: 2000},
    volumes: [{name: 'v', emptyDir: {}}],
    containers: [
      shell('echo x > /v/file && stat -c "%u %g" /v/file; stat -c "%g %a" /v; id -G', {volumeMounts: [{name: 'v', mountPath: '/v'}]}),
    ],
  });
  t.deepEqual(logOf(await reached('grouped', /^Succeeded/)), ['1000 2000', '2000 2777', '1000 2000']);
  await remove(pod);
});

contained('an image is pulled with the credentials of a pull secret, and not without', async t => {
  const app = {...shell('exit 0'), image: 'private.test/app:1'};
  const refused = await run(plane, 'refused', {...quiet, restartPolicy: 'Never', containers: [app]});
  const waiting = await reached('refused', /ErrImagePull|ImagePullBackOff/);
  t.regex(waiting.status!.containerStatuses![0]!.state!.waiting!.message!, /401 Unauthorized/);
  const backingOff = await reached('refused', /ImagePullBackOff/);
  const {message} = backingOff.status!.containerStatuses![0]!.state!.waiting!;
  t.regex(message!, /^Back-off pulling image "private\.test\/app:1": ErrImagePull: .*401 Unauthorized/);
  await remove(refused);
  const auths = {'private.test': {username: 'me', password: 'secret'}};
  await create.secret('pull', {'.dockerconfigjson': JSON.stringify({auths})}, 'plat.io/dockerconfigjson');
  const pod = await run(plane, 'pulled', {...quiet, restartPolicy: 'Never', imagePullSecrets: [{name: 'pull'}], containers: [app]});
  await reached('pulled', /^Succeeded/);
  await remove(pod);
});
