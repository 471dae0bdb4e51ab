// The options of the static CPU manager policy. Pure.

import type {GateName} from '#src/options/gate-table.js';
import {parseGoBool} from '#src/platlet/topology-manager/options.js';
import type {CpuTopology} from '#src/platlet/topology/cpu-topology.js';

const options = {
  'full-pcpus-only': {stage: 'stable', field: 'fullCoresOnly'},
  'distribute-cpus-across-numa': {stage: 'beta', field: 'distributesAcrossNuma'},
  'align-by-socket': {stage: 'alpha', field: 'alignsBySocket'},
  'distribute-cpus-across-cores': {stage: 'alpha', field: 'distributesAcrossCores'},
  'strict-cpu-reservation': {stage: 'stable', field: 'reservesStrictly'},
  'prefer-align-cpus-by-uncorecache': {stage: 'beta', field: 'prefersCaches'},
} as const;

type OptionName = keyof typeof options;
export type CpuPolicyOptions = Readonly<Record<(typeof options)[OptionName]['field'], boolean>>;

const gates = {
  alpha: {gate: 'CPUManagerPolicyAlphaOptions', title: 'Alpha'},
  beta: {gate: 'CPUManagerPolicyBetaOptions', title: 'Beta'},
} as const satisfies Readonly<Record<string, {readonly gate: GateName; readonly title: string}>>;

/** The options that exclude each other, in the order in which they are checked. */
const exclusive: readonly (readonly [OptionName, OptionName])[] = [
  ['full-pcpus-only', 'distribute-cpus-across-cores'],
  ['distribute-cpus-across-numa', 'distribute-cpus-across-cores'],
  ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-cores'],
  ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-numa'],
];

const isOption = (name: string): name is OptionName => Object.hasOwn(options, name);

/** Parses the options. Throws if one is unknown, not enabled, no boolean, or excludes another. */
export const cpuPolicyOptions = (given: Readonly<Record<string, string>>, gate: (name: GateName) => boolean): CpuPolicyOptions => {
  const values = Object.fromEntries(Object.values(options).map(({field}) => [field, false])) as Record<keyof CpuPolicyOptions, boolean>;
  for (const [name, text] of Object.entries(given)) {
    if (!isOption(name)) throw new Error(`unknown CPU Manager Policy option: ${JSON.stringify(name)}`);
    const {stage, field} = options[name];
    if (stage !== 'stable' && !gate(gates[stage].gate))
      throw new Error(`CPU Manager Policy ${gates[stage].title}-level Options not enabled, but option ${JSON.stringify(name)} provided`);
    values[field] = parseGoBool(name, text);
  }
  for (const [one, other] of exclusive)
    if (values[options[one].field] && values[options[other].field])
      throw new Error(`static policy options ${one} and ${other} can not be used at the same time`);
  return values;
};

/** Throws unless the machine and the topology manager support the options. */
export const checkCpuPolicyOptions = (
  {alignsBySocket}: CpuPolicyOptions,
  {sockets, numaNodes}: CpuTopology,
  topologyPolicy: string,
): void => {
  if (!alignsBySocket) return;
  if (topologyPolicy === 'single-numa-node')
    throw new Error('Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option');
  if (sockets > numaNodes)
    throw new Error('Align by socket is not compatible with hardware where number of sockets are more than number of NUMA');
};
