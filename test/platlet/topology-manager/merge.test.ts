import test from 'ava';
import type {ResourceHints, TopologyHint} from '#src/platlet/topology-manager/hints.js';
import {maskOf, nodesOf} from '#src/platlet/topology-manager/mask.js';
import {mergeHints, type NumaOrder} from '#src/platlet/topology-manager/merge.js';
import {topologyOptions} from '#src/platlet/topology-manager/options.js';

const distances = [
  [10, 11, 12, 12, 30, 30, 30, 30],
  [11, 10, 12, 12, 30, 30, 30, 30],
  [12, 12, 10, 11, 30, 30, 30, 30],
  [12, 12, 11, 10, 30, 30, 30, 30],
  [30, 30, 30, 30, 10, 11, 12, 12],
  [30, 30, 30, 30, 11, 10, 12, 12],
  [30, 30, 30, 30, 12, 12, 10, 11],
  [30, 30, 30, 30, 12, 12, 13, 10],
];

const orderOf = (nodes: number, options: Readonly<Record<string, string>> = {}): NumaOrder => ({
  nodes: distances.slice(0, nodes).map((to, id) => ({id, distances: to})),
  options: topologyOptions(options),
});

/** `01+` are the nodes 0 and 1, preferred; `*-` any nodes, not preferred. */
const hintOf = (text: string): TopologyHint => ({
  affinity: text.startsWith('*') ? undefined : maskOf(Array.from(text.slice(0, -1), Number)),
  isPreferred: text.endsWith('+'),
});

/**
 * Providers are separated by `|`, their resources by `&`; `!` is a resource without hints, nothing a provider without.
 */
const providersOf = (text: string): readonly (ResourceHints | undefined)[] =>
  text
    .split('|')
    .map(provider =>
      provider.trim() === ''
        ? undefined
        : Object.fromEntries(
            provider.split('&').map((list, at) => [`resource${at}`, list.trim() === '!' ? [] : list.trim().split(',').map(hintOf)]),
          ),
    );

const described = ({affinity, isPreferred}: TopologyHint, nodes: number): string => {
  const found = affinity === undefined ? '*' : nodesOf(affinity).join('');
  return `${found === Array.from({length: nodes}, (_, at) => at).join('') ? 'all' : found}${isPreferred ? '+' : '-'}`;
};

const common: readonly (readonly [string, string])[] = [
  ['0+ | 0+', '0+'],
  ['1+ | 1+', '1+'],
  [' | 0+', '0+'],
  [' | 1+', '1+'],
  ['0+,1+ | 0+', '0+'],
  ['0+,1+ | 1+', '1+'],
  ['0+,1+ | 0+,01-', '0+'],
  ['1+,01- | 0+,1+,01-', '1+'],
  ['1+,01- & 0+,1+,01-', '1+'],
];

const bestEffort: typeof common = [
  ['01+,02+ | 01+,02+', '01+'],
  ['', 'all+'],
  ['!', 'all-'],
  ['*+', 'all+'],
  ['*-', 'all-'],
  ['0+ | 1+', 'all-'],
  ['0+ | 0-', '0-'],
  ['1+ | 1-', '1-'],
  ['0+ | 01+', '0-'],
  ['0+,1+ | 01-', '0-'],
  ['1+ | 01+', '1-'],
  ['0123-,01- | 01-', '01-'],
  ['0123-,01- | 03-', '03-'],
  ['0123-,01- | 12-', '12-'],
  ['0123-,01- | 23-', '23-'],
];

for (const policy of ['best-effort', 'restricted', 'single-numa-node'] as const)
  for (const [hints, expected] of common)
    test(`the hints "${hints}" are merged by the policy ${policy}`, t => {
      const {hint, isAdmitted} = mergeHints(policy, orderOf(4), providersOf(hints));

      t.is(described(hint, 4), expected);
      t.true(isAdmitted);
    });

for (const policy of ['best-effort', 'restricted'] as const)
  for (const [hints, expected] of bestEffort)
    test(`the hints "${hints}" give "${expected}" by the policy ${policy}`, t => {
      const {hint, isAdmitted} = mergeHints(policy, orderOf(4), providersOf(hints));

      t.is(described(hint, 4), expected);
      t.is(isAdmitted, policy === 'best-effort' || hint.isPreferred);
    });

for (const [hints, expected] of [
  ['', '*+'],
  ['!', '*-'],
  ['*+', '*+'],
  ['*-', '*-'],
  ['0+ | 1+', '*-'],
  ['0+ | 0-', '*-'],
  ['1+ | 1-', '*-'],
  ['0+,1+ | 01-', '*-'],
  ['01+ & 0+,1+,01-', '*-'],
  ['0+,1+,01- | ', '0+'],
] as typeof common)
  test(`the hints "${hints}" give "${expected}" on single NUMA nodes`, t => {
    const {hint, isAdmitted} = mergeHints('single-numa-node', orderOf(4), providersOf(hints));

    t.is(described(hint, 4), expected);
    t.is(isAdmitted, hint.isPreferred);
  });

for (const [hints, expected] of [
  ['04+,02+ | 04+,02+', '02+'],
  ['4+,02+ | 4+,02+', '4+'],
  ['0123-,01- | 12-,23-', '23-'],
  ['0123-,01- | 123-,12-,13-,23-', '23-'],
] as typeof common)
  test(`the hints "${hints}" give the closest nodes "${expected}"`, t => {
    const {hint} = mergeHints('best-effort', orderOf(8, {'prefer-closest-numa-nodes': 'true'}), providersOf(hints));

    t.is(described(hint, 8), expected);
  });

for (const [options, message] of [
  [{'fancy-option': 'true'}, 'unknown Topology Manager Policy option: "fancy-option"'],
  [
    {'prefer-closest-numa-nodes': 'maybe'},
    'bad value for option "prefer-closest-numa-nodes": strconv.ParseBool: parsing "maybe": invalid syntax',
  ],
  [{'max-allowable-numa-nodes': '7'}, 'the minimum value of "max-allowable-numa-nodes" should not be less than 8'],
  [
    {'max-allowable-numa-nodes': 'x'},
    'unable to convert policy option to integer "max-allowable-numa-nodes": strconv.Atoi: parsing "x": invalid syntax',
  ],
] as const)
  test(`the options ${JSON.stringify(options)} of the topology manager are refused`, t => {
    t.throws(() => topologyOptions(options as Readonly<Record<string, string>>), {message});
  });
