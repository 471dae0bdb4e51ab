import {availableParallelism} from 'node:os';
import {resultOf} from '#bench/load/child.js';
import type {Load, Loaded} from '#bench/load/load.js';
import {caller, startPlane, type Running} from '#bench/load/programs.js';
import {type Row, row} from '#bench/run/row.js';

const [greedyClients, objects] = [200, 1000];
const namespace = '/api/v1/namespaces/default';
const rbac = '/apis/rbac.authorization.k8s.io/v1';
const filler = 'x'.repeat(1200);

/** Lets all users read, and creates the objects that are listed. */
const prepare = async (plane: Running): Promise<void> => {
  const call = caller(plane);
  await call('POST', `${rbac}/clusterrolebindings`, {
    metadata: {name: 'readers'},
    roleRef: {apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view'},
    subjects: [{kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'system:authenticated'}],
  });
  for (let made = 0; made < objects; made += 100) {
    await Promise.all(
      Array.from({length: 100}, (_, index) =>
        call('POST', `${namespace}/configmaps`, {metadata: {name: `item-${made + index}`}, data: {filler}}),
      ),
    );
  }
};

/** Sends requests as another user. */
const loadOf = async (
  {url, pki}: Running,
  user: string,
  load: Pick<Load, 'path' | 'clients' | 'measureMs' | 'warmupMs'>,
): Promise<Loaded> => {
  const headers = {accept: 'application/json', 'user-agent': 'bench', 'impersonate-user': user};
  const full: Load = {...pki, url, version: 'HTTP/1.1', headers, acceptsRejections: true, ...load};
  return resultOf('load.js', full);
};

const interactive = (plane: Running, warmupMs: number): Promise<Loaded> =>
  loadOf(plane, 'interactive', {path: `${namespace}/configmaps/item-1`, clients: 1, warmupMs, measureMs: 8000});

/**
 * One user reads one object after the other, while 200 clients of another list a thousand objects as fast as they can.
 */
const besideGreedy = async (plane: Running): Promise<{readonly modest: Loaded; readonly greedy: Loaded}> => {
  const [modest, greedy] = await Promise.all([
    // Begins when the limits have followed the demand.
    interactive(plane, 12_000),
    loadOf(plane, 'greedy', {path: `${namespace}/configmaps`, clients: greedyClients, warmupMs: 12_000, measureMs: 8000}),
  ]);
  return {modest, greedy};
};

/** How long one user's reads take beside many lists of another, with priority and fairness and without. */
export const fairnessRows = async (): Promise<Row[]> => {
  const rows: Row[] = [];
  for (const [name, args] of [
    ['with flow control', []],
    ['without', ['--apiserver-arg=--enable-priority-and-fairness=false']],
  ] as const) {
    const plane = await startPlane(undefined, args);
    await prepare(plane);
    const alone = await interactive(plane, 1000);
    const {modest, greedy} = await besideGreedy(plane);
    await plane.stop();
    rows.push(
      row(`GET beside ${greedyClients} greedy clients, p99, ${name}`, modest.p99Ms, 'ms', {
        note: `median ${modest.p50Ms.toFixed(1)} ms, alone ${alone.p99Ms.toFixed(1)} ms; the others get ${Math.round(greedy.perSecond)} lists of ${objects} objects a second, median ${greedy.p50Ms.toFixed(0)} ms; the server and two client processes on ${availableParallelism()} cores`,
      }),
    );
  }
  return rows;
};
