import {caller, startPlane} from '#bench/load/programs.js';
import {type Row, row} from '#bench/run/row.js';

const nodes = 100;
const pods = 1000;

const node = (index: number) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {name: `bench-${index}`},
  status: {allocatable: {cpu: '32', memory: '64Gi', pods: '110'}},
});
const pod = (index: number) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {name: `bench-${index}`, namespace: 'default', labels: {app: 'bench'}},
  spec: {containers: [{name: 'main', image: 'bench', resources: {requests: {cpu: '100m', memory: '100Mi'}}}]},
});

/** Pods of one service, created by 64 clients, from the first creation until the last is bound. */
export const schedulingRows = async (): Promise<Row[]> => {
  // Nodes without a lease would be tainted.
  const plane = await startPlane(undefined, [
    '--nodes=0',
    '--controller-manager-arg=--controllers=*,-node-lifecycle-controller',
    '--apiserver-arg=--disable-admission-plugins=TaintNodesByCondition',
  ]);
  const call = caller(plane);
  const created = async (path: string, bodies: readonly object[]): Promise<void> => {
    const left = bodies.values();
    await Promise.all(
      Array.from({length: 64}, async () => {
        for (const body of left) {
          const {status, text} = await call('POST', path, body);
          if (status !== 201) throw new Error(text);
        }
      }),
    );
  };
  await created(
    '/api/v1/nodes',
    Array.from({length: nodes}, (_, index) => node(index)),
  );
  await created('/api/v1/namespaces/default/services', [
    {apiVersion: 'v1', kind: 'Service', metadata: {name: 'bench'}, spec: {selector: {app: 'bench'}, ports: [{port: 80}]}},
  ]);
  const startedAt = performance.now();
  await created(
    '/api/v1/namespaces/default/pods',
    Array.from({length: pods}, (_, index) => pod(index)),
  );
  const createdAt = performance.now();
  for (;;) {
    const waiting = JSON.parse((await call('GET', '/api/v1/namespaces/default/pods?fieldSelector=spec.nodeName%3D&limit=1')).text) as {
      items: unknown[];
    };
    if (waiting.items.length === 0) break;
    await new Promise(resolve => setTimeout(resolve, 20)); // Polling costs the server time too.
  }
  const endedAt = performance.now();
  await plane.stop();
  const seconds = (ms: number): string => (ms / 1000).toFixed(1);
  return [
    row(`${pods} pods onto ${nodes} nodes`, (pods / (endedAt - startedAt)) * 1000, 'pods/s', {
      note: `all bound ${seconds(endedAt - startedAt)} s after the first creation, ${seconds(endedAt - createdAt)} s after the last; scheduler in process without client limits`,
    }),
  ];
};
