import {growth} from '#test/faults/soak/levels.js';
import {soakWatches, type Row} from './watches.js';

// `make soak-watches`: plat's informer behind a proxy that cuts, stalls, delays, refuses and garbles, beside those of
// other libraries. docs/testing.md has the settings.
const {WATCHES_MINUTES = '4', WATCHES_SEED = '1', WATCHES_SECONDS = '20', WATCHES_PATIENCE = '90', WATCHES_FLUENT = ''} = process.env;

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;
const longest = (values: readonly number[]): string => {
  const most = Math.max(...values);
  return most === Infinity ? `wrong after ${WATCHES_PATIENCE} s` : `${most.toFixed(1)} s`;
};

const rows = await soakWatches({
  seed: Number(WATCHES_SEED),
  minutes: Number(WATCHES_MINUTES),
  loadSeconds: Number(WATCHES_SECONDS),
  patienceSeconds: Number(WATCHES_PATIENCE),
  libraries: [
    {library: 'plat'},
    {library: 'client-node'},
    ...(WATCHES_FLUENT ? [{library: 'kubernetes-fluent-client', module: WATCHES_FLUENT} as const] : []),
  ],
  progress: line => console.error(line),
});
const lineOf = ({library, written, missed, staleSeconds, memory, handles}: Row): string => {
  const cycles = staleSeconds.slice(0, -2);
  const [backup, emptied] = staleSeconds.slice(-2);
  const wrong = cycles.filter(seconds => seconds === Infinity).length;
  const cells = [
    library,
    cycles.length,
    longest([median(cycles)]),
    longest(cycles),
    wrong,
    longest([backup!]),
    longest([emptied!]),
    `${missed} of ${written}`,
  ];
  return `| ${[...cells, `${memory[0]!.toFixed(0)} to ${memory.at(-1)!.toFixed(0)}`, `${handles[0]} to ${handles.at(-1)}`].join(' | ')} |`;
};
console.log(
  '| library | cycles | right again, median | longest | never right | restored backup | emptied store | states not seen | MiB | handles |',
);
console.log('|---|---|---|---|---|---|---|---|---|---|');
for (const row of rows) console.log(lineOf(row));

const [{staleSeconds, memory, handles}] = rows as [Row];
const problems = [
  ...(staleSeconds.includes(Infinity) ? [`a cache of plat was not right ${WATCHES_PATIENCE} s after the load`] : []),
  ...[growth({name: 'memory', part: 0.15, amount: 15}, memory), growth({name: 'handles', part: 0, amount: 8}, handles)].flatMap(
    problem => problem ?? [],
  ),
];
for (const problem of problems) console.log(problem);
process.exit(problems.length > 0 ? 1 : 0);
