import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {aDirectory} from '#test/cli/programs.js';
import {hasKubectl} from '#test/e2e/kubectl.js';
import {startContainerd} from './containerd.js';
import {recipes} from './images/index.js';
import {servicesMissing} from './requirements.js';
import {run} from './run.js';
import {untilWithin} from './until.js';
import {upWithin} from './up-within.js';

if (servicesMissing) console.log(`skipped: ${servicesMissing}`);
const contained = servicesMissing || !hasKubectl(23) ? test.skip : test.serial;
const until = untilWithin(30);

const serving = (text: string): string =>
  `mkdir /www; echo ${text} > /www/index.html; httpd -p 80 -h /www; trap 'exit 0' TERM; while true; do sleep 0.1; done`;

/** A pod that serves its name at a port of its node. */
const aPod = (name: string, port: {readonly hostPort: number; readonly hostIP?: string}, more: object = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {name},
    spec: {
      ...more,
      terminationGracePeriodSeconds: 5,
      containers: [
        {
          name: 'web',
          image: recipes.busybox.reference,
          command: ['sh', '-c', serving(name)],
          ports: [{containerPort: 80, ...port}],
          readinessProbe: {httpGet: {port: 80}, periodSeconds: 1}, // The container runs before its server listens.
        },
      ],
    },
  });

const textAt = (host: string, port: number): Promise<string> =>
  fetch(`http://${host}:${port}/`, {signal: AbortSignal.timeout(3000)}).then(
    async response => (await response.text()).trim(),
    (error: unknown) => String(((error as Error).cause as NodeJS.ErrnoException | undefined)?.code ?? error),
  );

contained('a port of an address of the host leads to one pod at a time: others wait for it, or are refused by the agent', async t => {
  await using node = await startContainerd();
  await using plane = await upWithin(t, node);
  const {kubectl} = plane;
  const file = join(aDirectory(), 'pod.json');
  const create = async (...pods: readonly string[]): Promise<void> => {
    for (const pod of pods) {
      writeFileSync(file, pod);
      await kubectl('create', '-f', file);
    }
  };
  const field = (pod: string, path: string): Promise<string> => kubectl('get', 'pod', pod, '-o', `jsonpath={${path}}`);
  const {node: host} = node.network;

  await create(aPod('first', {hostPort: 8088}));
  await kubectl('wait', '--for=condition=Ready', 'pod/first', '--timeout=60s');
  t.is(await textAt(host, 8088), 'first');

  await create(aPod('second', {hostPort: 8088}), aPod('forced', {hostPort: 8088}, {nodeName: 'here'}));
  const message = "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.";
  await until(t, 'the scheduler finds no node', async () => (await field('second', '.status.conditions[0].message')).startsWith(message));
  await until(t, 'the agent refuses', async () => (await field('forced', '.status.phase')) === 'Failed');
  t.is(await field('forced', '.status.reason'), 'NodePorts');
  t.is(await textAt(host, 8088), 'first');

  await kubectl('delete', 'pod', 'first', 'forced');
  await kubectl('wait', '--for=condition=Ready', 'pod/second', '--timeout=60s');
  t.is(await textAt(host, 8088), 'second');
  await kubectl('delete', 'pod', 'second');
  t.is(await textAt(host, 8088), 'ECONNREFUSED');

  await create(aPod('outside', {hostPort: 8088, hostIP: host}), aPod('inside', {hostPort: 8088, hostIP: '127.0.0.1'}));
  await kubectl('wait', '--for=condition=Ready', 'pod/outside', 'pod/inside', '--timeout=60s');
  t.is(await textAt(host, 8088), 'outside');
  const [enter = '', ...flags] = node.namespaces.enter;
  t.is((await run(enter, ...flags, 'busybox', 'wget', '-qO-', 'http://127.0.0.1:8088/')).trim(), 'inside');
});
