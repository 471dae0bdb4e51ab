import {mkdirSync, writeFileSync} from 'node:fs';
import https from 'node:https';
import {join} from 'node:path';
import {text as textOf} from 'node:stream/consumers';
import test, {type ExecutionContext} from 'ava';
import {runAgent, standaloneFlags} from './agent-program.js';
import {startContainerd} from './containerd.js';
import {recipes} from './images/index.js';
import {containersMissing} from './requirements.js';
import {untilWithin} from './until.js';

const until = untilWithin(20);

if (containersMissing) console.log(`skipped: ${containersMissing}`);
const contained = containersMissing ? test.skip : test.serial;

const port = 19_650;

/** Returns the status and the body of an answer of the agent, whose certificate is its own. */
const ask = (path: string, method = 'GET', body = ''): Promise<readonly [status: number, body: string]> =>
  new Promise((resolve, reject) => {
    const request = https.request({host: '127.0.0.1', port, path, method, rejectUnauthorized: false, agent: false}, response =>
      textOf(response).then(text => resolve([response.statusCode ?? 0, text]), reject),
    );
    request.on('error', reject).end(body);
  });

interface Summary {
  readonly node: Record<string, unknown>;
  readonly pods: readonly Record<string, unknown>[];
}

contained('an agent measures real containers, and serves what is for debugging', async t => {
  await using node = await startContainerd();
  const manifests = join(node.agentFolder, 'manifests');
  mkdirSync(manifests);
  writeFileSync(
    join(manifests, 'pod.json'),
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {name: 'pod'},
      spec: {
        terminationGracePeriodSeconds: 0,
        volumes: [{name: 'scratch', emptyDir: {}}],
        containers: [
          {
            name: 'app',
            image: recipes.busybox.reference,
            command: [
              'sh',
              '-c',
              'dd if=/dev/zero of=/scratch/file bs=1024 count=512; dd if=/dev/zero of=/file bs=1024 count=64; echo up; exec sleep 600',
            ],
            volumeMounts: [{name: 'scratch', mountPath: '/scratch'}],
            readinessProbe: {exec: {command: ['true']}, periodSeconds: 1},
          },
        ],
      },
    }),
  );
  await using agent = runAgent([
    ...standaloneFlags(node, manifests),
    '--volume-stats-agg-period=500ms',
    '--feature-gates=ComponentStatusz=true,ComponentFlagz=true,NodeLogQuery=true',
    `--port=${port}`,
    '--read-only-port=0',
    '--healthz-port=0',
  ]);
  await agent.ready;
  const summary = async (): Promise<Summary> => JSON.parse((await ask('/stats/summary'))[1]) as Summary;
  const shown = await until(t, 'the pod is measured', async () => {
    const {pods} = await summary();
    const [volume] = (pods[0]?.['volume'] ?? []) as readonly {readonly usedBytes: number}[];
    // The pod is measured as a whole before its container is.
    const [container] = (pods[0]?.['containers'] ?? []) as readonly {readonly memory?: {readonly rssBytes: number}}[];
    return volume && volume.usedBytes >= 512 * 1024 && container?.memory && container.memory.rssBytes > 0 && pods[0];
  });
  const {node: machine} = await summary();
  t.like(shown, {podRef: {name: 'pod-alone', namespace: 'default'}, network: {name: 'eth0'}, volume: [{name: 'scratch'}]});
  const [app] = shown['containers'] as readonly {
    readonly memory: {readonly rssBytes: number};
    readonly logs: {readonly usedBytes: number};
  }[];
  t.true(app!.memory.rssBytes > 0 && app!.logs.usedBytes > 100);
  t.true((machine['rlimit'] as {readonly curproc: number}).curproc > 1);
  t.true((machine['fs'] as {readonly capacityBytes: number}).capacityBytes > 1e9);
  await serves(t);
});

/** Checks what the agent of the test serves otherwise. */
const serves = async (t: ExecutionContext): Promise<void> => {
  const [, metrics] = await ask('/metrics');
  for (const series of [
    'runtime_operations_total{operation_type="run_podsandbox"} 1',
    'started_containers_total{container_type="container"} 1',
    'running_pods 1',
    'desired_pods{static="true"} 1',
  ])
    t.true(metrics.includes(`\nkubelet_${series}\n`), series);
  t.regex(
    (await ask('/metrics/resource'))[1],
    /^container_memory_working_set_bytes\{container="app",namespace="default",pod="pod-alone"\} [1-9]/m,
  );
  t.regex((await ask('/metrics/probes'))[1], /^prober_probe_total\{.*result="successful"\} [1-9]/m);
  t.regex((await ask('/logs/'))[1], /<a href="dpkg.log">dpkg.log<\/a>/);
  t.is((await ask('/logs/..%2f..%2fetc/passwd'))[0], 404);
  t.regex((await ask('/statusz'))[1], /Paths.*\/containerLogs.*\/logs/);
  t.regex((await ask('/flagz'))[1], /^port.*19650$/m);
  t.regex((await ask('/healthz?verbose'))[1], /\[\+\]syncloop ok/);
  t.deepEqual(await ask('/healthz/none'), [404, '404 page not found\n']);
  t.is((await ask('/metrics/slis'))[0], 200);
  t.deepEqual((await ask('/debug/flags/v', 'PUT', '3'))[0], 200);
  const [status, refusal] = await ask('/checkpoint/default/pod-alone/app', 'POST');
  t.is(status, 500);
  t.regex(refusal, /^checkpointing of default\/pod-alone\/app failed \(rpc error: code = Unimplemented/);
};
