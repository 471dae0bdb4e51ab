// What the rows of the comparison are set beside: figures of an earlier day, taken with the same load on two quiet
// cores, the servers one after the other.

/** A row of the comparison: what it is, and the figures that were taken once. */
export interface Reference {
  readonly what: string;
  readonly unit: 'ms' | 's' | 'MB' | '%' | '/s';
  /** kube-apiserver 1.35.6 with etcd 3.6.5, its controller manager and scheduler. */
  readonly original?: number;
  /** The build of plat before the work on these figures. */
  readonly earlier?: number;
  readonly goal: number;
}

/** The sizes that the figures are of. */
export const referenceSizes = {objects: 10_000, pods: 10_000, restSeconds: 600};

/** The rows of the comparison by key. Rates are to grow, all other figures to shrink. */
export const references = {
  ready: {what: 'whole plane ready, empty directory', unit: 'ms', original: 8800, earlier: 620, goal: 620},
  'ready-again': {what: 'whole plane ready, started again', unit: 'ms', original: 2900, earlier: 510, goal: 250},
  'idle-cpu': {what: 'CPU when idle, of a core', unit: '%', original: 2.8, earlier: 0.1, goal: 0.1},
  'memory-idle': {what: 'memory when idle', unit: 'MB', original: 484, earlier: 112, goal: 97},
  'memory-loaded': {what: 'memory after the load', unit: 'MB', original: 1380, earlier: 465, goal: 230},
  'memory-later': {what: 'memory ten minutes after the load', unit: 'MB', goal: 116},
  create: {what: 'create, 64 at once', unit: '/s', original: 968, earlier: 1672, goal: 3010},
  'create-one': {what: 'create, one after the other', unit: '/s', original: 320, earlier: 625, goal: 1000},
  get: {what: 'GET, 64 at once', unit: '/s', original: 2118, earlier: 6900, goal: 6900},
  update: {what: 'update, 64 at once', unit: '/s', original: 844, earlier: 1250, goal: 2500},
  patch: {what: 'merge patch, 64 at once', unit: '/s', original: 893, earlier: 1529, goal: 2750},
  apply: {what: 'server-side apply, 64 at once', unit: '/s', original: 882, earlier: 936, goal: 2710},
  list: {what: 'LIST of all', unit: 'ms', original: 343, earlier: 122, goal: 122},
  'list-pages': {what: 'LIST in pages of 500', unit: 'ms', original: 684, earlier: 406, goal: 226},
  'list-table': {what: 'LIST as a table', unit: 'ms', original: 258, earlier: 523, goal: 87},
  'list-selector': {what: 'LIST by a label nobody has, two at once', unit: '/s', original: 133, earlier: 4, goal: 400},
  'watch-100': {what: 'watch, 100 watchers × 200/s, p99', unit: 'ms', original: 25, earlier: 34, goal: 25},
  'watch-1000': {what: 'watch, 1,000 watchers × 50/s, p99', unit: 'ms', original: 3960, earlier: 72, goal: 50},
  csr: {what: 'CSR created to issued', unit: '/s', original: 215, earlier: 293, goal: 645},
  collect: {what: '5,000 dependents collected', unit: 's', original: 7.8, earlier: 1.5, goal: 1.5},
  replicas: {what: '1,000 replicas of a Deployment made', unit: 's', original: 2.1, earlier: 1.9, goal: 0.7},
  'nodes-ready': {what: '500 simulated nodes ready', unit: 's', earlier: 6.9, goal: 2},
  'pods-ready': {what: 'a Deployment on them ready', unit: 's', earlier: 96, goal: 20},
  'pods-memory': {what: 'memory with these pods', unit: 'MB', earlier: 1200, goal: 500},
  'pods-list': {what: 'all of these pods as `kubectl get pods` reads them', unit: 's', earlier: 9.4, goal: 1.5},
  'pods-restart': {what: 'rolling restart of these pods', unit: 's', earlier: 150, goal: 40},
  'pods-restart-memory': {what: 'memory after the restart', unit: 'MB', earlier: 2700, goal: 600},
} satisfies Record<string, Reference>;

export type ReferenceKey = keyof typeof references;

/** Returns the reference of a key, if there is one. */
export const referenceOf = (key: string): Reference | undefined => (references as Record<string, Reference>)[key];
