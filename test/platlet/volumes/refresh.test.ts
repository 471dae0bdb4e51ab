import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {noLog} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {Payloads} from '#src/platlet/volumes/payloads.js';
import {payloadVolumes} from '#src/platlet/volumes/payload-volumes.js';
import {PodTokens} from '#src/platlet/volumes/tokens.js';
import {anAgent, aPlaneWithNode, run, type AgentPlane} from '#test/platlet/agent.js';
import {folderHost, textOf, type FolderHost} from '#test/platlet/host.js';
import {MemoryRuntime} from '#test/platlet/memory-runtime.js';
import {nodeVolumes, unmeasured} from './node-volumes.js';
import {nodeUser, reading} from './reading.js';
import {noCredentials} from './world.js';

/** The agent of a node whose pods have the volumes with contents of the API server. */
const anAgentWithVolumes = async (plane: AgentPlane, host: FolderHost): Promise<AsyncDisposable> => {
  const lifetime = new AbortController();
  const {clock, naming} = plane;
  const {objects, ...reader} = reading(plane, 'Watch');
  const shared = {clock, naming, host, folders: host.folders, random: seededRandom(1), log: noLog, signal: lifetime.signal};
  const tokens = new PodTokens({...shared, client: plane.client(nodeUser)});
  const payloads = new Payloads({objects, tokens, ...noCredentials, allocatable: () => ({})});
  const {volumes} = nodeVolumes({
    ...shared,
    objects,
    tokens,
    events: {normal() {}, warning() {}},
    claims: {of: async () => undefined},
    plugins: payloadVolumes({...shared, payloads, operations: unmeasured, allocatableMemory: () => 2 ** 30, excludesSwap: false}),
    node: () => undefined,
  });
  const runtime = new MemoryRuntime(clock);
  const agent = await anAgent(plane, runtime, {volumes});
  return {
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      lifetime.abort();
      reader[Symbol.dispose]();
    },
  };
};

/** Runs a pod with a volume at `/v`. Returns what reads a file of it. */
const running = async (plane: AgentPlane, host: FolderHost, plugin: string, volume: object) => {
  const {metadata} = await run(plane, 'pod', {
    automountServiceAccountToken: false,
    volumes: [{name: 'v', ...volume}],
    containers: [{name: 'app', image: 'x', volumeMounts: [{name: 'v', mountPath: '/v'}]}],
  });
  return (file: string) => textOf(host, join(host.folders.volume(metadata!.uid!, plugin, 'v'), file));
};

const expiryOf = (token: string): number =>
  (JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as {readonly exp: number}).exp * 1000;

test('the token of a running pod is renewed after four fifths of its life, and never expires in its file', async t => {
  await using plane = await aPlaneWithNode();
  using host = folderHost();
  await using _ = await anAgentWithVolumes(plane, host);
  const read = await running(plane, host, 'projected', {
    projected: {sources: [{serviceAccountToken: {path: 'token', expirationSeconds: 600}}]},
  });
  const renewals: number[] = [];
  let last = '';
  for (let seconds = 5; seconds <= 1_500; seconds += 5) {
    await plane.clock.advance(5_000);
    const token = (await read('token')) ?? '';
    t.true(expiryOf(token) > plane.clock.now(), `after ${seconds} s`);
    if (token !== last) renewals.push(seconds);
    last = token;
  }
  t.is(renewals.length, 3);
  for (const [index, seconds] of renewals.slice(1).entries()) {
    const age = seconds - renewals[index]!;
    t.true(age >= 470 && age <= 580, `${age} s`);
  }
});

test('a change of a config map arrives in a running pod within a minute and a half', async t => {
  await using plane = await aPlaneWithNode();
  using host = folderHost();
  await using _ = await anAgentWithVolumes(plane, host);
  const configMaps = plane.client().resource(kinds.configMaps);
  await configMaps.create({metadata: {name: 'c', namespace: 'default'}, data: {text: '0'}});
  const read = await running(plane, host, 'configmap', {configMap: {name: 'c'}});
  await plane.clock.advance(1_000);
  t.is(await read('text'), '0');
  for (const text of ['1', '2', '3']) {
    await plane.clock.advance(37_000);
    await configMaps.patch('c', 'merge', {data: {text}}, {namespace: 'default'});
    await plane.clock.advance(90_000);
    t.is(await read('text'), text);
  }
});
