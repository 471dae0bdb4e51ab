// Opens the CPU manager: checks its settings, and reads its state.

import type {GateName} from '#src/options/gate-table.js';
import type {Naming} from '#src/api/naming.js';
import {messageOf} from '#src/base/message.js';
import type {CheckpointFile} from '#src/platlet/checkpoint/checkpoint-file.js';
import {goMap} from '#src/platlet/checkpoint/go-text.js';
import {restoredState} from '#src/platlet/checkpoint/restore.js';
import type {Settings} from '#src/platlet/config/fields.js';
import type {CpuTopology} from '#src/platlet/topology/cpu-topology.js';
import {noCpus, type CpuSet} from '#src/platlet/topology/cpuset.js';
import {parseCpuState, type CpuState} from './checkpoint.js';
import {CpuManager, type CpuMetrics} from './manager.js';
import {checkCpuPolicyOptions, cpuPolicyOptions} from './options.js';
import {checkedState, staticCpuPolicy, type StaticCpuPolicy} from './static-policy.js';

export interface CpuManagerSetup {
  readonly settings: Pick<Settings, 'cpuManagerPolicy' | 'cpuManagerPolicyOptions' | 'topologyManagerPolicy'>;
  gate(name: GateName): boolean;
  readonly naming: Naming;
  readonly topology: CpuTopology;
  /** The reserved CPUs, and the amount of cpu that is reserved in millicores. */
  readonly reserved: {readonly cpus: CpuSet; readonly milli: number};
  readonly file: CheckpointFile;
  readonly metrics: CpuMetrics;
}

/** Returns the static policy; undefined for the policy `none`. Throws if it cannot keep what it promises. */
export const cpuPolicyOf = ({
  settings,
  gate,
  topology,
  reserved,
}: Pick<CpuManagerSetup, 'settings' | 'gate' | 'topology' | 'reserved'>): StaticCpuPolicy | undefined => {
  const {cpuManagerPolicy: name, cpuManagerPolicyOptions: given, topologyManagerPolicy} = settings;
  if (name === 'none') {
    const options = Object.entries(given);
    if (options.length > 0)
      throw new Error(`new none policy error: None policy: received unsupported options=${goMap(options, value => value)}`);
    return undefined;
  }
  if (name !== 'static') throw new Error(`unknown policy: "${name}"`);
  if (reserved.milli === 0)
    throw new Error('[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero');
  try {
    const options = cpuPolicyOptions(given, gate);
    checkCpuPolicyOptions(options, topology, topologyManagerPolicy);
    return staticCpuPolicy(topology, options, {count: Math.ceil(reserved.milli / 1000), given: reserved.cpus});
  } catch (cause) {
    throw new Error(`new static policy error: ${messageOf(cause)}`, {cause});
  }
};

/** Opens the CPU manager. Rejects if its settings are invalid, or its saved state does not fit them or the machine. */
export const openCpuManager = async (setup: CpuManagerSetup): Promise<CpuManager> => {
  const {settings, naming, file, metrics, gate} = setup;
  const policy = cpuPolicyOf(setup);
  const saved = await restoredState<CpuState>(
    file,
    {manager: 'CPU manager', naming},
    text => parseCpuState(text, settings.cpuManagerPolicy),
    {shared: noCpus, assignments: new Map()},
  );
  const state = policy ? checkedState(policy, saved) : saved;
  return new CpuManager({policy, state, file, metrics, withPodLevel: gate('PodLevelResources')});
};
