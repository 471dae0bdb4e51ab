// The topology of the machine, and the settings that depend on it.

import {bytesOf} from '#src/platlet/cgroups/numbers.js';
import type {Machine} from '#src/platlet/node/machine.js';
import type {CpuSet} from '#src/platlet/topology/cpuset.js';
import {readTopology, type MachineTopology, type WholeMachine} from '#src/platlet/topology/read.js';
import {reservedCpus, withReservedCpus} from '#src/platlet/topology/reserved-cpus.js';
import type {AgentParts} from './parts.js';

/** The CPUs and the memory of the machine, and the CPUs that pods do not get. */
export interface AgentTopology {
  readonly topology: MachineTopology;
  readonly reserved: CpuSet;
  /** The settings, with the reserved CPUs in the reservation. */
  readonly settings: AgentParts['settings'];
}

/** Reads the topology of the machine. Rejects if it does not have the reserved CPUs. */
export const topologyOf = async ({host, settings, identity: {machine}}: AgentParts): Promise<AgentTopology> => {
  const topology = await readTopology(host, wholeMachine(machine));
  const reserved = reservedCpus(settings.reservedSystemCPUs, topology.cpu);
  return {topology, reserved, settings: withReservedCpus(settings, reserved)};
};

const wholeMachine = ({memoryBytes, hugepages}: Machine): WholeMachine => ({
  memoryBytes,
  hugePages: Object.entries(hugepages).map(([size, total]) => ({pageBytes: bytesOf(size), count: total / bytesOf(size)})),
});
