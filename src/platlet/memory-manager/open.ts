// Opens the memory manager: checks its settings, and reads its state.

import type {Naming} from '#src/api/naming.js';
import type {ResourceList} from '#src/model/pod/requests.js';
import type {CheckpointFile} from '#src/platlet/checkpoint/checkpoint-file.js';
import {restoredState} from '#src/platlet/checkpoint/restore.js';
import type {Settings} from '#src/platlet/config/fields.js';
import type {NumaNode} from '#src/platlet/topology/read.js';
import {parseMemoryState} from './checkpoint.js';
import {MemoryManager, type MemoryManagerParts} from './manager.js';
import {reservedMemory, type MemoryReservation} from './reserved.js';
import {checkedMemory, unusedMemory, type MachineMemory, type MemoryState} from './state.js';

export interface MemoryManagerSetup extends Pick<MemoryManagerParts, 'metrics' | 'withPodLevel'> {
  readonly settings: Pick<Settings, 'memoryManagerPolicy' | 'reservedMemory'>;
  readonly naming: Naming;
  readonly nodes: readonly NumaNode[];
  /** What the node keeps from pods. */
  readonly reservation: ResourceList;
  readonly file: CheckpointFile;
}

const unused = ({settings, nodes, reservation}: Pick<MemoryManagerSetup, 'settings' | 'nodes' | 'reservation'>): MachineMemory => {
  const rows = settings.reservedMemory as unknown as readonly MemoryReservation[];
  const reserved = reservedMemory(
    rows,
    nodes.map(({id}) => id),
    reservation,
  );
  if (![...reserved.values()].some(types => (types.get('memory') ?? 0) > 0))
    throw new Error('[memorymanager] you should specify the system reserved memory');
  return unusedMemory(nodes, reserved);
};

/**
 * Opens the memory manager. Rejects if its settings are invalid, or its saved state does not fit them or the machine.
 */
export const openMemoryManager = async (setup: MemoryManagerSetup): Promise<MemoryManager> => {
  const {settings, naming, file, metrics, withPodLevel} = setup;
  const policy = settings.memoryManagerPolicy;
  if (policy === 'BestEffort') throw new Error('policy "BestEffort" is not available for platform "linux"');
  if (policy !== 'None' && policy !== 'Static') throw new Error(`unknown policy: ${JSON.stringify(policy)}`);
  const machine = policy === 'Static' ? unused(setup) : undefined;
  const saved = await restoredState<MemoryState>(file, {manager: 'memory manager', naming}, text => parseMemoryState(text, policy), {
    machine: new Map(),
    assignments: new Map(),
  });
  const state = machine ? checkedMemory(saved, machine) : saved;
  return new MemoryManager({policy, state, file, metrics, withPodLevel});
};
