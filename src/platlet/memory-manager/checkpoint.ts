// The content of the file `memory_manager_state`, in the format of the original. Pure.

import {fnv1a} from '#src/base/text/fnv.js';
import {goMap, goNumberMap} from '#src/platlet/checkpoint/go-text.js';
import {corrupted, fieldsOf, parsedFields} from '#src/platlet/checkpoint/fields.js';
import type {MemoryBlock, MemoryState, MemoryTable, NodeMemory} from './state.js';

const tableText = ({total, systemReserved, allocatable, reserved, free}: MemoryTable): string =>
  `<*>{TotalMemSize:(uint64)${total} SystemReserved:(uint64)${systemReserved} Allocatable:(uint64)${allocatable} Reserved:(uint64)${reserved} Free:(uint64)${free}}`;

const nodeText = ({assignments, tables, group}: NodeMemory): string =>
  `<*>{NumberOfAssignments:(int)${assignments} MemoryMap:(map[v1.ResourceName]*state.MemoryTable)${goMap(tables, tableText)} Cells:([]int)[${group.join(' ')}]}`;

const blockText = ({nodes, type, bytes}: MemoryBlock): string =>
  `{NUMAAffinity:([]int)[${nodes.join(' ')}] Type:(v1.ResourceName)${type} Size:(uint64)${bytes}}`;

const checksumOf = (policy: string, {machine, assignments}: MemoryState): number => {
  const entries = goMap(assignments, containers => goMap(containers, blocks => `[${blocks.map(blockText).join(' ')}]`));
  return fnv1a(
    `(*state.MemoryManagerCheckpoint){PolicyName:(string)${policy} MachineState:(state.NUMANodeMap)${goNumberMap(machine, nodeText)} Entries:(state.ContainerMemoryAssignments)${entries} Checksum:(checksum.Checksum)0}`,
  );
};

/** Returns the content of the file. */
export const formatMemoryState = (policyName: string, state: MemoryState): string => {
  const {machine, assignments} = state;
  const machineState = Object.fromEntries(
    [...machine].map(([id, node]) => [
      id,
      {numberOfAssignments: node.assignments, memoryMap: Object.fromEntries(node.tables), cells: node.group},
    ]),
  );
  const entries = Object.fromEntries(
    [...assignments].map(([uid, containers]) => [
      uid,
      Object.fromEntries(
        [...containers].map(([name, blocks]) => [name, blocks.map(({nodes, type, bytes}) => ({numaAffinity: nodes, type, size: bytes}))]),
      ),
    ]),
  );
  const checksum = checksumOf(policyName, state);
  return JSON.stringify({policyName, machineState, ...(assignments.size > 0 ? {entries} : {}), checksum});
};

const numberOf = (value: unknown): number => {
  if (typeof value !== 'number') throw corrupted();
  return value;
};

const numbersOf = (value: unknown): readonly number[] => {
  if (!Array.isArray(value)) throw corrupted();
  return value.map(numberOf);
};

const tableOf = (value: unknown): MemoryTable => {
  const {total, systemReserved, allocatable, reserved, free} = fieldsOf(value);
  return {
    total: numberOf(total),
    systemReserved: numberOf(systemReserved),
    allocatable: numberOf(allocatable),
    reserved: numberOf(reserved),
    free: numberOf(free),
  };
};

const nodeOf = (value: unknown): NodeMemory => {
  const {numberOfAssignments, memoryMap, cells} = fieldsOf(value);
  const tables = new Map(Object.entries(fieldsOf(memoryMap)).map(([type, table]) => [type, tableOf(table)]));
  return {assignments: numberOf(numberOfAssignments), tables, group: numbersOf(cells)};
};

const blocksOf = (value: unknown): readonly MemoryBlock[] => {
  if (!Array.isArray(value)) throw corrupted();
  return value.map(each => {
    const {numaAffinity, type, size} = fieldsOf(each);
    return {nodes: numbersOf(numaAffinity), type: String(type), bytes: numberOf(size)};
  });
};

/** Parses the content of the file. Throws if it is corrupt, or was written under another policy. */
export const parseMemoryState = (text: string, policyName: string): MemoryState => {
  const {policyName: written, machineState = {}, entries = {}, checksum} = parsedFields(text);
  const policy = String(written);
  const state: MemoryState = {
    machine: new Map(Object.entries(fieldsOf(machineState)).map(([id, node]) => [Number(id), nodeOf(node)])),
    assignments: new Map(
      Object.entries(fieldsOf(entries)).map(([uid, containers]) => [
        uid,
        new Map(Object.entries(fieldsOf(containers)).map(([name, blocks]) => [name, blocksOf(blocks)])),
      ]),
    ),
  };
  if (checksum !== checksumOf(policy, state)) throw corrupted();
  if (policy !== policyName)
    throw new Error(
      `[memorymanager] configured policy ${JSON.stringify(policyName)} differs from state checkpoint policy ${JSON.stringify(policy)}`,
    );
  return state;
};
