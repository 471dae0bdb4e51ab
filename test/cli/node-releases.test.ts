import {join} from 'node:path';
import test from 'ava';
import {installedNode} from './node-releases.js';
import {aDirectory, clientBy, Program} from './programs.js';

/** A release whose streams and HTTP differ from those of the oldest one that is supported. */
const node = installedNode('26.12.1');

(node ? test : test.skip)('a plane on a new release of Node.js takes large objects, many at once, and sends long logs', async t => {
  const directory = aDirectory();
  const args = ['up', `--data-dir=${directory}`, '--secure-port=0', '--nodes=1'];
  const program = new Program('plat', args, {NODE_DISABLE_COMPILE_CACHE: '1'}, undefined, node);
  await program.waitFor(/^ready: /m);
  await using client = await clientBy(join(directory, 'kubeconfig'), 'kubernetes');
  const inDefault = (path: string): string => `/api/v1/namespaces/default/${path}`;

  const text = 'x'.repeat(900_000);
  const names = Array.from({length: 20}, (_, index) => `large-${index}`);
  await Promise.all(names.map(name => client.request('POST', inDefault('configmaps'), {body: {metadata: {name}, data: {text}}})));
  const read = await Promise.all(names.map(name => client.request('GET', inDefault(`configmaps/${name}`))));
  t.true(read.every(map => (map as {data: {text: string}}).data.text === text));

  const behavior = `{log: [{line: ${'y'.repeat(1000)}, every: 1ms}]}`;
  const metadata = {name: 'pod', annotations: {'simulation.kubernetes.io/behavior': behavior}};
  await client.request('POST', inDefault('pods'), {body: {metadata, spec: {containers: [{name: 'app', image: 'nginx'}]}}});
  const log = async (query: Readonly<Record<string, string>> = {}): Promise<string> =>
    String(await client.request('GET', inDefault('pods/pod/log'), {query}));
  const written = 1_000_000;
  const follow = {follow: 'true', limitBytes: String(written)};
  while ((await log(follow).catch(() => '')).length < written); // Empty, or refused, until the pod runs.
  t.true((await log()).length >= written);

  t.is((await program.stop()).code, 0);
});
