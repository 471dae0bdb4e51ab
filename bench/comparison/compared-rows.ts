// The rows by which plat is compared with the original, and what each is to reach.

/** A figure of the original in the same run, times a factor, or a figure of its own where the original has none. */
export type Goal = {readonly times: number} | {readonly figure: number};

/** A row of the comparison. Rates are to grow, all other figures to shrink. */
export interface ComparedRow {
  readonly what: string;
  readonly unit: 'ms' | 's' | 'MB' | '%' | '/s';
  readonly goal?: Goal;
}

/** The sizes that the goals are of. */
export const fullSizes = {objects: 10_000, pods: 5000, restSeconds: 600};

export const comparedRows = {
  ready: {what: 'whole plane ready, empty directory', unit: 'ms', goal: {times: 8}},
  'ready-again': {what: 'whole plane ready, started again', unit: 'ms'},
  'idle-cpu': {what: 'CPU when idle, of a core', unit: '%'},
  'memory-idle': {what: 'memory when idle', unit: 'MB', goal: {times: 6}},
  create: {what: 'create, 64 at once', unit: '/s', goal: {times: 3}},
  'create-one': {what: 'create, one after the other', unit: '/s', goal: {times: 2.5}},
  get: {what: 'GET, 64 at once', unit: '/s', goal: {times: 3}},
  update: {what: 'update, 64 at once', unit: '/s', goal: {times: 3}},
  patch: {what: 'merge patch, 64 at once', unit: '/s', goal: {times: 3}},
  apply: {what: 'server-side apply, 64 at once', unit: '/s', goal: {times: 3}},
  list: {what: 'LIST of all', unit: 'ms', goal: {times: 3}},
  'list-pages': {what: 'LIST in pages of 500', unit: 'ms', goal: {times: 3}},
  'list-table': {what: 'LIST as a table', unit: 'ms', goal: {times: 3}},
  'list-selector': {what: 'LIST by a label nobody has, two at once', unit: '/s', goal: {times: 3}},
  'watch-100': {what: 'watch, 100 watchers × 200/s, p99', unit: 'ms', goal: {times: 1.2}},
  'watch-1000': {what: 'watch, 1,000 watchers × 50/s, p99', unit: 'ms', goal: {times: 20}},
  csr: {what: 'CSR created to issued', unit: '/s', goal: {times: 3}},
  collect: {what: '5,000 dependents collected', unit: 's', goal: {times: 3.7}},
  replicas: {what: '1,000 replicas of a Deployment made', unit: 's', goal: {times: 2}},
  'memory-loaded': {what: 'memory after the load', unit: 'MB', goal: {times: 6}},
  'memory-later': {what: 'memory ten minutes after the load', unit: 'MB'},
  'ready-loaded': {what: 'whole plane ready, started again after the load', unit: 'ms', goal: {figure: 800}},
  'nodes-ready': {what: '500 simulated nodes ready', unit: 's'},
  'pods-ready': {what: 'a Deployment on them ready', unit: 's', goal: {figure: 9}},
  'pods-memory': {what: 'memory with these pods', unit: 'MB', goal: {figure: 300}},
  'pods-list': {what: 'all of these pods as `kubectl get pods` reads them', unit: 's', goal: {figure: 0.8}},
  'pods-restart': {what: 'rolling restart of these pods', unit: 's', goal: {figure: 14}},
  'pods-restart-memory': {what: 'memory after the restart', unit: 'MB'},
} satisfies Record<string, ComparedRow>;

export type ComparedKey = keyof typeof comparedRows;

/** Returns the compared row of a key, if there is one. */
export const comparedRowOf = (key: string): ComparedRow | undefined => (comparedRows as Record<string, ComparedRow>)[key];

/** Returns how many times better a value is than another, for a rate or something that is to be small. */
export const timesBetter = (unit: ComparedRow['unit'], value: number, other: number): number =>
  unit === '/s' ? value / other : other / value;
